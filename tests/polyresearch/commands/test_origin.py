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


HEADER = "thesis\tattempt\tmetric\tbaseline\tstatus\tsummary\n"


def test_a_broken_results_file_is_told_and_mended_from_the_comments(project: Any) -> None:
    pull = submitted(project)
    project("lead/l", f"policy-check {pull}")
    project("lead/l", f"decide {pull}")
    project("lead/l", "sync")
    (good,) = project.rows()
    branch = good[1]
    for bad in (
        f"#1\t{branch}",
        f"#1\t{branch}\tx\t1\taccepted\ts",
        f"#1\t{branch}\t1\t1\tsuperb\ts",
    ):
        project.push_main({"results.tsv": f"{HEADER}{bad}\n"})
        found = project("lead/l", "audit --json").json
        assert not found["clean"]
        assert any("no row" in one["message"] for one in found["findings"])
        assert "results.tsv current: no" in project("lead/l", "status").out
        assert "reconcile-ledger" in project("lead/l", "sync", code=5).err
        assert "no rows" in project("lead/l", "duties", code=3).out
        project("lead/l", "admin reconcile-ledger")
        project.clean()
        assert project.rows() == [good]
    # What the comments do not know is a person's to correct.
    text = f"{HEADER}#7\twhat is this\n"
    project.push_main({"results.tsv": text})
    assert "what is this" in project("lead/l", "admin reconcile-ledger", code=5).err
    assert project.rows() == [["#7", "what is this"]]


def test_a_candidate_that_changes_nothing_is_none(project: Any, git: Git) -> None:
    number = project.thesis("RMSNorm")
    project("alice/n1", f"claim {number}")
    (tree,) = project.clone("alice/n1").glob(".worktrees/*")
    branch = f"thesis/{number}-rmsnorm-attempt-1"
    git(tree, "checkout", "-q", "-b", branch)
    git(tree, "commit", "-q", "--allow-empty", "-m", "nothing")
    line = f"attempt {number} --metric 1.5 --baseline 1.0 --observation improved --summary s"
    project("alice/n1", line, cwd=tree)
    assert "changes no file" in project("alice/n1", f"submit {number}", cwd=tree, code=5).err
    # Whoever opens the pull request by hand gets no further.
    git(tree, "push", "-q", "origin", branch)
    pull = project.place.open("alice").create_pr("t", "b", head=branch, base="main").number
    assert "changes no file" in project("lead/l", f"policy-check {pull}").out
    assert project.phase(number) == "resolved:policy_rejection"
    assert "decision on its candidate" in project("lead/l", "sync").out
