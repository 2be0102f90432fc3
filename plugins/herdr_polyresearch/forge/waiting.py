"""How we wait for a forge: in the open, within a bound, and with the clock passed in."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone

import msgspec

#: The longest that one command waits for a rate limit, in seconds; a longer one is an error that names the time.
MAX_WAIT = 15 * 60.0
#: Waits longer than this are announced, in seconds.
SILENT = 2.0


def say_on_stderr(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """Time as we use it; tests pass one that does not sleep.

    Args:
        now: seconds since the epoch.
        sleep: let so many seconds pass.
        say: tell a person why we wait.
        max_wait: the longest wait for a rate limit that is accepted, in seconds.
    """

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = say_on_stderr
    max_wait: float = MAX_WAIT

    def pause(self, seconds: float, why: str) -> None:
        """Wait, visibly when it takes long enough for somebody to wonder.

        Args:
            seconds: how long; not at all when it is not above 0.
            why: what we wait for.
        """
        if seconds <= 0:
            return
        if seconds > SILENT:
            self.say(f"{why}: waiting {spell(seconds)} (until {self.at(seconds)})")
        self.sleep(seconds)

    def at(self, seconds: float) -> str:
        """The wall time in so many seconds, UTC."""
        return datetime.fromtimestamp(self.now() + seconds, timezone.utc).strftime("%H:%M:%SZ")


def spell(seconds: float) -> str:
    """A duration for people: `45 s`, `12 min`."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
