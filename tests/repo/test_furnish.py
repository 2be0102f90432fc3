from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.repo import furnish as furnishing
from herdr.repo.exclude import BEGIN, END
from herdr.repo.furnish import furnish, make_agent_folder
from herdr.repo.worktrees import Worktree

Git = Callable[..., str]
Commit = Callable[..., str]
Start = Callable[[int], Worktree]


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_links_and_workspace(repo: Path, start: Start, tmp_path: Path, git: Git) -> None:
    put(repo, {".gitignore": "big/\ndeep/er/set\n", "big/x": "1", "deep/er/set": "2"})
    git(repo, "add", ".gitignore")
    git(repo, "commit", "-q", "-m", "ignore")
    worktree = start(1).path
    for _ in range(2):
        warnings = furnish(worktree, root=repo, link=["big", "deep/er/set"], workspace=tmp_path / "home" / "ws")
        assert warnings == ()
    assert (worktree / "big").readlink() == repo / "big"
    assert (worktree / "deep/er/set").read_text() == "2"
    (worktree / "workspace" / "shared").write_text("s")
    assert (tmp_path / "home" / "ws" / "shared").read_text() == "s"
    make_agent_folder(worktree)
    make_agent_folder(worktree)
    assert (worktree / ".herdr" / "mailbox" / "requests").is_dir()
    assert (worktree / ".herdr" / "mailbox" / "answers").is_dir()
    assert git(worktree, "status", "--porcelain") == ""
    assert git(repo, "status", "--porcelain") == ""


def test_a_link_whose_source_is_missing(repo: Path, start: Start, tmp_path: Path) -> None:
    with pytest.raises(HerdrError, match=f"link path {repo}/nowhere does not exist"):
        furnish(start(1).path, root=repo, link=["nowhere"], workspace=tmp_path / "ws")


def test_a_link_over_a_tracked_path_is_refused(repo: Path, start: Start, tmp_path: Path) -> None:
    worktree = start(1).path
    with pytest.raises(RefusedError, match="already there"):
        furnish(worktree, root=repo, link=["lib"], workspace=tmp_path / "ws")
    assert (worktree / "lib" / "data.txt").read_text() == "d\n"


def test_links_stay_inside(repo: Path, start: Start, tmp_path: Path, git: Git) -> None:
    (tmp_path / "outside").mkdir()
    put(repo, {"fine/x": "1"})
    (repo / "way").symlink_to(tmp_path / "outside")
    git(repo, "add", "way")
    git(repo, "commit", "-q", "-m", "way")
    worktree = start(1).path
    (worktree / "fine").symlink_to(tmp_path / "outside")
    for path in ("../x", "/etc", "way/x", "fine/x"):
        with pytest.raises(UsageError, match="leads out of"):
            furnish(worktree, root=repo, link=[path], workspace=tmp_path / "ws")
    assert not list((tmp_path / "outside").iterdir())


def test_a_tracked_workspace_is_the_repos_own(
    repo: Path, start: Start, tmp_path: Path, git: Git, commit: Commit
) -> None:
    commit(repo, {"workspace/notes": "n"})
    worktree = start(1).path
    furnish(worktree, root=repo, link=[], workspace=tmp_path / "ws")
    assert not (worktree / "workspace").is_symlink()
    assert not (tmp_path / "ws").exists()
    (worktree / "workspace" / "more").write_text("m")
    assert git(worktree, "status", "--porcelain") == "?? workspace/more"


def test_the_users_own_workspace_folder_stays_visible_to_git(
    repo: Path, start: Start, tmp_path: Path, git: Git
) -> None:
    put(repo, {"workspace/mine": "m"})
    before = git(repo, "status", "--porcelain")
    furnish(start(1).path, root=repo, link=[], workspace=tmp_path / "ws")
    assert git(repo, "status", "--porcelain") == before == "?? workspace/"


