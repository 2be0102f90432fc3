"""Say what an agent is doing from what its screen shows, by the rules of its harness."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from herdr.contract.harness import AgentState, Cause, ScreenRules

#: What tmux itself writes under the last screen of a program that ended (`remain-on-exit`).
DEAD_PANE = r"^Pane is dead \((?:status (?P<status>\d+)|signal (?P<signal>\w+))?[^\n]*\)\Z"
NOT_FOUND_STATUS = 127


class ScreenReading(msgspec.Struct, frozen=True, kw_only=True):
    """What a screen says: the state, and the rule and the line that it was told from.

    `composer` is the text that stands in the input line: empty when there is none or only a hint, None when no
    input line is seen. `folded` is set when it holds a paste that the harness shows as a placeholder. `below` is
    the screen from the input line on, as it is drawn.
    """

    state: AgentState
    cause: Cause | None = None
    rule: str = ""
    evidence: str = ""
    composer: str | None = None
    folded: bool = False
    below: str = ""


class _Match(msgspec.Struct, frozen=True):
    """A match of a pattern: where it stands on the screen, its groups in order, and those with a name."""

    start: int
    end: int
    groups: Sequence[str | None]
    named: Mapping[str, str | None]


class _Hit(msgspec.Struct, frozen=True):
    """The lowest match of a rule, and where on the screen it ends."""

    rule: str
    cause: Cause | None
    at: int
    evidence: str


def read_screen(rules: ScreenRules, text: str, title: str = "") -> ScreenReading:
    """Read a screen: an ended program, then blocked, failed, busy and idle, in this order; else unknown.

    Args:
        rules: how this harness draws its screen.
        text: the bottom of the pane as plain text, one line a row.
        title: the pane's title.

    Returns:
        The state with its evidence; `unknown` when no rule matches.
    """
    screen = bottom_lines(text, rules.lines)
    typed = _last(rules.composer, screen)
    composer, folded = _composer_text(rules, screen, typed)
    below = "" if typed is None else screen[typed.start :]
    recent = screen[_last_block(rules, screen, typed) :]
    hit = _ended(rules, screen)
    state: AgentState = "ended"
    if hit is None:
        hit, state = _blocked(rules, screen, title), "blocked"
    if hit is None:
        hit, state = _turn(rules, recent, title)
    if hit is None:
        hit, state = _idle(rules, recent), "idle"
    if hit is None:
        return ScreenReading(state="unknown", composer=composer, folded=folded, below=below)
    cause = hit.cause
    if state == "idle" and cause is None and composer:
        cause = "draft"
    return ScreenReading(
        state=state,
        cause=cause,
        rule=hit.rule,
        evidence=hit.evidence,
        composer=composer,
        folded=folded,
        below=below,
    )


def read_output(rules: ScreenRules, text: str) -> ScreenReading:
    """Read what a headless program printed: it works until it ends, and may have said what went wrong.

    Args:
        rules: the harness's rules; only `output` is used.
        text: the end of the log.
    """
    hit = _lowest(rules.output, bottom_lines(text, rules.lines))
    if hit is None:
        return ScreenReading(state="busy")
    return ScreenReading(state="busy", cause=hit.cause, rule=hit.rule, evidence=hit.evidence)


def bottom_lines(text: str, count: int) -> str:
    """Return the last `count` lines that are not blank, without what follows their last character.

    Args:
        text: a screen.
        count: how many.
    """
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join([line for line in lines if line][-count:])


def _composer_text(rules: ScreenRules, screen: str, typed: _Match | None) -> tuple[str | None, bool]:
    """What the input line holds: the group `text`, else the only group, else what follows the match."""
    if typed is None:
        return None, False
    if "text" in typed.named:
        held = typed.named["text"] or ""
    elif len(typed.groups) == 1:
        held = typed.groups[0] or ""
    else:
        held = screen[typed.end :].partition("\n")[0]
    held = held.strip()
    if held and rules.hint is not None and _compiled(rules.hint).fullmatch(held):
        return "", False
    return held, bool(rules.placeholder and _compiled(rules.placeholder).search(held))


def _last_block(rules: ScreenRules, screen: str, typed: _Match | None) -> int:
    """Where the last piece of the conversation starts: what stands above is over."""
    if rules.block is None:
        return 0
    limit = typed.start if typed else len(screen)
    return max((m.start() for m in _compiled(rules.block).finditer(screen, 0, limit)), default=0)


def _ended(rules: ScreenRules, screen: str) -> _Hit | None:
    hit = _lowest(rules.exits, screen) or _plain("ended", rules.ended, screen)
    dead = _compiled(DEAD_PANE).search(screen)
    if hit is not None or dead is None:
        return hit
    cause: Cause | None = "exited"
    if dead["status"] is None:
        cause = "crashed"
    elif int(dead["status"]) == 0:
        cause = None
    elif int(dead["status"]) == NOT_FOUND_STATUS:
        cause = "not_found"
    return _Hit("dead_pane", cause, dead.end(), dead[0])


def _blocked(rules: ScreenRules, screen: str, title: str) -> _Hit | None:
    return _lowest(rules.dialogs, screen) or _in_title("title_dialog", rules.title_dialog, title, "permission")


def _turn(rules: ScreenRules, recent: str, title: str) -> tuple[_Hit | None, AgentState]:
    """A turn that failed or goes on: a busy title is live, and of two lines the lower one is the newer."""
    failed = _lowest(rules.failures, recent)
    busy = _lowest(rules.retries, recent) or _plain("busy", rules.busy, recent)
    spinner = _in_title("title_busy", rules.title_busy, title, None)
    if failed and not spinner and (busy is None or failed.at >= busy.at):
        return failed, "failed_turn"
    return busy or spinner, "busy"


def _idle(rules: ScreenRules, recent: str) -> _Hit | None:
    """A harness that waits for input; the cause is what it complains of meanwhile."""
    ready = (
        _plain("composer", rules.composer, recent)
        if rules.ready is None
        else _plain("ready", rules.ready, recent)
    )
    return ready and (_lowest(rules.notices, recent) or ready)


def _lowest(named: Mapping[str, tuple[str, Cause]], screen: str) -> _Hit | None:
    """The match of a table of rules that ends lowest; of several that end together the first of the table."""
    hits = (_plain(name, pattern, screen, cause) for name, (pattern, cause) in named.items())
    return max((hit for hit in hits if hit), key=lambda hit: hit.at, default=None)


def _plain(rule: str, pattern: str | None, screen: str, cause: Cause | None = None) -> _Hit | None:
    found = _last(pattern, screen)
    return _Hit(rule, cause, found.end, _line_at(screen, found.start)) if found else None


def _in_title(rule: str, pattern: str | None, title: str, cause: Cause | None) -> _Hit | None:
    return _Hit(rule, cause, -1, title) if pattern and _compiled(pattern).search(title) else None


def _last(pattern: str | None, screen: str) -> _Match | None:
    """The lowest match, on the lines as they are or with a blank after each.

    A terminal does not tell how a line ends, so a prompt drawn as `> ` and its rule `^> $` would never meet.
    """
    if pattern is None:
        return None
    blanks = screen.replace("\n", " \n") + " "
    plain, padded = _lowest_match(pattern, screen), _lowest_match(pattern, blanks)
    if padded is not None:
        start, end = (
            min(at - blanks.count(" \n", 0, at + 1), len(screen)) for at in (padded.start(), padded.end())
        )
        if plain is None or start > plain.start():
            return _Match(start, end, padded.groups(), padded.groupdict())
    return _Match(plain.start(), plain.end(), plain.groups(), plain.groupdict()) if plain else None


def _lowest_match(pattern: str, text: str) -> re.Match[str] | None:
    return max(_compiled(pattern).finditer(text), key=re.Match.start, default=None)


def _line_at(screen: str, at: int) -> str:
    """The first line with something on it, from `at` on, whole."""
    while at < len(screen) and screen[at].isspace():
        at += 1
    end = screen.find("\n", at)
    return screen[screen.rfind("\n", 0, at) + 1 : None if end < 0 else end].strip()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
