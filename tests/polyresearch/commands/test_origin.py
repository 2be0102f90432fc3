"""The lead acts on what everybody has: origin's default branch, and a results.tsv that can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]
Git = Callable[..., str]


def submitted(project: Any, path: str = "train.py") -> int:
    """A candidate that changes a file."""
    number = project.thesis("RMSNorm")
    pull, _ = project.candidate("alice/n1", number, {path: "x = 2\n"})
    assert isinstance(pull, int)
    return pull


def test_commits_that_only_the_lead_has_decide_nothing(project: Any, git: Git) -> None:
    pull = submitted(project, "other.py")
    clone = project.clone("lead/l")
    program = clone / "PROGRAM.md"
    program.write_text(program.read_text().replace("`train.py`", "`other.py`"))
    git(clone, "commit", "-q", "-am", "only here")
    for line in (f"policy-check {pull}", f"decide {pull}", "generate --title Dropout --body b", "sync"):
        assert "PROGRAM.md" in project("lead/l", line, code=5).err
    assert len(project.place.open("lead").comments(pull)) == 0
    git(clone, "reset", "-q", "--hard", "origin/main")
    assert project("lead/l", f"policy-check {pull} --json").json["violating_files"] == ["other.py"]


def test_rows_that_only_the_lead_has_are_pushed_by_sync(project: Any, git: Git) -> None:
    pull = submitted(project)
    project("lead/l", f"policy-check {pull}")
    project("lead/l", f"decide {pull}")
    project("lead/l", "sync")
    clone = project.clone("lead/l")
    commit = git(clone, "rev-parse", "main")
    git(project.place.work, "fetch", "-q", "origin")
    git(project.place.work, "push", "-q", "-f", "origin", "origin/main~1:refs/heads/main")
    assert project.rows() == []
    assert "lacks 1 rows" in project("lead/l", "generate --title Dropout --body b", code=5).err
    assert project.sync() == ["accepted"]
    assert git(clone, "rev-parse", "origin/main") == commit


def test_a_limit_below_the_minimum_is_what_has_to_change(make_project: Make) -> None:
    project = make_project(min_queue_depth="5", max_queue_depth="1")
    project.thesis("RMSNorm")
    said = project("lead/l", "generate --title Dropout --body b", code=5).err
    assert "change max_queue_depth" in said
    assert "min_queue_depth" not in said
