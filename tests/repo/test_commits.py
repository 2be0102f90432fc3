from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.checks import head_commit, is_dirty
from herdr.repo.commits import commit_leftovers, interrupted, new_commits, read_commit
from herdr.repo.furnish import furnish, make_agent_folder
from herdr.repo.git import GitError
from herdr.repo.worktrees import Worktree

Git = Callable[..., str]
Commit = Callable[..., str]
Start = Callable[[int], Worktree]

SKIP = ("Piloop-Eval", "skip")


@pytest.mark.parametrize(
    ("message", "trailers", "note", "skip"),
    [
        ("subject only", (), None, False),
        ("subject\n\nPiloop-Eval: skip", (SKIP,), None, True),
        ("subject\n\nbody\n\npiloop-eval:SKIP  ", (("piloop-eval", "SKIP"),), None, True),
        ("subject\n\nPILOOP-NOTE: why", (("PILOOP-NOTE", "why"),), "why", False),
        (
            "s\n\nPiloop-Note: one\nPiloop-Note: two",
            (("Piloop-Note", "one"), ("Piloop-Note", "two")),
            "one; two",
            False,
        ),
        ("s\n\nPiloop-Note: long\n  and folded", (("Piloop-Note", "long and folded"),), "long and folded", False),
        ("s\n\nPiloop-Note: ü → x", (("Piloop-Note", "ü → x"),), "ü → x", False),
        ("s\n\nPiloop-Note: a: b", (("Piloop-Note", "a: b"),), "a: b", False),
        ("s\n\nPiloop-Note: x\n\nlast paragraph", (), None, False),
        ("Piloop-Eval: skip", (), None, False),
        ("s\n\nI thought about Piloop-Eval: skip but no", (), None, False),
        ("s\n\nPiloop-Eval: skipped", (("Piloop-Eval", "skipped"),), None, False),
        ("s\n\nPiloop-Eval: skip\nSigned-off-by: A <a@b>", (SKIP, ("Signed-off-by", "A <a@b>")), None, True),
        ("s\n\nPiloop-Eval : skip", (("Piloop-Eval", "skip"),), None, True),
        ("s\n\n---\n\nPiloop-Eval: skip", (SKIP,), None, True),
        ("s\n\nPiloop-Note:", (("Piloop-Note", ""),), None, False),
    ],
)
def test_trailers(
    repo: Path, commit: Commit, message: str, trailers: object, note: str | None, skip: bool
) -> None:
    found = read_commit(repo, commit(repo, {"a": "1"}, message))
    assert found.trailers == trailers
    assert found.note == note
    assert found.skip is skip


def test_new_commits_are_oldest_first_through_all_parents(repo: Path, git: Git, commit: Commit) -> None:
    base = head_commit(repo)
    one = commit(repo, {"a": "1"}, "one\n\nwith a\nbody")
    git(repo, "switch", "-q", "-c", "side", base)
    side = commit(repo, {"b": "1"}, "side")
    git(repo, "switch", "-q", "main")
    git(repo, "merge", "-q", "-m", "join", "side")
    found = new_commits(repo, base, "HEAD")
    assert {c.sha for c in found[:2]} == {one, side}
    assert found[2].subject == "join"
    assert set(found[2].parents) == {one, side}
    first = next(c for c in found if c.sha == one)
    assert (first.subject, first.body, first.parents) == ("one", "with a\nbody", (base,))
    assert first.tree == git(repo, "rev-parse", f"{one}^{{tree}}")
    assert str(first.time) == git(repo, "log", "-1", "--format=%at", one)
    assert new_commits(repo, base, base) == []
    with pytest.raises(GitError):
        new_commits(repo, base, "nowhere")


def test_messages_in_other_encodings_are_read(repo: Path, git: Git) -> None:
    git(repo, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--allow-empty", "-q", "-F", _latin1(repo))
    git(repo, "config", "i18n.logOutputEncoding", "ISO-8859-1")
    assert read_commit(repo, "HEAD").subject == "über"


def _latin1(repo: Path) -> str:
    (repo / ".git" / "message").write_bytes("über".encode("latin-1"))
    return str(repo / ".git" / "message")


def test_leftovers_hold_all_work_in_a_commit_of_their_own(
    repo: Path, start: Start, git: Git, commit: Commit
) -> None:
    worktree = start(1).path
    (worktree / ".gitignore").write_text("*.log\n")
    before = commit(worktree, {"kept.txt": "k"}, "mine")
    (worktree / "solve.py").write_text("print(2)\n")
    (worktree / "solve.py").chmod(0o755)
    (worktree / "lib" / "data.txt").unlink()
    (worktree / "noise.log").write_text("x")
    for name in ("new\nline.txt", "ü.txt", "-x", ":(top)", "deep/er/a b"):
        (worktree / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree / name).write_text(name)
    (worktree / "kept.txt").rename(worktree / "moved.txt")
    found = commit_leftovers(worktree, "uncommitted work")
    assert found.commit is not None
    assert found.problems == ()
    assert found.commit.parents == (before,)
    assert found.commit.subject == "uncommitted work"
    assert git(repo, "rev-parse", "piloop/p/run-1") == found.commit.sha == head_commit(worktree)
    names = git(repo, "ls-tree", "-r", "-z", "--name-only", found.commit.sha).split("\0")
    assert sorted(filter(None, names)) == sorted(
        [
            ".gitignore",
            "evaluate.py",
            "solve.py",
            "moved.txt",
            "new\nline.txt",
            "ü.txt",
            "-x",
            ":(top)",
            "deep/er/a b",
        ]
    )
    assert git(repo, "ls-tree", found.commit.sha, "solve.py").startswith("100755")
    assert not is_dirty(worktree)
    assert commit_leftovers(worktree, "again").commit is None


def test_leftovers_use_the_repos_identity_or_ours(repo: Path, start: Start, git: Git) -> None:
    # The test's own GIT_AUTHOR_NAME is in the environment and must not reach it.
    worktree = start(1).path
    (worktree / "a").write_text("1")
    commit_leftovers(worktree, "first")
    assert git(worktree, "log", "-1", "--format=%an <%ae> %cn <%ce>") == " ".join(["herdr <herdr@localhost>"] * 2)
    git(repo, "config", "user.name", "Ada")
    git(repo, "config", "user.email", "ada@example.com")
    (worktree / "a").write_text("2")
    commit_leftovers(worktree, "second")
    assert git(worktree, "log", "-1", "--format=%an <%ae> %cn <%ce>") == " ".join(["Ada <ada@example.com>"] * 2)


def test_leftovers_need_no_hook_signature_or_editor(repo: Path, start: Start, git: Git) -> None:
    for hook in ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "reference-transaction"):
        (repo / ".git" / "hooks" / hook).write_text("#!/bin/sh\nexit 1\n")
        (repo / ".git" / "hooks" / hook).chmod(0o755)
    worktree = start(1).path
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "gpg.program", "false")
    (worktree / "a").write_text("1")
    assert commit_leftovers(worktree, "m").commit is not None


