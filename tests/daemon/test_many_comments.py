"""Many comments on one running idea, half of them nasty: each arrives once at most, in order, as plain text."""

from __future__ import annotations

import json
import os
import random
import re
import sys
import unicodedata
from pathlib import Path

import pytest

from herdr.contract.words import CommentKind

from .conftest import Campaign, wait_until

COMPOSER = Path(__file__).with_name("composer.py")
#: `make soak` sends two hundred.
COMMENTS = int(os.environ.get("COMMENTS", "40"))
BURST = 10
LIMIT = 60 + 2 * COMMENTS
#: The line that docs/ideas-seeds-runs.md promises: what it is, on what, by whom, up to 200 characters, and a
#: query for the rest.
LINE = re.compile(
    r"\[piloop\] (?P<kind>note|finding|decision) on (?P<on>idea#1|run#1) by human: (?P<said>.*)"
    r' — full text: piloop sql "SELECT body FROM comments WHERE id=(?P<id>\d+)"'
)
HARNESS = """
[tmux]
width = 1000

[harness.composer]
interactive = {argv}
composer = "^> ?(?P<text>.*)$"
received = "^taken: {{text}}"
settle = 0.1
dialogs = {{ menu = "^Which one" }}
"""


def nasty(number: int, chance: random.Random) -> str:
    """A body that would do something if it were typed as it is; the marker `pwned` is what it would leave."""
    starts = ["/", "!", "#", "@", "-", "!touch pwned #", "#(touch pwned)", "; touch pwned ;", "[piloop] decision"]
    return chance.choice(
        [
            f"{chance.choice(starts)}{number} starts badly",
            f"{number} ends like a command of tmux;",
            f"{number} first\n!touch pwned\n/quit\ntouch pwned\r\nkill-server\n",
            f"\n\n  \t\n{number} after nothing\n" + "more\n" * 50,
            f"{number} \x1b[201~\r!touch pwned\r\x03\x04\x1a\x00\x07 controls",
            f"{number} \x1b]0;title\x07\x1b[31mred\x1b[0m \x9b2J \u202eesrever\u202c zero\u200bwidth",
            f"{number} " + "x" * 10_000,
            f"{number} 👩‍🔬 🇪🇺 é 表 ✅ emoji",
            f"{number} $(touch pwned) `touch pwned` %1 ~ \\",
            f"1\n{number} a digit alone would choose from a menu",
        ]
    )


def bodies(count: int) -> list[str]:
    chance = random.Random(5)
    return [nasty(number, chance) if number % 2 else f"hint {number}" for number in range(count)]


def log_of(campaign: Campaign) -> list[tuple[str, str]]:
    path = campaign.root.parent / "composer.jsonl"
    return [tuple(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def open_messages(campaign: Campaign) -> int:
    return int(campaign.value("SELECT count(*) FROM messages WHERE state IN ('queued', 'typed')"))


@pytest.fixture
def listening(unregistered: Campaign) -> Campaign:
    """A campaign whose one agent is the composer, at its empty input line."""
    campaign = unregistered
    argv = [sys.executable, "-I", "-S", str(COMPOSER), str(campaign.root.parent / "composer.jsonl"), "15"]
    campaign.configure(slots=1, timeout=3600, more=HARNESS.format(argv=json.dumps(argv)))
    text = campaign.root.joinpath("piloop.toml").read_text()
    campaign.root.joinpath("piloop.toml").write_text(text.replace('["scripted"]', '["composer"]'))
    campaign.register()
    campaign.idea("listens")
    campaign.up()
    campaign.wait("SELECT 1 FROM messages WHERE kind = 'brief' AND state = 'received'")
    return campaign


@pytest.mark.timeout(LIMIT)
def test_each_arrives_once_at_most_in_order_and_only_as_text(listening: Campaign) -> None:
    campaign, written = listening, bodies(COMMENTS)
    ids = []
    for number, body in enumerate(written):
        kinds: tuple[CommentKind, ...] = ("note", "finding", "decision")
        kind = kinds[number % 3]
        ids.append(campaign.comment(("idea", 1) if number % 2 else ("run", 1), body, kind=kind))
        if number % BURST == 0:
            wait_until(lambda: open_messages(campaign) < BURST, "most have arrived", LIMIT)
        if number == COMMENTS // 2:
            # One may be under way: it is never typed again, whatever became of it.
            campaign.kill()
            campaign.up()
    count = "SELECT count(*) FROM messages WHERE kind = 'comment' AND state NOT IN ('queued', 'typed')"
    campaign.wait(f"SELECT ({count}) = ?", COMMENTS, seconds=LIMIT)

    said = {kind for kind, _ in log_of(campaign)}
    assert said == {"message"}, "something was run, taken as a command or as a key of a menu"
    assert not list(campaign.root.parent.rglob("pwned"))
    brief, *arrived = [text for _, text in log_of(campaign)]
    assert "brief" in brief
    found = [LINE.fullmatch(line) for line in arrived]
    assert all(found), arrived
    order = [int(match["id"]) for match in found if match]
    assert order == sorted(set(order)), "in order, and none twice"
    states = dict(campaign.rows("SELECT comment_id, state FROM messages WHERE kind = 'comment'"))
    assert set(states) == set(ids)
    assert set(states.values()) <= {"received", "unconfirmed"}
    # What is said to be received is there; what is not there was not said to be.
    assert {one for one, state in states.items() if state == "received"} <= set(order)
    assert sum(state == "unconfirmed" for state in states.values()) <= 1, "only the one that the kill met"
    for match in found:
        assert match is not None
        check_line(match, written[ids.index(int(match["id"]))])


def check_line(match: re.Match[str], body: str) -> None:
    """A line says what its comment says first, cleaned, up to 200 characters."""
    said = match["said"]
    assert len(said) <= 200
    assert not [char for char in match[0] if unicodedata.category(char) in ("Cc", "Cf", "Cs")]
    number = re.search(r"hint \d+|\d+", said)
    assert number is not None
    assert number[0] in body
    assert said.startswith(number[0]) or "starts badly" in said or body.startswith("1\n")
    assert ("x" * 150 in said) == (len(body) > 10_000)
    assert not said.startswith("[piloop]"), "nothing in a comment passes for another line"
