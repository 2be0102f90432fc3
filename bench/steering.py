"""Steering: from a comment's row being committed to its line being typed into an idle pane, and taken."""

from __future__ import annotations

import random
import sys
import time

from bench import composer
from bench.report import Row, spread
from bench.stand import seconds_of, stand

COMMENTS = 20
#: Seconds; whoever steers an agent looks at its pane and waits for the text to appear.
BUDGET = 1.0


def measure() -> list[Row]:
    """One comment at a time, each at a random time between two looks of the daemon."""
    typed, received = [], []
    moments = random.Random(1)  # noqa: S311 - the same in every run
    program = [sys.executable, "-S", composer.__file__]
    with stand({"composer": {"interactive": program, "composer": composer.LINE}}) as place:
        place.add_ideas(1)
        place.start()
        place.wait("SELECT 1 FROM messages WHERE kind = 'brief' AND state = 'received'")
        for number in range(COMMENTS):
            time.sleep(moments.uniform(0.2, 0.4))
            comment, written = place.add_comment(1, f"try {number} neighbours instead")
            sql = "SELECT id FROM messages WHERE comment_id = ? AND state NOT IN ('queued', 'typed')"
            message = place.wait(sql, comment)
            ((state, typed_at, received_at),) = place.rows(
                "SELECT state, typed_at, received_at FROM messages WHERE id = ?", message
            )
            if state != "received":
                raise RuntimeError(f"a comment was not received but is {state}")
            typed.append(seconds_of(typed_at) - written)
            received.append(seconds_of(received_at) - written)
    return [
        spread("comment written → typed", typed, "s", budget=BUDGET),
        spread("comment written → typed", typed, "s", percent=95, budget=BUDGET),
        spread("comment written → received", received, "s"),
        spread("comment written → received", received, "s", percent=95),
    ]
