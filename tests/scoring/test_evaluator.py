"""What the evaluator of a project is, and when two scores are comparable."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.config import Config, read_config
from herdr.errors import HerdrError
from herdr.repo.checks import head_commit
from herdr.scoring.evaluator import Definition, define

CONFIG = """
name = "p"
evaluate = ["python3", "evaluate.py"]
[[metrics]]
name = "score"
direction = "higher"
role = "primary"
"""
FILES = {"evaluate.py": "print(1)\n", "PREPARE.md": "prose\n", "code.py": "x = 1\n", "piloop.toml": CONFIG}

MakeRepo = Callable[..., Path]


def definition(root: Path) -> Definition:
    return define(config(root), root, head_commit(root))


def config(root: Path) -> Config:
    return read_config(root, {})


def edit(root: Path, path: str, text: str) -> None:
    (root / path).write_text(text)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", "commit", "-qm", "edit"], cwd=root, check=True)


@pytest.mark.parametrize(
    ("path", "text", "same"),
    [
        ("code.py", "x = 2\n", True),
        ("PREPARE.md", "other prose\n", True),
        ("piloop.toml", CONFIG + "[roles.worker]\ntimeout = 5\n", True),
        ("piloop.toml", CONFIG.replace("higher", "lower"), False),
        ("piloop.toml", CONFIG.replace('"score"', '"points"'), False),
        ("piloop.toml", CONFIG.replace('"evaluate.py"]', '"evaluate.py", "--fast"]'), False),
        ("evaluate.py", "print(2)\n", False),
    ],
)
def test_only_what_changes_a_score_changes_the_key(make_repo: MakeRepo, path: str, text: str, same: bool) -> None:
    root = make_repo(FILES)
    before = definition(root)
    edit(root, path, text)
    assert (definition(root).key == before.key) is same


def test_an_evaluate_script_that_is_not_committed_is_named(make_repo: MakeRepo) -> None:
    root = make_repo({"piloop.toml": CONFIG})
    (root / "evaluate.py").write_text("print(1)\n")
    with pytest.raises(HerdrError, match=r"evaluate\.py is not in commit") as caught:
        definition(root)
    assert "git add evaluate.py" in (caught.value.fix or "")
