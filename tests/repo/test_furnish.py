from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.repo import furnish as furnishing
from herdr.repo.furnish import furnish, make_agent_folder
from herdr.repo.run_folder import RunFolder

Git = Callable[..., str]
Commit = Callable[..., str]
Start = Callable[..., RunFolder]


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_links_and_workspace(repo: Path, start: Start, tmp_path: Path, git: Git) -> None:
    put(repo, {".gitignore": "big/\ndeep/er/set\n", "big/x": "1", "deep/er/set": "2"})
    git(repo, "add", ".gitignore")
    git(repo, "commit", "-q", "-m", "ignore")
    folder = start(1)
    place, own, worktree = folder.place, folder.own, folder.place.worktree
    for _ in range(2):
        warnings = furnish(place, own, link=["big", "deep/er/set"], workspace=tmp_path / "home" / "ws")
        assert warnings == ()
    assert not (worktree / "big").is_symlink()
    assert (worktree / "big/x").read_text() == "1"
    assert (worktree / "deep/er/set").read_text() == "2"
    (worktree / "workspace" / "shared").write_text("s")
    assert (tmp_path / "home" / "ws" / "shared").read_text() == "s"
    make_agent_folder(place, own)
    make_agent_folder(place, own)
    assert (worktree / ".herdr" / "mailbox" / "requests").is_dir()
    assert (worktree / ".herdr" / "mailbox" / "answers").is_dir()
    assert git(worktree, "status", "--porcelain") == ""
    assert git(repo, "status", "--porcelain") == ""


def test_a_link_whose_source_is_missing(repo: Path, start: Start, tmp_path: Path) -> None:
    with pytest.raises(HerdrError, match=f"link path {repo}/nowhere does not exist"):
        furnish(start(1).place, start(1).own, link=["nowhere"], workspace=tmp_path / "ws")


def test_a_link_over_a_tracked_path_is_refused(repo: Path, start: Start, tmp_path: Path) -> None:
    folder = start(1)
    place, own, worktree = folder.place, folder.own, folder.place.worktree
    with pytest.raises(RefusedError, match="already there"):
        furnish(place, own, link=["lib"], workspace=tmp_path / "ws")
    assert (worktree / "lib" / "data.txt").read_text() == "d\n"


def test_links_stay_inside(repo: Path, start: Start, tmp_path: Path, git: Git) -> None:
    (tmp_path / "outside").mkdir()
    put(repo, {"fine/x": "1"})
    (repo / "way").symlink_to(tmp_path / "outside")
    git(repo, "add", "way")
    git(repo, "commit", "-q", "-m", "way")
    folder = start(1)
    place, own, worktree = folder.place, folder.own, folder.place.worktree
    (worktree / "fine").symlink_to(tmp_path / "outside")
    for path in ("../x", "/etc", "way/x", "fine/x"):
        with pytest.raises(UsageError, match="leads out of"):
            furnish(place, own, link=[path], workspace=tmp_path / "ws")
    assert not list((tmp_path / "outside").iterdir())


def test_a_tracked_workspace_is_the_repos_own(
    repo: Path, start: Start, tmp_path: Path, git: Git, commit: Commit
) -> None:
    commit(repo, {"workspace/notes": "n"})
    folder = start(1)
    place, own, worktree = folder.place, folder.own, folder.place.worktree
    furnish(place, own, link=[], workspace=tmp_path / "ws")
    assert not (worktree / "workspace").is_symlink()
    assert not (tmp_path / "ws").exists()
    (worktree / "workspace" / "more").write_text("m")
    assert git(worktree, "status", "--porcelain") == "?? workspace/more"


