"""The whole life of a project by commands alone, on the local forge and on two GitHubs that nobody here wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)
Make = Callable[..., Any]
Git = Callable[..., str]
KINDS = pytest.mark.parametrize("kind", ["local", "emulate", "myworld"])


def race(project: Any, number: int) -> str:
    """Have eight nodes claim a thesis at the same moment; gives the winner."""
    nodes = [f"alice/n{one}" for one in range(8)]
    for node in nodes:
        project.clone(node)
    started = [(node, project.start(node, f"claim {number}")) for node in nodes]
    ended = [(node, process, *process.communicate(timeout=120)) for node, process in started]
    winners = [node for node, process, _, _ in ended if process.returncode == 0]
    assert len(winners) == 1, [(node, process.returncode, err) for node, process, _, err in ended]
    for node, process, out, err in ended:
        trees = list(project.clone(node).glob(".worktrees/*"))
        if node == winners[0]:
            assert "Claimed thesis" in out
            assert len(trees) == 1
        else:
            assert process.returncode == 4, err
            assert winners[0] in err
            assert trees == []
    return str(winners[0])


@KINDS
def test_eight_nodes_claim_one_thesis(kind: str, make_project: Make) -> None:
    project = make_project(kind)
    number = project.thesis("RMSNorm")
    winner = race(project, number)
    assert project.phase(number) == "claimed"
    # Those who came second are nobody's mistake: the lead's sync says so.
    assert project.sync() == []
    assert project("lead/l", "status --json").json["active_nodes"] == [winner]


@KINDS
def test_reviews_decide(kind: str, make_project: Make, git: Git) -> None:
    project = make_project(kind, required_confirmations="2", min_queue_depth="20")
    project("lead/l", "init --node l --role lead")
    project.clean()

    accepted = project.thesis("RMSNorm")
    project("alice/n1", f"claim {accepted}")
    tree = project.work("alice/n1", accepted, {"train.py": "x = 0\n"})
    project("alice/n1", f"attempt {accepted} --baseline 1.0 --observation crashed --summary oom", cwd=tree)
    tree = project.work("alice/n1", accepted, {"train.py": "x = 2\n"}, attempt=2)
    numbers = "--metric 1.5 --baseline 1.0 --observation improved --summary"
    project("alice/n1", f"attempt {accepted} {numbers}", "two", cwd=tree)
    pull = project("alice/n1", f"submit {accepted} --json", cwd=tree).json["pr_number"]
    assert project.sync() == ["crashed"]
    project("bob/r1", f"review-claim {pull}", code=5)
    project("lead/l", f"policy-check {pull}")
    project("lead/l", f"decide {pull}", code=5)
    project("alice/n2", f"review-claim {pull}", code=5)
    assert "review" in project("bob/r1", "duties").out
    project.review("bob/r1", pull, 1.502)
    project.review("carol/r2", pull, 1.504)
    project.clean()
    assert project("lead/l", f"decide {pull} --json").json["outcome"] == "accepted"
    # What was accepted has the reviewers' number.
    assert project.sync() == ["accepted"]
    assert project.rows()[-1][2] == "1.5030"
    assert project.phase(accepted) == "resolved:accepted"
    assert project.place.read("main")["train.py"].strip() == "x = 2"

    rejected = project.thesis("Peek at the answers")
    pull, _ = project.candidate("alice/n1", rejected, {"README.md": "changed\n"})
    found = project("lead/l", f"policy-check {pull} --json").json
    assert (found["passed"], found["violating_files"]) == (False, ["README.md"])
    assert project.sync() == ["policy_rejection"]

    disputed = project.thesis("Dropout")
    pull, _ = project.candidate("alice/n1", disputed, {"train.py": "x = 3\n"})
    project("lead/l", f"policy-check {pull}")
    project.review("bob/r1", pull, 1.5)
    project.review("carol/r2", pull, 1.1)
    assert project("lead/l", f"decide {pull} --json").json["outcome"] == "disagreement"
    assert project.sync() == ["disagreement"]

    failed = project.thesis("No gain")
    pull, _ = project.candidate("alice/n1", failed, {"train.py": "x = 4\n"})
    project("lead/l", f"policy-check {pull}")
    project.review("bob/r1", pull, 1.0, "no_improvement")
    project.review("carol/r2", pull, 1.0, "no_improvement")
    assert project("lead/l", f"decide {pull} --json").json["outcome"] == "non_improvement"
    assert project.sync() == ["non_improvement"]


@KINDS
def test_what_says_nothing_of_the_hypothesis_returns_it_to_the_queue(
    kind: str, make_project: Make, git: Git
) -> None:
    project = make_project(kind, required_confirmations="2", min_queue_depth="20")
    number = project.thesis("RMSNorm")
    pull, tree = project.candidate("alice/n1", number, {"train.py": "x = 2\n"})
    project("lead/l", f"policy-check {pull}")
    project.review("bob/r1", pull, 1.5)
    # A row of results.tsv does not change what was measured.
    other = project.thesis("Other")
    project("alice/n2", f"claim {other}")
    there = project.work("alice/n2", other, {"train.py": "x = 7\n"})
    project("alice/n2", f"attempt {other} --baseline 1.0 --observation crashed --summary oom", cwd=there)
    assert project.sync() == ["crashed"]
    project.review("carol/r2", pull, 1.5)
    assert project("lead/l", f"decide {pull} --json --dry-run").json["outcome"] == "accepted"
    # Anything else on main does.
    project.push_main({"other.py": "new\n"})
    assert project("lead/l", f"decide {pull} --json").json["outcome"] == "stale"
    assert project.sync() == ["stale"]
    assert project.phase(number) == "approved"
    git(project.clone("alice/n1"), "worktree", "remove", str(tree))
    git(project.clone("alice/n1"), "branch", "-m", "thesis/1-rmsnorm-attempt-1", "old")

    project("bob/n1", f"claim {number}")
    tree = project.work("bob/n1", number, {"train.py": "x = 5\n"}, attempt=2)
    numbers = "--metric 1.5 --baseline 1.0 --observation improved --summary again"
    project("bob/n1", f"attempt {number} {numbers}", cwd=tree)
    pull = project("bob/n1", f"submit {number} --json", cwd=tree).json["pr_number"]
    project("lead/l", f"policy-check {pull}")
    for node in ("alice/r1", "carol/r2"):
        project(node, f"review-claim {pull}")
        project(node, f"review {pull} --observation infra_failure")
    assert project("lead/l", f"decide {pull} --json").json["outcome"] == "infra_failure"
    assert project.sync() == ["infra_failure"]
    assert project.phase(number) == "approved"
    project("alice/n3", f"claim {number}")


@KINDS
def test_without_reviews_a_conflict_is_resolved_before_the_decision(
    kind: str, make_project: Make, git: Git
) -> None:
    project = make_project(kind)
    first, second = project.thesis("RMSNorm"), project.thesis("Dropout")
    one, _ = project.candidate("alice/n1", first, {"train.py": "x = 2\n"}, 1.5)
    other, tree = project.candidate("bob/n1", second, {"train.py": "x = 3\n"}, 1.7)
    for pull in (one, other):
        project("lead/l", f"policy-check {pull}")
    project("lead/l", f"decide {one}")
    assert project.sync() == ["accepted"]
    refused = project("lead/l", f"decide {other}", code=5)
    assert "nothing was decided" in refused.err
    assert project("lead/l", "status --json").json["theses"][1]["phase"] == "in_review"
    resolve(tree, git)
    # What was pushed since the pass needs a pass of its own.
    assert "policy check" in project("lead/l", f"decide {other}", code=5).err
    project("lead/l", f"policy-check {other}")
    assert project("lead/l", f"decide {other} --json").json["outcome"] == "accepted"
    assert project.sync() == ["accepted"]
    assert project.place.read("main")["train.py"].strip() == "x = 3"

    worse = project.thesis("Worse than the best")
    pull, _ = project.candidate("alice/n1", worse, {"train.py": "x = 9\n"}, 1.6)
    project("lead/l", f"policy-check {pull}")
    assert project("lead/l", f"decide {pull} --json").json["outcome"] == "non_improvement"
    assert project.sync() == ["non_improvement"]


def resolve(tree: Path, git: Git) -> None:
    """Merge main into the candidate's branch, keep its side, push."""
    git(tree, "fetch", "-q", "origin")
    git(tree, "merge", "-q", "-X", "ours", "--no-edit", "origin/main")
    git(tree, "push", "-q", "origin", "HEAD")


@KINDS
def test_a_person_has_the_last_word(kind: str, make_project: Make) -> None:
    project = make_project(kind, auto_approve="false")
    number = project.thesis("RMSNorm")
    project("alice/n1", f"claim {number}", code=5)
    assert f"thesis #{number} awaiting /approve" in project("lead/l", "status").out
    boss = project.place.open("boss")
    boss.comment(number, "/approve more of this")
    pull, _ = project.candidate("alice/n1", number, {"train.py": "x = 2\n"})
    project("lead/l", f"policy-check {pull}")
    assert "maintainer" in project("lead/l", f"decide {pull}", code=5).err
    if kind == "local":
        assert boss.pull(pull).assignees == ("boss",)
    boss.comment(pull, "/reject too slow")
    assert "rejected" in project("lead/l", f"decide {pull}", code=5).err
    # A stranger's word counts for nothing and stops nobody, where the forge says who is a stranger.
    project.place.open("carol").comment(pull, "/approve")
    boss.comment(pull, "/approve after all")
    assert project("lead/l", f"decide {pull} --json").json["outcome"] == "accepted"
    read = project("lead/l", "guidance").out
    assert "more of this" in read
    assert "too slow" in read
