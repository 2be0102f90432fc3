"""The audit: what was found, what of it keeps the lead from going on, and what changed after it was posted."""

from __future__ import annotations

import msgspec

from herdr_polyresearch.protocol.broken import broken_lines
from herdr_polyresearch.protocol.comments import parse
from herdr_polyresearch.protocol.findings import LEDGER_BROKEN, LEDGER_STALE, Fault, blocking
from herdr_polyresearch.protocol.ledger import Ledger, missing_rows
from herdr_polyresearch.protocol.model import Finding, State
from herdr_polyresearch.protocol.threads import Comment, Snapshot


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What `polyresearch audit` reports."""

    ledger_current: bool
    """Whether results.tsv has every row and nothing but rows."""
    findings: tuple[Finding, ...]
    """By comment id; those about results.tsv come first."""
    blocking: tuple[Finding, ...]
    """Those that keep the lead from checking, deciding and generating."""
    edited: tuple[Comment, ...]
    """Events whose text may not be what was posted: they count as they read now."""
    deleted: tuple[Comment, ...]
    """Events that were there once: they count no more."""

    @property
    def clean(self) -> bool:
        """Whether the lead may go on."""
        return not self.blocking and self.ledger_current

    def count(self, severity: str) -> int:
        """Count the findings of one severity."""
        return sum(finding.severity == severity for finding in self.findings)


def audit(snapshot: Snapshot, state: State, ledger: Ledger) -> Audit:
    """Report on a snapshot and the state derived from it.

    Args:
        snapshot: what the forge holds.
        state: what that adds up to.
        ledger: results.tsv.
    """
    broken = broken_lines(ledger)
    faults = [LEDGER_STALE] if missing_rows(state, ledger) else []
    faults += [Fault(LEDGER_BROKEN.severity, f"{LEDGER_BROKEN.message}: {line!r}") for line in broken]
    about = tuple(
        Finding(scope="repository", number=None, severity=f.severity, message=f.message) for f in faults
    )
    posted = (comment for thread in snapshot.comments.values() for comment in thread)
    return Audit(
        ledger_current=not about,
        findings=(*about, *state.findings),
        blocking=blocking(state),
        edited=tuple(c for c in posted if c.edited and parse(c.body) is not None),
        deleted=tuple(c for c in snapshot.deleted if parse(c.body) is not None),
    )
