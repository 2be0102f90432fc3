"""What `herdr doctor` looks at, one module per subject."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from herdr.contract.facts import DoctorCheck, DoctorResult

Results = Sequence[DoctorResult]


def ok(message: str) -> Results:
    """Nothing to mend."""
    return [DoctorResult(status="ok", message=message)]


def warning(message: str, fix: str) -> Results:
    """Something that works, but not as it should."""
    return [DoctorResult(status="warning", message=message, fix=fix)]


def error(message: str, fix: str) -> Results:
    """Something that keeps herdr from working."""
    return [DoctorResult(status="error", message=message, fix=fix)]


def always(name: str, look: Callable[[], Results]) -> DoctorCheck:
    """A check that has nothing to do with a project."""
    return DoctorCheck(name=name, run=lambda _root: look())
