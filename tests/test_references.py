"""What a text refers to is in the repository: no document that only its authors had is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("herdr", "harnesses", "briefs", "plugins", "bench", "tests", "docs", "tools")
TEXTS = [
    file
    for folder in FOLDERS
    for file in (ROOT / folder).rglob("*")
    if file.suffix in (".py", ".md", ".sql", ".toml", ".tcss") and file != Path(__file__)
]
#: The screen of `piloop watch` has a page of keys; any other "the page" is one that a reader does not have.
ELSEWHERE = re.compile(r"\bDESIGN\b|\b[Tt]he page\b(?! of keys| behind)")
#: A page of the project that herdr works on.
EXAMPLES = {"docs/worker.md"}
PAGE = re.compile(r"\bdocs/[a-z-]+\.md\b")


def lines(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """Where it is found, and what was found."""
    return [
        (f"{file.relative_to(ROOT)}:{number}", found)
        for file in TEXTS
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        for found in pattern.findall(line)
    ]


def test_no_text_refers_to_a_document_that_is_not_here() -> None:
    assert lines(ELSEWHERE) == []


@pytest.mark.parametrize("page", sorted({page for _, page in lines(PAGE)} - EXAMPLES))
def test_a_page_of_the_docs_that_is_named_exists(page: str) -> None:
    assert (ROOT / page).is_file(), [where for where, found in lines(PAGE) if found == page]