def test_worktreeinclude(
    repo: Path, start: Start, tmp_path: Path, git: Git, make_repo: Callable[..., Path]
) -> None:
    put(
        repo,
        {
            ".gitignore": ".env*\nnode_modules\n*.key\n",
            ".worktreeinclude": "# secrets\n.env*\n!.env.other\n*.key\n/models/\nsolve.py\nsub/\n",
            ".env": "TOKEN=1",
            ".env.other": "no",
            "lib/.env": "2",
            "models/m.bin": "\0m",
            "node_modules/x/.env": "3",
            "run.key": "k",
            ".worktrees/old/.env": "never",
            "untracked": "no",
        },
    )
    make_repo({"in": "x"}, name="repo/sub/nested")
    (repo / ".env").chmod(0o644)
    (repo / "run.key").chmod(0o400)
    (repo / "lib" / "data.key").symlink_to("data.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(repo / "s.key")) if len(str(repo / "s.key")) < 100 else None
        worktree = start(1).path
        (worktree / "lib" / ".env").write_text("mine")
        assert furnish(worktree, root=repo, link=[], workspace=tmp_path / "ws") == ()
    copied = {str(p.relative_to(worktree)) for p in worktree.rglob("*") if not p.is_dir()}
    tracked = {".git", "solve.py", "evaluate.py", "lib/data.txt"}
    assert copied - tracked == {
        ".env",
        "lib/.env",
        "models/m.bin",
        "node_modules/x/.env",
        "run.key",
        "lib/data.key",
    }
    assert (worktree / ".env").stat().st_mode & 0o777 == 0o600
    assert (worktree / "run.key").stat().st_mode & 0o777 == 0o400
    assert (worktree / "lib" / ".env").read_text() == "mine"
    assert (worktree / "lib" / "data.key").is_symlink()


def test_too_much_to_copy_is_refused_before_anything_is(
    repo: Path, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(furnishing, "COPY_LIMIT", 10)
    put(repo, {".worktreeinclude": "big\nsmall\n", "big": "x" * 10, "small": "x"})
    worktree = start(1).path
    with pytest.raises(HerdrError, match="in 2 files to copy") as caught:
        furnish(worktree, root=repo, link=[], workspace=tmp_path / "ws")
    assert "link" in (caught.value.fix or "")
    assert not (worktree / "small").exists()


def test_copies_do_not_leave_the_worktree(
    repo: Path, start: Start, tmp_path: Path, git: Git, commit: Commit
) -> None:
    (tmp_path / "outside").mkdir()
    worktree = start(1).path
    (worktree / "conf").symlink_to(tmp_path / "outside")
    put(repo, {".worktreeinclude": "conf/\n", "conf/secret": "x"})
    (warning,) = furnish(worktree, root=repo, link=[], workspace=tmp_path / "ws")
    assert "conf/secret" in warning
    assert not list((tmp_path / "outside").iterdir())


def test_dangling_symlinks_are_reported(repo: Path, start: Start, tmp_path: Path, git: Git) -> None:
    put(repo, {"data/skill": "s"})
    (repo / "skill").symlink_to("data/skill")
    (repo / "fine").symlink_to("solve.py")
    git(repo, "add", "skill", "fine")
    git(repo, "commit", "-q", "-m", "links")
    (warning,) = furnish(start(1).path, root=repo, link=[], workspace=tmp_path / "ws")
    assert "skill leads nowhere" in warning
    assert furnish(start(2).path, root=repo, link=["data"], workspace=tmp_path / "ws") == ()


@pytest.mark.parametrize("kind", ["tracked", "symlink"])
def test_a_repo_with_an_agent_folder_of_its_own(repo: Path, start: Start, commit: Commit, kind: str) -> None:
    if kind == "tracked":
        commit(repo, {".herdr/x": "1"})
    worktree = start(1).path
    if kind == "symlink":
        (worktree / ".herdr").symlink_to("/tmp")
    with pytest.raises(RefusedError, match=r"has a \.herdr of its own"):
        make_agent_folder(worktree)


def test_the_exclude_file_keeps_the_users_lines(repo: Path, start: Start, tmp_path: Path, git: Git) -> None:
    exclude = repo / ".git" / "info" / "exclude"
    users = b"# mine\n*.tmp\n\xff\n!keep.tmp"
    exclude.write_bytes(users)
    exclude.chmod(0o640)
    put(repo, {"odd [1]*": "x", "#x": "y", "end ": "z", "odd 1": "seen"})
    worktree = start(1).path
    furnish(worktree, root=repo, link=["odd [1]*"], workspace=tmp_path / "ws")
    once = exclude.read_bytes()
    furnish(worktree, root=repo, link=["odd [1]*"], workspace=tmp_path / "ws")
    assert exclude.read_bytes() == once
    furnish(worktree, root=repo, link=["#x", "end "], workspace=tmp_path / "ws")
    content = exclude.read_bytes()
    assert content.endswith(users)
    assert content.count(BEGIN) == content.count(END) == 1
    assert len(content.splitlines()) == len(set(content.splitlines()))
    assert exclude.stat().st_mode & 0o777 == 0o640
    assert git(worktree, "status", "--porcelain") == ""
    assert git(repo, "status", "--porcelain") == '?? "odd 1"'


def test_a_repo_without_an_info_folder(repo: Path, start: Start, tmp_path: Path, git: Git) -> None:
    for path in (repo / ".git" / "info").iterdir():
        path.unlink()
    (repo / ".git" / "info").rmdir()
    worktree = start(1).path
    furnish(worktree, root=repo, link=[], workspace=tmp_path / "ws")
    assert git(worktree, "status", "--porcelain") == ""
