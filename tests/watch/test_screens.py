"""The whole screen, letter by letter, at the smallest size that it is made for and at a usual one.

NEW_SCREENS=1 writes the files anew; look at what changed before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

SCREENS = Path(__file__).parent / "screens"
SIZES = {"80x24": (80, 24), "120x40": (120, 40)}
#: One after the other: a name, the keys that lead there, and what is then on the screen.
TOUR = (
    ("ideas", (), "idea#1: Combine"),
    ("inbox", ("1",), "comment#1: escalation"),
    ("thread", ("j",), "Then try 8."),
    ("agents", ("2", "j"), "worker#2: Cache [the] features"),
    ("candidates", ("4", "j", "j"), "candidate#5: Odd, but quick"),
    ("opened", ("3", "j", "j", "enter"), "Then the rest."),
    ("reason", ("escape", "p"), "why park idea#3?"),
    ("filter", ("escape", "slash", *"batch"), "/batch"),
    ("error", ("escape", "2", "s"), "nobody types"),
    ("keys", ("question_mark",), "this page"),
)


@pytest.mark.parametrize("size", SIZES)
def test_the_screens_are_as_they_were(full: Any, watch: Any, size: str) -> None:
    different: list[str] = []

    async def play(screen: Any) -> None:
        for name, keys, there in TOUR:
            await screen.press(*keys)
            await screen.sees(there)
            await screen.settled()
            different.extend(compare(f"{name}-{size}", screen.text))

    watch(play, SIZES[size])
    assert not different, "\n".join(different)


@pytest.mark.parametrize("size", SIZES)
def test_a_campaign_that_begins_says_what_to_do(campaign: Any, watch: Any, size: str) -> None:
    async def play(screen: Any) -> None:
        await screen.sees("no open ideas")
        await screen.settled()
        assert not compare(f"empty-{size}", screen.text)

    watch(play, SIZES[size])


def compare(name: str, text: str) -> list[str]:
    """Nothing, or both screens."""
    file = SCREENS / f"{name}.txt"
    if os.environ.get("NEW_SCREENS"):
        SCREENS.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    before = file.read_text(encoding="utf-8")
    return [] if text == before else [f"{name} was\n{before}\nand is\n{text}"]