def test_the_users_own_workspace_folder_stays_visible_to_git(
    repo: Path, start: Start, tmp_path: Path, git: Git
) -> None:
    put(repo, {"workspace/mine": "m"})
    before = git(repo, "status", "--porcelain")
    furnish(start(1).place, start(1).own, link=[], workspace=tmp_path / "ws")
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
        folder = start(1)
        place, own, worktree = folder.place, folder.own, folder.place.worktree
        (worktree / "lib" / ".env").write_text("mine")
        assert furnish(place, own, link=[], workspace=tmp_path / "ws") == ()
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
    folder = start(1)
    place, own, worktree = folder.place, folder.own, folder.place.worktree
    with pytest.raises(HerdrError, match="in 2 files to copy") as caught:
        furnish(place, own, link=[], workspace=tmp_path / "ws")
    assert "link" in (caught.value.fix or "")
    assert not (worktree / "small").exists()


def test_copies_do_not_leave_the_worktree(
    repo: Path, start: Start, tmp_path: Path, git: Git, commit: Commit
) -> None:
    (tmp_path / "outside").mkdir()
    folder = start(1)
    place, own, worktree = folder.place, folder.own, folder.place.worktree
    (worktree / "conf").symlink_to(tmp_path / "outside")
    put(repo, {".worktreeinclude": "conf/\n", "conf/secret": "x"})
    (warning,) = furnish(place, own, link=[], workspace=tmp_path / "ws")
    assert "conf/secret" in warning
    assert not list((tmp_path / "outside").iterdir())


def test_dangling_symlinks_are_reported(repo: Path, start: Start, tmp_path: Path, git: Git) -> None:
    put(repo, {"data/skill": "s"})
    (repo / "skill").symlink_to("data/skill")
    (repo / "fine").symlink_to("solve.py")
    git(repo, "add", "skill", "fine")
    git(repo, "commit", "-q", "-m", "links")
    (warning,) = furnish(start(1).place, start(1).own, link=[], workspace=tmp_path / "ws")
    assert "skill leads nowhere" in warning
    assert furnish(start(2).place, start(2).own, link=["data"], workspace=tmp_path / "ws") == ()


def test_a_repo_with_an_agent_folder_of_its_own(repo: Path, start: Start, commit: Commit) -> None:
    commit(repo, {".herdr/x": "1"})
    folder = start(1)
    with pytest.raises(RefusedError, match=r"has a \.herdr of its own"):
        make_agent_folder(folder.place, folder.own)


def test_what_an_agent_put_in_place_of_its_folder_is_replaced(start: Start, tmp_path: Path) -> None:
    folder = start(1)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "x").write_text("x")
    (folder.place.worktree / ".herdr").symlink_to(tmp_path / "precious")
    made = make_agent_folder(folder.place, folder.own)
    assert not made.is_symlink()
    assert (made / "mailbox" / "requests").is_dir()
    assert [path.name for path in (tmp_path / "precious").iterdir()] == ["x"]


def test_odd_names_are_ignored_in_the_run_alone(repo: Path, start: Start, tmp_path: Path, git: Git) -> None:
    exclude = repo / ".git" / "info" / "exclude"
    exclude.write_bytes(b"# mine\n*.tmp\n\xff\n!keep.tmp")
    before = exclude.read_bytes()
    put(repo, {"odd [1]*": "x", "#x": "y", "end ": "z", "odd 1": "seen"})
    folder = start(1)
    place, own, worktree = folder.place, folder.own, folder.place.worktree
    for _ in range(2):
        furnish(place, own, link=["odd [1]*", "#x", "end "], workspace=tmp_path / "ws")
    lines = (place.repository / "info" / "exclude").read_bytes().splitlines()
    assert len(lines) == len(set(lines))
    put(worktree, {"a.tmp": "ignored", "keep.tmp": "seen"})
    assert git(worktree, "status", "--porcelain") == "?? keep.tmp"
    assert exclude.read_bytes() == before


def test_a_repo_without_an_info_folder(repo: Path, start: Start, tmp_path: Path, git: Git) -> None:
    for path in (repo / ".git" / "info").iterdir():
        path.unlink()
    (repo / ".git" / "info").rmdir()
    folder = start(1)
    place, own, worktree = folder.place, folder.own, folder.place.worktree
    furnish(place, own, link=[], workspace=tmp_path / "ws")
    assert git(worktree, "status", "--porcelain") == ""
