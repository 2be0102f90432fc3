"""What the lead does: the queue, the policy check, decisions that were interrupted, results.tsv, repairs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Make = Callable[..., Any]
Git = Callable[..., str]


def passed(project: Any, metric: float = 1.5) -> tuple[int, int]:
    """A thesis whose candidate passed the policy check."""
    number = project.thesis("RMSNorm")
    pull, _ = project.candidate("alice/n1", number, {"train.py": "x = 2\n"}, metric)
    project("lead/l", f"policy-check {pull}")
    return number, pull


def test_only_what_the_queue_lacks_is_generated(make_project: Make) -> None:
    project = make_project(min_queue_depth="2")
    project.thesis("RMSNorm instead of LayerNorm")
    again = project("lead/l", "generate --body b --title", "rmsnorm, instead of: LAYERNORM!", code=5)
    assert "same words" in again.err
    project.thesis("Dropout")
    full = project("lead/l", "generate --title More --body b", code=5)
    assert "the queue holds 2 theses already" in full.err
    # A closed thesis was proposed, too.
    project.place.open("lead").close_issue(2)
    assert "(closed)" in project("lead/l", "generate --title dropout --body b", code=5).err


def test_a_maximum_below_the_minimum_is_the_limit(make_project: Make) -> None:
    project = make_project(min_queue_depth="5", max_queue_depth="1")
    project.thesis("RMSNorm")
    assert "max_queue_depth = 1" in project("lead/l", "generate --title Dropout --body b", code=5).err


def test_a_pull_request_into_another_branch_is_not_checked(project: Any, git: Git) -> None:
    number = project.thesis("RMSNorm")
    work = project.place.work
    git(work, "push", "-q", "origin", "main:refs/heads/release")
    project.place.push(f"thesis/{number}-rmsnorm-attempt-1", {"train.py": "x = 2\n"})
    lead = project.place.open("lead")
    pull = lead.create_pr("t", "b", head=f"thesis/{number}-rmsnorm-attempt-1", base="release").number
    assert "into release" in project("lead/l", f"policy-check {pull}", code=5).err


def test_a_strangers_pull_request_does_not_stop_the_lead(project: Any) -> None:
    number = project.thesis("RMSNorm")
    project.place.push(f"thesis/{number}-evil", {"PROGRAM.md": "auto_approve: false\n"})
    pull = project.place.open("eve").create_pr("t", "b", head=f"thesis/{number}-evil", base="main").number
    assert "nobody who claimed" in project("lead/l", f"policy-check {pull}", code=5).err
    assert project("lead/l", "duties --json").json["blocking"] == []
    project.thesis("Dropout")
    project("alice/n1", f"claim {number}")
    assert project.phase(number) == "claimed"


def test_a_commit_that_nobody_measured_is_not_merged(project: Any, git: Git) -> None:
    number = project.thesis("RMSNorm")
    pull, tree = project.candidate("alice/n1", number, {"train.py": "x = 2\n"})
    project.push_main({"other.txt": "moved on\n"})
    git(tree, "fetch", "-q", "origin")
    git(tree, "merge", "-q", "--no-edit", "origin/main")
    git(tree, "push", "-q", "origin", "HEAD")
    measured = git(tree, "rev-parse", "HEAD")
    # A merge may hide work of its own: this one changes a file in which nothing was in conflict.
    (tree / "train.py").write_text("x = 4\n")
    git(tree, "commit", "-q", "-a", "--amend", "--no-edit")
    git(tree, "push", "-q", "-f", "origin", "HEAD")
    project("lead/l", f"policy-check {pull}")
    assert "not the one that its attempt measured" in project("lead/l", f"decide {pull}", code=5).err
    assert project("lead/l", "duties --json").json["blocking"] == []
    git(tree, "reset", "-q", "--hard", measured)
    git(tree, "push", "-q", "-f", "origin", "HEAD")
    project("lead/l", f"policy-check {pull}")
    assert project("lead/l", f"decide {pull} --json").json["outcome"] == "accepted"
    assert project.sync() == ["accepted"]


def test_theses_that_wait_for_the_maintainer_fill_the_queue(make_project: Make) -> None:
    project = make_project(min_queue_depth="1", auto_approve="false")
    number = project.thesis("RMSNorm")
    assert project.place.open("lead").issue(number).assignees == ("boss",)
    project("lead/l", "generate --title Dropout --body b", code=5)
    project.place.open("boss").comment(number, "/reject no")
    project("lead/l", "generate --title Dropout --body b")


def test_a_thesis_that_was_never_approved_is_taken_up(project: Any) -> None:
    made = project.place.open("lead").create_issue("RMSNorm", "b", labels=["thesis"])
    assert project.thesis("RMSNorm") == made.number
    assert project.phase(made.number) == "approved"


@pytest.mark.parametrize(
    ("change", "path", "passes"),
    [
        ("write src/new.py", "", True),
        ("write src/fixed/data.py", "src/fixed/data.py", False),
        ("move gone.py src/gone.py", "gone.py", False),
        ("link src/link.py", "src/link.py", False),
        ("module src/module", "src/module", False),
        ("mode train.py", "", True),
        ("mode README.md", "README.md", False),
        ("many", "docs/120.md", False),
        ("write results.tsv", "results.tsv", False),
    ],
)
def test_what_a_candidate_may_change(project: Any, git: Git, change: str, path: str, passes: bool) -> None:
    number = project.thesis("RMSNorm")
    project("alice/n1", f"claim {number}")
    (tree,) = project.clone("alice/n1").glob(".worktrees/*")
    git(tree, "checkout", "-q", "-b", f"thesis/{number}-rmsnorm-attempt-1")
    edit(tree, git, *change.split())
    git(tree, "commit", "-q", "-m", "try")
    project("alice/n1", f"attempt {number} --metric 2 --baseline 1 --observation improved --summary s", cwd=tree)
    submitted = project("alice/n1", f"submit {number} --json", cwd=tree)
    assert ("warning" in submitted.err) is not passes
    pull = submitted.json["pr_number"]
    found = project("lead/l", f"policy-check {pull} --json").json
    assert found["passed"] is passes
    assert (path in found["violating_files"]) is not passes
    assert project.phase(number) == ("in_review" if passes else "resolved:policy_rejection")


def edit(tree: Path, git: Git, kind: str, *names: str) -> None:
    """Make one kind of change and stage it."""
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
    if kind == "write":
        (tree / names[0]).write_text("x\n")
    elif kind == "move":
        git(tree, "mv", *names)
    elif kind == "link":
        (tree / names[0]).symlink_to("/etc/passwd")
    elif kind == "mode":
        (tree / names[0]).chmod(0o755)
    elif kind == "many":
        for one in range(121):
            (tree / "src" / f"{one}.py").parent.mkdir(exist_ok=True)
            (tree / "src" / f"{one}.py").write_text("x\n")
        (tree / "docs").mkdir()
        (tree / "docs" / "120.md").write_text("x\n")
    if kind == "module":
        (tree / names[0]).mkdir()
        git(tree, "update-index", "--add", "--cacheinfo", f"160000,{git(tree, 'rev-parse', 'HEAD')},{names[0]}")
    else:
        git(tree, "add", "-A")


def test_a_decision_that_stopped_after_the_merge_is_made_good(project: Any) -> None:
    number, pull = passed(project)
    lead = project.place.open("lead")
    lead.merge_pr(pull, expected_sha=lead.pull(pull).head_sha)
    assert "[decide]" in project("lead/l", "duties", code=3).out
    project("lead/l", f"decide {pull}")
    assert project.phase(number) == "resolved:accepted"
    assert project.sync() == ["accepted"]
    assert "has a decision" in project("lead/l", f"decide {pull}", code=5).err


def test_a_decision_that_stopped_before_closing_is_finished(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from herdr_polyresearch.forge.base import UnreachableError
    from herdr_polyresearch.forge.local import LocalForge

    number, pull = passed(project, metric=1.001)

    def gone(self: Any, number: int) -> None:
        raise UnreachableError("gone", fix="wait")

    with monkeypatch.context() as patch:
        patch.setattr(LocalForge, "close_pr", gone)
        project("lead/l", f"decide {pull}", code=1)
    assert "[decide]" in project("lead/l", "duties", code=3).out
    found = project("lead/l", f"decide {pull} --json").json
    assert found["outcome"] == "non_improvement"
    assert project.place.open("lead").pull(pull).state == "closed"
    assert len(project.place.open("lead").comments(number)) == 4


def test_the_lead_does_not_work_on_theses(project: Any) -> None:
    number, pull = passed(project)
    for line in (f"claim {number}", f"review-claim {pull}", f"submit {number}", "batch-claim"):
        assert "the lead does not" in project("lead/l", line, code=5).err
    # Another node of the same account is a contributor, and the lead's duties do not keep it from work.
    project("lead/l", f"decide {pull}")
    project("lead/l", "sync")
    other = project.thesis("Dropout")
    project("lead/worker", f"claim {other}")
    project("lead/l", "init --role contributor --node l")
    assert project("lead/l", "init --json").json["role"] == "contributor"


def test_only_results_change_and_wherever_the_lead_is(project: Any, git: Git) -> None:
    _, pull = passed(project)
    project("lead/l", f"decide {pull}")
    clone = project.clone("lead/l")
    git(clone, "checkout", "-q", "-b", "elsewhere")
    (clone / "staged.py").write_text("x\n")
    git(clone, "add", "staged.py")
    assert project.sync() == ["accepted"]
    assert git(clone, "show", "--stat", "--format=%s", "main").split("\n")[0].startswith("Update results.tsv")
    assert git(clone, "show", "--name-only", "--format=", "main") == "results.tsv"
    assert git(clone, "rev-parse", "main") == git(clone, "rev-parse", "origin/main")
    assert git(clone, "status", "--porcelain") == "A  staged.py"
    assert "already current" in project("lead/l", "sync").out


def test_a_remote_that_moves_meanwhile_is_followed(project: Any, git: Git, tmp_path: Path) -> None:
    _, pull = passed(project)
    project("lead/l", f"decide {pull}")
    clone, other = project.clone("lead/l"), project.clone("bob/n1")
    hook = clone / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    script = (
        f"cd {other} && unset GIT_DIR && git pull -q && git commit -q --allow-empty -m between && git push -q"
    )
    hook.write_text(f"#!/bin/sh\nrm {hook}\n{script}\n")
    hook.chmod(0o755)
    assert project.sync() == ["accepted"]
    assert not hook.exists()
    subjects = git(clone, "log", "--first-parent", "--format=%s", "origin/main").splitlines()
    assert subjects[:2] == ["Update results.tsv via polyresearch sync.", "between"]
    assert git(clone, "rev-parse", "HEAD") == git(clone, "rev-parse", "origin/main")


def test_what_is_in_the_way_of_results_is_named(project: Any, git: Git) -> None:
    _, pull = passed(project)
    project("lead/l", f"decide {pull}")
    clone = project.clone("lead/l")
    (clone / "results.tsv").write_text("mine\n")
    assert "nobody committed" in project("lead/l", "sync", code=5).err
    (clone / "results.tsv").unlink()
    (clone / "README.md").write_text("mine\n")
    git(clone, "pull", "-q", "--ff-only")
    git(clone, "commit", "-q", "-am", "mine")
    assert "README.md" in project("lead/l", "sync", code=5).err
    git(clone, "push", "-q", "origin", "main")
    assert project.sync() == ["accepted"]


def test_a_row_with_tabs_is_mended(project: Any) -> None:
    rows = "thesis\tattempt\tmetric\tbaseline\tstatus\tsummary\n#9\tthesis/9-x\t1\t1\tdiscarded\twith\ttab\n"
    project.push_main({"results.tsv": rows})
    project("lead/l", "sync")
    assert project.rows() == [["#9", "thesis/9-x", "1", "1", "discarded", "with tab"]]


def test_the_default_branch_has_any_name(make_project: Make, git: Git) -> None:
    project = make_project()
    from herdr_polyresearch.forge.local_forges import create_local

    home = project.place.home
    forge = create_local("trunks", home=home, owner="lead", default_branch="trunk")
    work = project.place.work
    git(work, "push", "-q", forge.clone_url(), "main:refs/heads/trunk")
    git(work, "remote", "set-url", "origin", forge.clone_url())
    forge.close()
    number, pull = passed(project)
    project("lead/l", f"decide {pull}")
    project("lead/l", "sync")
    project.clean()
    assert project.phase(number) == "resolved:accepted"
    clone = project.clone("lead/l")
    assert git(clone, "symbolic-ref", "--short", "HEAD") == "trunk"
    assert "results.tsv" in git(clone, "ls-tree", "--name-only", "origin/trunk")


def test_repairs(project: Any) -> None:
    number = project.thesis("RMSNorm")
    project("alice/n1", f"claim {number}")
    lead = project.place.open("lead")
    # A collaborator's comment that does not count keeps the lead from going on, until it is acknowledged.
    raw = f"x\n\n<!-- polyresearch:release\nthesis: {number}\nnode: bob/n1\nreason: timeout\n-->"
    posted = project.place.open("bob").comment(number, raw)
    blocked = project("lead/l", "generate --title Dropout --body b", code=5)
    assert f"acknowledge-invalid {posted.id}" in blocked.err
    project("lead/l", f"admin acknowledge-invalid {posted.id} --note", "a slip.")
    project.clean()
    # A stranger's is shown, and keeps nobody from anything.
    project.place.open("carol").comment(number, "/approve")
    audit = project("lead/l", "audit")
    assert "does not block the lead" in audit.out
    project("lead/l", "generate --title Dropout --body b")

    project("lead/l", f"admin release-claim {number} --node alice/n1 --reason infra_failure")
    assert project.phase(number) == "approved"
    lead.close_issue(number)
    project("lead/l", f"admin reopen-thesis {number}")
    assert project("lead/l", "status --json").json["theses"][0]["issue"]["state"] == "OPEN"


def test_an_attempt_is_taken_back(project: Any) -> None:
    number = project.thesis("RMSNorm")
    project("alice/n1", f"claim {number}")
    tree = project.work("alice/n1", number, {"train.py": "x = 2\n"})
    line = f"attempt {number} --metric 9 --baseline 1 --observation improved --summary leak"
    project("alice/n1", line, cwd=tree)
    comment = project.place.open("lead").comments(number)[-1].id
    assert "--withdraw" in project("lead/l", f"admin acknowledge-invalid {comment} --note leak", code=5).err
    project("lead/l", f"admin acknowledge-invalid {comment} --note leak --withdraw")
    assert project("lead/l", "status --json").json["theses"][0]["attempts"] == []


def test_edits_and_deletions_show(project: Any) -> None:
    number = project.thesis("RMSNorm")
    project("alice/n1", f"claim {number}")
    lead = project.place.open("lead")
    approval, claim = lead.comments(number)
    project.place.open("alice").edit_comment(claim.id, claim.body.replace("alice/n1", "alice/n2"))
    lead.delete_comment(approval.id)
    said = project("bob/n1", "audit").out
    assert f"[edited] comment {claim.id}" in said
    assert f"[deleted] comment {approval.id}" in said


def test_empty_folders_are_pruned(project: Any, git: Git) -> None:
    clone = project.clone("lead/l")
    for name in ("empty", "full"):
        (clone / ".worktrees" / name).mkdir(parents=True)
    (clone / ".worktrees/full/notes").write_text("x")
    found = project("lead/l", "prune --dry-run --json").json
    assert [Path(path).name for path in found["removed_directories"]] == ["empty"]
    assert (clone / ".worktrees/empty").exists()
    project("lead/l", "prune")
    assert [path.name for path in (clone / ".worktrees").iterdir()] == ["full"]