def test_leftovers_leave_out_what_is_not_the_agents(repo: Path, start: Start, git: Git, tmp_path: Path) -> None:
    (repo / "data").mkdir()
    (repo / "data" / "big").write_text("x")
    worktree = start(1).path
    furnish(worktree, root=repo, link=["data"], workspace=tmp_path / "ws")
    make_agent_folder(worktree)
    (worktree / ".herdr" / "brief.md").write_text("b")
    assert commit_leftovers(worktree, "m", exclude=["data"]).commit is None
    git(worktree, "add", "-f", "data", "workspace", ".herdr")
    (worktree / "work").write_text("w")
    found = commit_leftovers(worktree, "m", exclude=["data"])
    assert found.commit is not None
    assert git(repo, "diff-tree", "-r", "--name-only", found.commit.sha, "HEAD") == "work"


def test_leftovers_of_an_interrupted_merge(repo: Path, start: Start, git: Git, commit: Commit) -> None:
    worktree = start(1).path
    mine = commit(worktree, {"solve.py": "mine\n"})
    git(repo, "branch", "other")
    git(repo, "switch", "-q", "other")
    commit(repo, {"solve.py": "theirs\n"})
    assert (
        subprocess.run(["git", "merge", "other"], cwd=worktree, capture_output=True, check=False).returncode == 1
    )
    assert interrupted(worktree) == "merge"
    found = commit_leftovers(worktree, "m")
    assert found.interrupted == "merge"
    assert found.commit is not None
    assert found.commit.parents == (mine,)
    assert "<<<<<<<" in git(repo, "show", f"{found.commit.sha}:solve.py")


def test_leftovers_of_an_interrupted_rebase(repo: Path, start: Start, git: Git, commit: Commit) -> None:
    worktree = start(1).path
    mine = commit(worktree, {"solve.py": "mine\n"})
    theirs = commit(repo, {"solve.py": "theirs\n"})
    assert (
        subprocess.run(["git", "rebase", "main"], cwd=worktree, capture_output=True, check=False).returncode == 1
    )
    found = commit_leftovers(worktree, "m")
    assert found.interrupted == "rebase"
    assert found.commit is not None
    assert found.commit.parents == (theirs,)
    assert git(repo, "rev-parse", "piloop/p/run-1") == mine


def test_leftovers_after_a_killed_git(repo: Path, start: Start, git: Git) -> None:
    worktree = start(1).path
    (worktree / git(worktree, "rev-parse", "--git-path", "index.lock")).write_text("")
    (worktree / "a").write_text("1")
    assert commit_leftovers(worktree, "m").commit is not None


@pytest.mark.parametrize("where", ["detached", "own branch", "the user's branch"])
def test_leftovers_of_a_worker_that_went_elsewhere(
    repo: Path, start: Start, git: Git, commit: Commit, where: str
) -> None:
    git(repo, "branch", "users")
    made = start(1)
    if where == "detached":
        git(made.path, "switch", "-q", "--detach")
    elif where == "own branch":
        git(made.path, "switch", "-q", "-c", "mine")
    else:
        git(made.path, "switch", "-q", "users")
    one = commit(made.path, {"a": "1"}) if where != "the user's branch" else made.commit
    (made.path / "b").write_text("2")
    found = commit_leftovers(made.path, "m")
    assert found.commit is not None
    assert found.commit.parents == (one,)
    assert git(repo, "rev-parse", "users") == made.commit
    tip = head_commit(made.path)
    assert tip == found.commit.sha
    assert new_commits(repo, made.commit, tip)[-1] == found.commit


def test_leftovers_with_repos_inside_the_repo(repo: Path, start: Start, git: Git) -> None:
    worktree = start(1).path
    git(worktree, "init", "-q", "without-commits")
    git(worktree, "clone", "-q", str(repo), "cloned")
    (worktree / "work").write_text("w")
    found = commit_leftovers(worktree, "m")
    assert found.commit is not None
    assert git(repo, "diff-tree", "-r", "--name-only", found.commit.sha, "HEAD") == "work"
    assert len(found.problems) == 2


def test_leftovers_on_an_orphan_branch(repo: Path, start: Start, git: Git) -> None:
    worktree = start(1).path
    git(worktree, "switch", "-q", "--orphan", "fresh")
    (worktree / "a").write_text("1")
    found = commit_leftovers(worktree, "m")
    assert found.commit is not None
    assert found.commit.parents == ()
    assert head_commit(worktree) == found.commit.sha
