"""The one family of errors that a person is meant to read."""

from __future__ import annotations

#: What a program exits with after Ctrl-C, as a shell shows it: 128 and the number of the signal.
INTERRUPTED = 130


class HerdrError(Exception):
    """Something a person can understand and act on; shown as two lines, never as a traceback.

    Args:
        message: what was wrong, and where.
        fix: what to do about it, often a command to type.
    """

    #: What the process exits with when this error ends a command.
    exit_code = 1

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return self.message


class UsageError(HerdrError):
    """The command was given something that does not exist or does not fit."""

    exit_code = 2


class RefusedError(HerdrError):
    """The actor may not do this, or the thing is not in a state that allows it."""


def describe(error: BaseException) -> str:
    """Return any error in one line, with the place in the code that raised it; of ours only what it says."""
    text = " ".join(str(error).split())
    if isinstance(error, HerdrError):
        return text
    kind = type(error).__name__
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
    return f"{kind}: {text}{place}" if text else f"{kind}{place}"
