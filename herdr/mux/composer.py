"""Judging what stands in an agent's input line: may a text be typed, is it ours, was it taken."""

from __future__ import annotations

import re
import sys

from herdr.contract.harness import ScreenRules, SendRules
from herdr.harness.screen import ScreenReading, bottom_lines
from herdr.mux.screen import Delivery, Screen

#: Bytes of one line that a terminal in its usual line mode keeps; the rest, and the Enter, would be lost.
LINE_LIMIT = 1023 if sys.platform == "darwin" else 4095

#: So many characters of the start or of the end of a text are enough to recognise a part of it on the screen.
PART = 16

# The frames that input lines are drawn in.
_FRAME = re.compile("[\\s\u2500-\u257f]+")


def refused(text: str, screen: ScreenRules, send: SendRules) -> Delivery | None:
    """Say why a cleaned text can never be typed into such a program, or None.

    Args:
        text: what is to be typed, already cleaned.
        screen: how to read the harness's screen.
        send: how it takes text.
    """
    if not send.accepts:
        return Delivery(state="failed", detail="this program never reads its terminal")
    if not text:
        return Delivery(state="failed", detail="nothing is left of the text once it is cleaned")
    longest = max(len(line.encode()) for line in text.split("\n"))
    if screen.composer is None and longest > LINE_LIMIT:
        detail = f"a line of {longest} bytes is too long for a program that reads lines ({LINE_LIMIT} at most)"
        return Delivery(state="failed", detail=detail)
    return None


def obstacle(
    screen: Screen | None, reading: ScreenReading, rules: ScreenRules, send: SendRules
) -> Delivery | None:
    """Say why nothing may be typed right now, or None.

    Args:
        screen: the pane as it was just captured; None when it is gone.
        reading: what the harness's rules say about that screen.
        rules: those rules.
        send: how the harness takes text.
    """
    stands_in_the_way = _in_the_way(screen, reading)
    if stands_in_the_way is not None:
        return stands_in_the_way
    if reading.state == "ended":
        return _waiting(f"its screen says that it has ended: {reading.evidence}")
    if reading.state == "busy" and not send.while_busy:
        return _waiting("it is busy, and takes no text during a turn")
    if rules.composer is not None and reading.composer is None:
        return _waiting("its input line is not on the screen")
    if reading.composer:
        return _waiting(f"a draft stands in its input line: {reading.composer[:80]}")
    return None


def _in_the_way(screen: Screen | None, reading: ScreenReading) -> Delivery | None:
    if screen is None:
        return Delivery(state="failed", detail="its pane is gone")
    if screen.dead:
        return Delivery(state="failed", detail="its program has ended")
    if screen.in_mode:
        return _waiting("somebody scrolls in its pane (copy mode)")
    if reading.state == "blocked":
        return _waiting(f"a dialog is open ({reading.rule}): {reading.evidence}")
    return None


def takes_keys(screen: Screen | None, reading: ScreenReading) -> bool:
    """Whether a key would reach the program itself: no dialog, no copy mode, not ended.

    Args:
        screen: the pane as it was just captured; None when it is gone.
        reading: what the harness's rules say about that screen.
    """
    return _in_the_way(screen, reading) is None


def input_line_is(reading: ScreenReading, screen: Screen, rules: ScreenRules, text: str) -> bool:
    """Whether the input line holds exactly this text.

    White space and frames do not count, because a program wraps a long text over several rows. A rule that gives
    only the first row is enough when the rest stands right below it.

    Args:
        reading: what the harness's rules say about the screen.
        screen: the pane as it was just captured.
        rules: the harness's rules.
        text: what was typed, cleaned.
    """
    typed, wanted = _bare(reading.composer or ""), _bare(text)
    if typed == wanted:
        return True
    if not typed or not wanted.startswith(typed):
        return False
    shown = _bare(bottom_lines(screen.text, rules.lines))
    # All of our text must stand where the input line is: the same text further up is an echo of an earlier one.
    return shown.rfind(wanted) >= 0 and shown.rfind(wanted) == shown.rfind(typed)


def may_stand(reading: ScreenReading, text: str) -> bool:
    """Whether a text that was typed and not confirmed may still stand in the input line, whole or in part.

    What is drawn from the input line on counts, whatever the harness's rule takes of it for typed text. Above it
    may stand the echo of a text that was taken.

    Args:
        reading: what the harness's rules say about the screen.
        text: what was typed, cleaned.
    """
    wanted, drawn = _bare(text), _bare(reading.below)
    return bool(reading.composer) or wanted[:PART] in drawn or wanted[-PART:] in drawn


def shows(screen: Screen, text: str) -> bool:
    """Whether a text stands anywhere on the screen, as a terminal echoes it.

    Args:
        screen: the pane as it was just captured.
        text: what was typed, cleaned.
    """
    return _bare(text) in _bare(screen.text)


def times_received(send: SendRules, screen: Screen, text: str) -> int:
    """How often the screen shows, by the harness's `received` rule, that this text was taken.

    Args:
        send: how the harness takes text; without a `received` rule the answer is 0.
        screen: the pane with some of its history.
        text: what was typed, cleaned.
    """
    if send.received is None:
        return 0
    words = r"\s+".join([re.escape(word) for word in text.split()])
    pattern = send.received.replace("{text}", words)
    return sum(1 for _ in re.finditer(pattern, screen.text, re.MULTILINE))


def _bare(text: str) -> str:
    return _FRAME.sub("", text)


def _waiting(why: str) -> Delivery:
    return Delivery(state="waiting", detail=why)
