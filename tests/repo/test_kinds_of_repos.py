"""What the person's repository is comes along: another hash, LFS, sparse, shallow and partial clones, filters."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.errors import RefusedError
from herdr.repo.checks import head_commit, refuse, too_old
from herdr.repo.isolated import Isolated, create
from herdr.repo.own import OwnRepository
from herdr.repo.run_folder import RunFolder

Git = Callable[..., str]
Commit = Callable[..., str]
Start = Callable[..., RunFolder]
OwnOf = Callable[[Path], OwnRepository]


def score(folder: RunFolder, commit: str) -> Path:
    """A commit, checked out as for scoring."""
    home = folder.own.path.parent
    place = Isolated(repository=home / "score.git", worktree=home / "score")
    assert create(place, folder.own, commit=commit, branch=None) == []
    return place.worktree


def whole_life(folder: RunFolder, commit: Commit, since: int, files: dict[str, str | None]) -> Path:
    """An agent commits, and leaves something; herdr takes both over, and checks the end out for scoring."""
    worktree = folder.place.worktree
    assert subprocess.run(["git", "status", "--porcelain"], cwd=worktree, capture_output=True).stdout == b""
    one = commit(worktree, files)
    (worktree / "left").write_text("l")
    assert folder.collect(since) == []
    left = folder.recover("worker#1")
    assert left.commit is not None
    assert left.problems == ()
    assert left.commit.parents == (one,)
    done = subprocess.run(["git", "diff-tree", "-r", "--name-only", one, left.commit.sha], cwd=folder.own.root,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == "left\n"
    assert [c.sha for c in folder.commits()] == [one, left.commit.sha]
    scored = score(folder, left.commit.sha)
    assert folder.removable() is None
    folder.remove()
    return scored


def test_sha256(tmp_path: Path, git: Git, commit: Commit, start: Start, since: int) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256", "sha256")
    root = tmp_path / "sha256"
    assert len(commit(root, {"a": "1"})) == 64
    assert (whole_life(start(1, root), commit, since, {"a": "2"}) / "a").read_text() == "2"
    assert git(root, "fsck", "--connectivity-only") == ""


def test_a_shallow_clone(repo: Path, tmp_path: Path, git: Git, commit: Commit, start: Start, since: int) -> None:
    commit(repo, {"solve.py": "print(2)\n"})
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "shallow")
    root = tmp_path / "shallow"
    folder = start(1, root)
    assert git(folder.place.worktree, "log", "--format=%s") == "change"
    assert (whole_life(folder, commit, since, {"a": "2"}) / "a").read_text() == "2"
    assert git(root, "fsck", "--connectivity-only") == ""


def test_a_clone_that_is_not_shallow_any_more(
    repo: Path, tmp_path: Path, git: Git, commit: Commit, start: Start, own_of: OwnOf
) -> None:
    from herdr.repo.own import refresh

    commit(repo, {"solve.py": "print(2)\n"})
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "shallow")
    root = tmp_path / "shallow"
    own = own_of(root)
    git(root, "fetch", "-q", "--unshallow")
    assert refresh(own) == ["how deep the clone is (shallow)"]
    assert git(start(1, root).place.worktree, "log", "--format=%s").splitlines() == ["change", "first"]


def test_a_partial_clone(repo: Path, tmp_path: Path, git: Git, commit: Commit, start: Start, since: int) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    old = head_commit(repo)
    commit(repo, {"solve.py": "print(2)\n"})
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{repo}", "partial")
    root = tmp_path / "partial"
    # A run that starts from what the clone has no files of.
    folder = start(1, root, base=old)
    assert (folder.place.worktree / "solve.py").read_text() == "print(1)\n"
    # What is missing is fetched, and nothing can be pushed by accident.
    assert git(folder.place.worktree, "diff", "--stat", "main", "--", "solve.py") != ""
    pushed = subprocess.run(["git", "push", "origin", "HEAD:refs/heads/x"], cwd=folder.place.worktree,
                            capture_output=True)  # fmt: skip
    assert pushed.returncode != 0
    assert (whole_life(folder, commit, since, {"a": "2"}) / "a").read_text() == "2"


def test_a_partial_clone_is_not_fetched_into_by_what_an_agent_names(
    repo: Path, tmp_path: Path, git: Git, commit: Commit, start: Start, since: int
) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{repo}", "partial")
    git(repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    folder = start(1, tmp_path / "partial")
    one = commit(folder.place.worktree, {"a": "2"})
    # An agent that names what only the remote has, has herdr ask for nothing.
    elsewhere = commit(repo, {"b": "1"})
    (folder.place.repository / "refs/heads/elsewhere").write_text(elsewhere)
    (problem,) = folder.collect(since)
    assert elsewhere[:12] in problem
    assert [c.sha for c in folder.commits()] == [one]


@pytest.mark.parametrize("cone", [True, False])
def test_a_sparse_checkout(repo: Path, git: Git, commit: Commit, start: Start, since: int, cone: bool) -> None:
    commit(repo, {"in/a": "1", "out/b": "1", "out/deep/c": "1"})
    git(repo, "sparse-checkout", "set", "--cone" if cone else "--no-cone", "in" if cone else "/in/")
    folder = start(1)
    worktree = folder.place.worktree
    assert (worktree / "in/a").exists()
    assert not (worktree / "out").exists()
    scored = whole_life(folder, commit, since, {"in/a": "2"})
    assert (scored / "in/a").read_text() == "2"
    assert not (scored / "out").exists()


def test_a_sparse_checkout_without_its_index(
    repo: Path, git: Git, commit: Commit, start: Start, since: int
) -> None:
    commit(repo, {"in/a": "1", "out/b": "1"})
    git(repo, "sparse-checkout", "set", "in")
    folder = start(1)
    (folder.place.admin / "index").unlink()
    (folder.place.worktree / "in/a").write_text("2")
    folder.collect(since)
    left = folder.recover("worker#1")
    assert left.commit is not None
    assert git(repo, "diff-tree", "-r", "--name-only", folder.base, left.commit.sha) == "in/a"


def test_the_persons_line_ends_and_filters(
    make_repo: Callable[..., Path], git: Git, commit: Commit, start: Start, since: int
) -> None:
    root = make_repo({"text": "a\nb\n", "shout": "quiet\n"}, name="other")
    # In the person's own settings, not in the repo's.
    git(root, "config", "--global", "core.autocrlf", "true")
    git(root, "config", "--global", "filter.up.smudge", "tr a-z A-Z")
    git(root, "config", "--global", "filter.up.clean", "tr A-Z a-z")
    attributes = Path(os.environ["HOME"]) / ".config/git/attributes"
    attributes.parent.mkdir(parents=True)
    attributes.write_text("shout filter=up\n*.raw -text\n")
    folder = start(1, root)
    worktree = folder.place.worktree
    assert (worktree / "text").read_bytes() == b"a\r\nb\r\n"
    assert (worktree / "shout").read_bytes() == b"QUIET\r\n"
    (worktree / "new").write_bytes(b"x\r\ny\r\n")
    (worktree / "b.raw").write_bytes(b"x\r\ny\r\n")
    (worktree / "shout").write_text("LOUDER\n")
    folder.collect(since)
    left = folder.recover("worker#1")
    assert left.commit is not None
    made = left.commit.sha

    def show(name: str) -> bytes:
        blob = ["git", "cat-file", "blob", f"{made}:{name}"]
        return subprocess.run(blob, cwd=root, capture_output=True, check=True).stdout

    assert (show("new"), show("shout"), show("b.raw")) == (b"x\ny\n", b"louder\n", b"x\r\ny\r\n")
    assert git(worktree, "status", "--porcelain") == ""


def test_the_repos_attributes_outrank_the_persons(make_repo: Callable[..., Path], git: Git, start: Start) -> None:
    root = make_repo({"text": "a\n", ".gitattributes": "text eol=lf\n"}, name="other")
    attributes = Path(os.environ["HOME"]) / ".config/git/attributes"
    attributes.parent.mkdir(parents=True)
    attributes.write_text("text eol=crlf\n")
    assert (start(1, root).place.worktree / "text").read_bytes() == b"a\n"


def test_the_persons_excludes(repo: Path, git: Git, start: Start, since: int) -> None:
    ignore = Path(os.environ["HOME"]) / ".config/git/ignore"
    ignore.parent.mkdir(parents=True)
    ignore.write_text("*.swp\n")
    (repo / ".git/info/exclude").write_text("notes\n")
    folder = start(1)
    for name in ("a.swp", "notes"):
        (folder.place.worktree / name).write_text("x")
    assert git(folder.place.worktree, "status", "--porcelain") == ""
    assert folder.removable() is None


def test_a_clone_that_borrows_itself(repo: Path, tmp_path: Path, git: Git, commit: Commit, start: Start,
                                     since: int) -> None:  # fmt: skip
    git(tmp_path, "clone", "-q", "-s", str(repo), "borrower")
    assert (whole_life(start(1, tmp_path / "borrower"), commit, since, {"a": "2"}) / "a").read_text() == "2"


def test_a_checkout_that_is_a_worktree_itself(
    repo: Path, git: Git, commit: Commit, start: Start, since: int
) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", ".worktrees/side")
    folder = start(1)
    whole_life(folder, commit, since, {"a": "2"})
    assert (repo / ".worktrees/side/solve.py").exists()


@pytest.fixture
def with_lfs(make_repo: Callable[..., Path], git: Git) -> Path:
    """A repo with a file of git-lfs, whose server is nowhere."""
    if shutil.which("git-lfs") is None:
        pytest.skip("git-lfs is not installed")
    git(Path("/"), "lfs", "install", "--skip-repo")
    root = make_repo(
        {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "model.bin": "weights\n"}, "other"
    )
    assert git(root, "show", "HEAD:model.bin").startswith("version https://git-lfs")
    return root


def test_lfs(with_lfs: Path, git: Git, commit: Commit, start: Start, since: int) -> None:
    folder = start(1, with_lfs)
    assert (folder.place.worktree / "model.bin").read_text() == "weights\n"
    scored = whole_life(folder, commit, since, {"model.bin": "better\n", "more.bin": "more\n"})
    assert (scored / "model.bin").read_text() == "better\n"
    # The person can check the candidate out, once the run's repository is gone.
    git(with_lfs, "checkout", "-q", "--detach", folder.commits()[-1].sha)
    assert (with_lfs / "more.bin").read_text() == "more\n"


def test_a_file_of_lfs_that_is_another_than_it_says(
    with_lfs: Path, git: Git, commit: Commit, start: Start, since: int
) -> None:
    folder = start(1, with_lfs)
    commit(folder.place.worktree, {"model.bin": "better\n"})
    (media,) = (folder.place.repository / "lfs/objects").glob("*/*/*")
    media.chmod(0o644)
    media.write_text("forged\n")
    (problem,) = folder.collect(since)
    assert "does not hash to its name" in problem


def test_what_herdr_cannot_work_in_is_refused_in_words(repo: Path, git: Git) -> None:
    refuse(repo)
    git(repo, "config", "lfs.storage", "/elsewhere")
    with pytest.raises(RefusedError, match=r"lfs\.storage") as caught:
        refuse(repo)
    assert "unset" in (caught.value.fix or "")


def test_a_line_break_in_the_path(make_repo: Callable[..., Path]) -> None:
    with pytest.raises(RefusedError, match="line break"):
        refuse(make_repo(name="new\nline"))


@pytest.mark.parametrize("name", ["a b", "#x", '"x', "ü", "x:y"])
def test_odd_paths(make_repo: Callable[..., Path], name: str, start: Start, commit: Commit, since: int) -> None:
    whole_life(start(1, make_repo(name=name)), commit, since, {"a": "2"})


@pytest.mark.parametrize(
    ("version", "old"),
    [("2.39.4", False), ("2.39.3", True), ("2.38.5", True), ("2.44.0", True), ("2.45.0", False), ("3.0", False)],
)
def test_a_git_that_cannot_be_told_to_fetch_nothing(
    version: str, old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "git"
    fake.write_text(f"#!/bin/sh\necho 'git version {version}'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert bool(too_old()) is old
