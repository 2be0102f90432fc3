"""What we post to a GitHub: one queue per login across all processes, spaced, and never repeated blindly."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from herdr.api import take_lock
from herdr_polyresearch.forge.base import QuotaError, RejectedError, UnreachableError, WriteUnknownError
from herdr_polyresearch.forge.rest import LimitedError, Rest, UnclearError

T = TypeVar("T")

#: Seconds between two writes of one login. GitHub asks for one, and stops clients that post faster for long.
SPACING = 1.0
#: A write without an answer is looked for after so many seconds each: a slow server may still be working on it.
LOOKS = (1.0, 4.0, 15.0)
#: How often a write is sent before we give up on getting an answer.
SENDINGS = 3

MARK = re.compile(r"\n\n<!-- nonce:(?P<nonce>[0-9a-f]{16}) -->\s*\Z")


def new_nonce() -> str:
    """A name for one write, by which it is found again."""
    return secrets.token_hex(8)


def marked(body: str, nonce: str) -> str:
    """The text as it is posted: GitHub does not show the mark, and readers of the protocol skip it.

    Args:
        body: the text.
        nonce: the name of the write.
    """
    return f"{body}\n\n<!-- nonce:{nonce} -->"


def unmarked(body: str) -> str:
    """The text without our mark, as it was meant."""
    return MARK.sub("", body)


def bears(body: str | None, nonce: str) -> bool:
    """Whether this text was posted by the write of this name.

    Args:
        body: the text.
        nonce: the name of the write.
    """
    match = MARK.search(body or "")
    return match is not None and match["nonce"] == nonce


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One change: the request, and in words what it does."""

    verb: str
    path: str
    payload: Any
    what: str


class WriteQueue:
    """The writes of one login.

    Args:
        rest: how to send.
        state: the file that all processes of this login share: its lock is the queue, its number the earliest
            moment (seconds since the epoch) of the next write.
        spacing: seconds between two writes.
    """

    def __init__(self, rest: Rest, state: Path, *, spacing: float = SPACING) -> None:
        self.rest = rest
        self.clock = rest.clock
        self.state = state
        self.spacing = spacing

    def send(self, write: Write, shape: type[T], landed: Callable[[], T | None] | None = None) -> T:
        """Make one change and give the server's answer to it.

        Args:
            write: what to send.
            shape: what a good answer looks like.
            landed: looks whether the change is there, and gives it in the shape of an answer. Without it the
                change is one that may be sent twice, such as closing an issue.

        Raises:
            QuotaError: a rate limit lasts longer than we wait; nothing was changed.
            UnreachableError: no answer, and no sign that the change was made.
            WriteUnknownError: no answer, and nothing to be seen of whether it was made.
            ForgeError: the server refused.
        """
        limited = unclear = 0
        with self._turn() as moment:
            while True:
                self._await(moment)
                try:
                    data = self.rest.attempt(write.verb, write.path, None, write.payload)[1]
                    return msgspec.convert(data, shape)
                except LimitedError as error:
                    limited += 1
                    wait = self.rest.limit_wait(error, limited)
                    self.clock.say(f"{self.rest.host}: {error.kind}, so `{write.what}` has to wait")
                    keep(moment, self.clock.now() + wait)
                    continue
                except UnclearError as error:
                    why, sent = str(error), error.sent
                except msgspec.ValidationError as error:
                    why, sent = f"its answer is not what GitHub sends ({error})", True
                except RejectedError:
                    # Perhaps it is refused because the first sending was done after all, late.
                    found = landed() if landed is not None and unclear else None
                    if found is None:
                        raise
                    return found
                finally:
                    keep(moment, max(stored(moment), self.clock.now() + self.spacing))
                unclear += 1
                found = self._look(write, landed, why) if sent and landed is not None else None
                if found is not None:
                    return found
                self._give_up_after(unclear, write, why)

    def _look(self, write: Write, landed: Callable[[], T | None], why: str) -> T | None:
        """Find out whether a write without an answer was made after all."""
        self.clock.say(f"{self.rest.host}: {why} to `{write.what}`: looking whether it was done")
        for pause in LOOKS:
            self.clock.sleep(pause)
            try:
                found = landed()
            except (UnreachableError, QuotaError) as error:
                raise WriteUnknownError(
                    f"it is not known whether `{write.what}` was done: {self.rest.host} gave no answer ({why}), "
                    f"and then {error}",
                    fix="do not repeat it before you have looked: `polyresearch status` shows it if it was done",
                ) from error
            if found is not None:
                return found
        return None

    def _give_up_after(self, unclear: int, write: Write, why: str) -> None:
        """Stop when sending again has not helped.

        Raises:
            UnreachableError: it was sent often enough.
        """
        if unclear >= SENDINGS:
            raise UnreachableError(
                f"`{write.what}` was not done: {self.rest.host} failed {unclear} times ({why})",
                fix="nothing was posted: check the network and https://www.githubstatus.com, then run it again",
            )
        self.clock.pause(2.0**unclear, f"{self.rest.host}: {why}: trying `{write.what}` again")

    def _await(self, moment: IO[str]) -> None:
        """Wait for the earliest moment of the next write.

        Raises:
            QuotaError: another process met a limit that lasts longer than we wait.
        """
        wait = stored(moment) - self.clock.now()
        if wait > self.clock.max_wait:
            raise QuotaError(  # the one that met it said so, in another process
                f"{self.rest.host}: writes are held back until {self.clock.at(wait)} by a rate limit",
                fix=f"nothing was posted: run it again after {self.clock.at(wait)}",
            )
        self.clock.pause(wait, f"{self.rest.host}: the next write")

    @contextlib.contextmanager
    def _turn(self) -> Iterator[IO[str]]:
        """Hold the queue of this login; the kernel gives it up for a process that dies."""
        self.state.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.state.open("a+", encoding="ascii") as file:
            if not take_lock(file.fileno(), 0):
                self.clock.say(f"{self.rest.host}: waiting for another process that writes as this login")
                take_lock(file.fileno(), None)
            yield file


def stored(moment: IO[str]) -> float:
    """The earliest moment of the next write; 0 for a file that says nothing sensible."""
    moment.seek(0)
    try:
        return float(moment.read() or 0)
    except ValueError:
        return 0.0


def keep(moment: IO[str], when: float) -> None:
    """Store the earliest moment of the next write.

    Args:
        moment: the open file that all processes share.
        when: seconds since the epoch.
    """
    moment.seek(0)
    moment.truncate()
    moment.write(f"{when:.3f}")
    moment.flush()
