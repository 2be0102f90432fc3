"""Claims: races in one clone, claims that expire, and where a thesis is worked on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Make = Callable[..., Any]
Git = Callable[..., str]


def wait_until_expired(project: Any) -> None:
    """Let the claim of #1 expire."""
    deadline = time.monotonic() + 20
    while project("bob/n1", "status --json").json["active_nodes"]:
        assert time.monotonic() < deadline


def test_eight_nodes_of_one_clone_claim_one_thesis(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    number = project.thesis("RMSNorm")
    shared = project.clone("alice/shared")
    monkeypatch.setattr(type(project), "clone", lambda self, who: shared)
    started = [project.start(f"alice/n{one}", f"claim {number}") for one in range(8)]
    ended = [(process, *process.communicate(timeout=60)) for process in started]
    assert sorted(process.returncode for process, _, _ in ended) == [0, *[4] * 7], ended
    assert [path.name for path in shared.glob(".worktrees/*")] == [f"{number}-rmsnorm"]


def test_a_claim_that_came_second_leaves_nothing_here(
    project: Any, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    from herdr_polyresearch.forge.local import LocalForge

    number = project.thesis("RMSNorm")
    post = LocalForge.comment
    faster = project.place.open("bob")

    def slow(self: Any, thread: int, body: str) -> Any:
        monkeypatch.setattr(LocalForge, "comment", post)
        faster.comment(thread, body.replace("alice/n1", "bob/n1"))
        return self.comment(thread, body)

    monkeypatch.setattr(LocalForge, "comment", slow)
    lost = project("alice/n1", f"claim {number}", code=4)
    assert "`bob/n1` was faster" in lost.err
    assert lost.out == ""
    clone = project.clone("alice/n1")
    assert not list(clone.glob(".worktrees/*"))
    assert git(clone, "branch", "--list", "thesis/*") == ""
    # Until the lead's sync the loser's comment is a finding, which does not count against anybody after it.
    assert not project("lead/l", "audit --json").json["clean"]
    project.sync()


def test_a_claim_that_could_not_be_posted_leaves_nothing(
    project: Any, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    from herdr_polyresearch.forge.base import UnreachableError
    from herdr_polyresearch.forge.local import LocalForge

    number = project.thesis("RMSNorm")

    def gone(self: Any, number: int, body: str) -> None:
        raise UnreachableError("gone", fix="wait")

    monkeypatch.setattr(LocalForge, "comment", gone)
    project("alice/n1", f"claim {number}", code=1)
    clone = project.clone("alice/n1")
    assert not list(clone.glob(".worktrees/*"))
    assert git(clone, "branch", "--list", "thesis/*") == ""


@pytest.mark.parametrize("landed", [True, False])
def test_a_claim_whose_answer_was_lost_is_looked_for(
    project: Any, monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    from herdr_polyresearch.forge.base import WriteUnknownError
    from herdr_polyresearch.forge.local import LocalForge

    number = project.thesis("RMSNorm")
    post = LocalForge.comment

    def lost(self: Any, number: int, body: str) -> None:
        if landed:
            post(self, number, body)
        raise WriteUnknownError("no answer", fix="look")

    monkeypatch.setattr(LocalForge, "comment", lost)
    project("alice/n1", f"claim {number}", code=0 if landed else 1)
    assert len(list(project.clone("alice/n1").glob(".worktrees/*"))) == landed
    assert project.phase(number) == ("claimed" if landed else "approved")


@pytest.mark.parametrize("whose", ["its own", "another's"])
def test_an_expired_claim_is_released_before_the_next(make_project: Make, whose: str) -> None:
    project = make_project(assignment_timeout="1s")
    number = project.thesis("RMSNorm")
    project("alice/n1", f"claim {number}")
    tree = project.work("alice/n1", number, {"train.py": "x = 2\n"})
    wait_until_expired(project)
    late = "--metric 1.5 --baseline 1.0 --observation improved --summary late"
    assert "expired" in project("alice/n1", f"attempt {number} {late}", cwd=tree, code=5).err
    if whose == "its own":
        # The node goes on in the worktree that it left.
        found = project("alice/n1", f"claim {number} --json").json
        assert Path(found["worktree_path"]) == tree
        assert found["branch"].endswith("-attempt-1")
    else:
        assert "has expired" in project("bob/n1", f"claim {number}", code=5).err
        project("lead/l", "sync")
        project("bob/n1", f"claim {number}")
    assert project("lead/l", "audit --json").json["clean"]
    assert project.existing().findings == []
    # The claim that counts is the new one, for readers of the existing tool too.
    holder = project("bob/n1", "status --json").json["theses"][0]["held_by"]
    assert holder == ("alice/n1" if whose == "its own" else "bob/n1")


def test_a_claim_can_use_the_checkout_itself(project: Any, git: Git) -> None:
    number = project.thesis("RMSNorm")
    clone = project.clone("alice/n1")
    (clone / "train.py").write_text("mine\n")
    assert "train.py" in project("alice/n1", f"claim {number} --no-worktree", code=5).err
    git(clone, "checkout", "-q", "train.py")
    found = project("alice/n1", f"claim {number} --no-worktree --json").json
    assert found["worktree_path"] is None
    assert git(clone, "symbolic-ref", "--short", "HEAD") == f"thesis/{number}-rmsnorm"
    git(clone, "checkout", "-q", "-b", f"thesis/{number}-rmsnorm-attempt-1")
    project("alice/n1", f"attempt {number} --baseline 1 --observation crashed --summary oom")


def test_a_worktree_of_somebody_else_is_left_alone(project: Any, git: Git) -> None:
    number = project.thesis("RMSNorm")
    clone = project.clone("alice/n1")
    project("alice/n1", f"claim {number}")
    tree = project.work("alice/n1", number, {"train.py": "x = 2\n"})
    said = project("alice/n1", f"release {number} --reason timeout").out
    assert f"git worktree remove {tree}" in said
    assert str(tree) in project("alice/n2", f"claim {number}", cwd=clone, code=5).err
    git(clone, "worktree", "remove", str(tree))
    project("alice/n2", f"claim {number}", cwd=clone)


def test_a_program_that_others_changed_is_told(project: Any, git: Git) -> None:
    clone = project.clone("alice/n1")
    assert "PROGRAM.md" not in project("alice/n1", "status").err
    project.program(metric_tolerance="0.02")
    assert "PROGRAM.md" in project("alice/n1", "status").err
    git(clone, "pull", "-q", "--ff-only")
    assert "PROGRAM.md" not in project("alice/n1", "status").err


def test_several_theses_are_claimed_at_once(project: Any) -> None:
    for title in ("One", "Two", "Three"):
        project.thesis(title)
    found = project("alice/n1", "batch-claim --count 2 --json").json
    assert [claim["issue"] for claim in found["claims"]] == [1, 2]
    assert "[claim]" in project("alice/n1", "batch-claim", code=3).err
    assert project("bob/n1", "batch-claim --count 5 --json").json["claimed_count"] == 1
    assert "No claimable theses" in project("carol/n1", "batch-claim").out


def test_a_released_thesis_is_exhausted_and_stays_open(project: Any) -> None:
    number = project.thesis("RMSNorm")
    project("alice/n1", f"claim {number}")
    tree = project.work("alice/n1", number, {"train.py": "x = 2\n"})
    runs = "--run 1.001 --run 0.999 --run 1.0 --baseline 1.0 --observation no_improvement --summary flat"
    project("alice/n1", f"attempt {number} {runs}", cwd=tree)
    project("alice/n1", f"annotate {number} --text", "flat whatever the width\n--> <!-- polyresearch:claim\n")
    project("alice/n1", f"release {number} --reason no_improvement")
    assert project.phase(number) == "exhausted"
    assert project("lead/l", "status --json").json["theses"][0]["issue"]["state"] == "OPEN"
    assert project.sync() == ["discarded"]
    assert "(3 runs, 0.9990 to 1.0010)" in project.rows()[0][5]
    assert "flat whatever the width" in project("lead/l", "guidance").out


def test_commands_work_in_a_worktree(project: Any) -> None:
    number = project.thesis("RMSNorm")
    project("alice/n1", "init --node n1 --capacity 50 --resource-policy", "Two at a time.")
    project("alice/n1", f"claim {number}")
    tree = project.work("alice/n1", number, {"train.py": "x = 2\n"})
    project.environ = lambda who: {  # the node file has to do
        "PILOOP_HOME": str(project.place.home),
        "POLYRESEARCH_LOGIN": "alice",
    }
    assert "Two at a time." in project("alice/n1", "pace", cwd=tree).out
    numbers = "--metric 1.5 --baseline 1.0 --observation improved --summary better"
    project("alice/n1", f"attempt {number} {numbers}", cwd=tree)
    project("alice/n1", f"submit {number}", cwd=tree / ".")
