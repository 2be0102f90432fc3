"""results.tsv: reading it without losing a row, the rows that are still to be written, and the bar they set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from herdr_polyresearch.protocol.clean import clean_value
from herdr_polyresearch.protocol.model import Attempt, Candidate, State, Thesis
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.scalars import (
    fits_metric,
    lines,
    mean,
    read_float,
    show_exactly,
    show_metric,
    trim,
)
from herdr_polyresearch.protocol.words import FAILED

FILE = "results.tsv"
HEADER = "thesis\tattempt\tmetric\tbaseline\tstatus\tsummary"
COLUMNS = 6
CRASHED = "\N{EM DASH}"
"""The metric of what could not be measured."""
NO_BASELINE = "N/A"


class Row(msgspec.Struct, frozen=True):
    """One line of results.tsv, as text."""

    thesis: str
    attempt: str
    metric: str
    baseline: str
    status: str
    summary: str


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """The file, line by line; a `str` is a line that is no row and is kept as it is."""

    lines: tuple[Row | str, ...] = ()
    damaged: bool = False
    """Whether writing it again would change it: the existing reader drops a row with a tab too many."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows, in the order of the file."""
        return tuple(line for line in self.lines if isinstance(line, Row))


def read_ledger(text: str | None) -> Ledger:
    """Read results.tsv; None is a file that is not there.

    A line with more than six columns is a row whose summary holds tabs. One with fewer is kept, but is no row.
    """
    if text is None:
        return Ledger()
    found: list[Row | str] = []
    for number, raw in enumerate(lines(text)):
        line = raw.rstrip("\r")
        # The first line is the header, whatever it says, unless it is a row: then somebody deleted the header.
        if not trim(line) or (number == 0 and not line.startswith("#")):
            continue
        columns = line.split("\t")
        if len(columns) < COLUMNS:
            found.append(line)
        else:
            found.append(_split(columns))
    ledger = Ledger(lines=tuple(found))
    return msgspec.structs.replace(ledger, damaged=show_ledger(ledger) != text)


def show_ledger(ledger: Ledger, added: Sequence[Row] = ()) -> str:
    """Write results.tsv with some rows added at its end; no line of it is lost.

    Args:
        ledger: what was read.
        added: the new rows.
    """
    shown = ["\t".join(msgspec.structs.astuple(line)) if isinstance(line, Row) else line for line in ledger.lines]
    shown += ["\t".join(msgspec.structs.astuple(row)) for row in added]
    return "".join(f"{line}\n" for line in (HEADER, *shown))


def missing_rows(state: State, ledger: Ledger) -> tuple[Row, ...]:
    """Return the rows that results.tsv lacks: by thesis, then in the order of the attempts.

    Rows are matched by their attempt's branch; one that is there is never changed.

    Args:
        state: it has the attempts.
        ledger: results.tsv.
    """
    present = {row.attempt for row in ledger.rows}
    wanted = (
        _row(thesis, attempt, status)
        for thesis in state.theses
        for attempt in thesis.attempts
        if (status := status_of(thesis, attempt)) is not None
    )
    return tuple(row for row in wanted if row.attempt not in present)


def status_of(thesis: Thesis, attempt: Attempt) -> str | None:
    """Return the status that an attempt's row has; None while it is not known yet.

    Args:
        thesis: the thesis.
        attempt: one of its attempts.
    """
    candidate = thesis.candidate_of(attempt)
    if candidate and candidate.decision:
        return candidate.decision.outcome
    if attempt.observation in FAILED:
        return attempt.observation
    # Times have a resolution of a second: a release of that very second may have come first.
    recorded = (attempt.created_at, attempt.comment_id)
    released = any((r.created_at, r.comment_id) >= recorded for r in thesis.releases)
    closed = not thesis.open and candidate is None
    return "discarded" if released or closed else None


def verified_metric(candidate: Candidate) -> float | None:
    """Return the mean of what the reviewers measured of a candidate.

    None when nobody measured it: then the attempt's own metric is the only one there is.
    """
    measured = [r.metric for r in candidate.reviews if r.observation not in FAILED and math.isfinite(r.metric)]
    return mean(measured) if measured else None


def best_accepted(rows: Iterable[Row], program: Program, withdrawn: frozenset[str] = frozenset()) -> float | None:
    """Return the best metric of the accepted rows, which a candidate must meet; None when there is none.

    Args:
        rows: those of results.tsv.
        program: it knows the direction.
        withdrawn: branches whose rows do not count.
    """
    values = (read_float(row.metric) for row in rows if row.status == "accepted" and row.attempt not in withdrawn)
    known = [value for value in values if value is not None and math.isfinite(value)]
    return (max if program.metric_direction == "higher_is_better" else min)(known) if known else None


def _row(thesis: Thesis, attempt: Attempt, status: str) -> Row:
    candidate = thesis.candidate_of(attempt)
    decided = candidate if candidate and candidate.decision else None
    verified = verified_metric(decided) if decided else None
    baseline = attempt.baseline_metric
    return Row(
        thesis=f"#{thesis.number}",
        attempt=clean_value(attempt.branch),
        metric=CRASHED
        if attempt.observation in FAILED and verified is None
        else _number(attempt.metric if verified is None else verified),
        baseline=NO_BASELINE if baseline is None else _number(baseline),
        status=status,
        summary=clean_value(attempt.summary),
    )


def _split(columns: Sequence[str]) -> Row:
    thesis, attempt, metric, baseline, status, *summary = columns
    return Row(thesis, attempt, metric, baseline, status, clean_value(" ".join(summary)))


def _number(value: float) -> str:
    # Later candidates are compared with this row, so it keeps the digits that four decimals would lose.
    return show_metric(value) if fits_metric(value) else show_exactly(value)
