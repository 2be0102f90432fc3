"""What `herdr doctor` looks at, one module per subject."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from herdr.contract.facts import DoctorCheck, DoctorResult

Results = Sequence[DoctorResult]


def ok(message: str) -> Results:
    """Nothing to mend."""
    return [DoctorResult(status="ok", message=message)]


def warning(message: str, fix: str) -> Results:
    """Something that works, but not as it should.

    Args:
        message: what is so.
        fix: what to do about it.
    """
    return [DoctorResult(status="warning", message=message, fix=fix)]


def error(message: str, fix: str) -> Results:
    """Something that keeps herdr from working.

    Args:
        message: what is wrong.
        fix: what to do about it.
    """
    return [DoctorResult(status="error", message=message, fix=fix)]


def always(name: str, look: Callable[[], Results]) -> DoctorCheck:
    """A check that has nothing to do with a project.

    Args:
        name: what is looked at, in a word.
        look: looks, and says what it found.
    """
    return DoctorCheck(name=name, run=lambda _root: look())
