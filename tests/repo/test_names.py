from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herdr.repo.names import slug


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Try 2-opt, then Or-opt!", "try-2-opt-then-or-opt"),
        ("#(touch pwned)", "touch-pwned"),
        ("--Über/../x.lock", "uber-x-lock"),
        ("猫", "x"),
        ("", "x"),
        ("a" * 39 + " b", "a" * 39),
    ],
)
def test_slug(text: str, expected: str) -> None:
    assert slug(text) == expected


@given(st.text(), st.integers(min_value=1, max_value=60))
def test_slugs_are_safe_everywhere(text: str, length: int) -> None:
    made = slug(text, length=length)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", made)
    assert len(made) <= length
    assert slug(made, length=length) == made


def test_git_takes_them_in_refs() -> None:
    for text in ("a.lock", "@{", "..", "x" * 300, "-", "HEAD"):
        subprocess.run(["git", "check-ref-format", f"refs/piloop/{slug(text)}/run-1/1"], check=True)
