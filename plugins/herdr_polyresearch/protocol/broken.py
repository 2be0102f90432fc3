"""Lines of results.tsv that nobody can use, and which of them the comments can replace."""

from __future__ import annotations

import msgspec

from herdr_polyresearch.protocol.clean import clean_value
from herdr_polyresearch.protocol.ledger import CRASHED, NO_BASELINE, Ledger, Row, status_of
from herdr_polyresearch.protocol.model import State
from herdr_polyresearch.protocol.scalars import read_float
from herdr_polyresearch.protocol.words import FAILED, OUTCOMES

STATUSES = frozenset({*OUTCOMES, *FAILED, "discarded"})


def broken_lines(ledger: Ledger) -> tuple[str, ...]:
    """Return the lines with too few columns, a status that is none, or a metric that is no number."""
    return tuple(_text(line) for line in ledger.lines if _is_broken(line))


def mended(state: State, ledger: Ledger) -> Ledger:
    """Return results.tsv without the broken lines of attempts that the comments record: their rows are made anew.

    Broken lines that name no such attempt stay, for a person to look at.

    Args:
        state: it has the attempts that are on record.
        ledger: results.tsv.
    """
    known = {
        clean_value(attempt.branch)
        for thesis in state.theses
        for attempt in thesis.attempts
        if status_of(thesis, attempt) is not None
    }
    kept = tuple(
        line for line in ledger.lines if not (_is_broken(line) and known.intersection(_text(line).split("\t")))
    )
    return msgspec.structs.replace(ledger, lines=kept)


def _is_broken(line: Row | str) -> bool:
    if isinstance(line, str):
        return True
    measured = line.metric in (CRASHED, NO_BASELINE) or read_float(line.metric) is not None
    return line.status not in STATUSES or not measured


def _text(line: Row | str) -> str:
    return line if isinstance(line, str) else "\t".join(msgspec.structs.astuple(line))
