"""Titles that say nearly the same."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_WORD = re.compile(r"\w+")
#: Two titles are alike when so much of them is the same, words in any order or letters in theirs.
ALIKE = 0.8
#: A word of one or two letters says too little to look for.
_SHORT = 3


def words_of(title: str) -> list[str]:
    """The words of a title that are worth comparing, in lower case."""
    return [word for word in _WORD.findall(title.casefold()) if len(word) >= _SHORT or word.isdigit()]


def alike(title: str, other: str) -> bool:
    """Whether two titles nearly say the same; numbers tell apart what is otherwise equal.

    Args:
        title: one title.
        other: the one that it is compared with; the order makes no difference.
    """
    mine, theirs = words_of(title), words_of(other)
    if _numbers(mine) != _numbers(theirs):
        return False
    common = len(set(mine) & set(theirs))
    if common >= ALIKE * len(set(mine) | set(theirs)):
        return True
    return difflib.SequenceMatcher(None, " ".join(mine), " ".join(theirs), autojunk=False).ratio() >= ALIKE + 0.1


def similar_titles(title: str, others: Iterable[tuple[int, str]]) -> list[int]:
    """The ids of those titles that are like this one, in their order.

    Args:
        title: the title of an idea that is about to be filed.
        others: the id and the title of each idea that there is.
    """
    return [number for number, other in others if alike(title, other)]


def _numbers(words: list[str]) -> list[str]:
    return sorted(word for word in words if word.isdigit())
