from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

import herdr
from herdr.errors import HerdrError, RefusedError
from herdr.files import NotPlainError
from herdr.repo import isolated
from herdr.repo.checks import common_dir, head_commit
from herdr.repo.files import delete_tree
from herdr.repo.git import GitError
from herdr.repo.isolated import Isolated, NotOursError, check, create, finish, remove
from herdr.repo.lock import repo_lock
from herdr.repo.own import OwnRepository
from herdr.repo.run_folder import RunFolder

Git = Callable[..., str]
Start = Callable[..., RunFolder]
OwnOf = Callable[[Path], OwnRepository]

ACT = """
import sys
from pathlib import Path
from herdr.repo.checks import head_commit
from herdr.repo.isolated import Isolated, create, remove
from herdr.repo.own import open_own
act, root, home = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
own = open_own(home / root.name / "own.git", root, "refs/piloop/0a1b2c3d/p/")
for n in sys.argv[4:]:
    place = Isolated(
        repository=own.path.parent / f"run-{n}.git", worktree=root / ".worktrees" / f"run-{n}-x"
    )
    if act == "create":
        create(place, own, commit=head_commit(root), branch=f"piloop/p/run-{n}")
    else:
        remove(place, own)
"""


def start_process(act: str, root: Path, home: Path, *numbers: str) -> subprocess.Popen[bytes]:
    env = os.environ | {"PYTHONPATH": str(Path(herdr.__file__).parents[1])}
    return subprocess.Popen([sys.executable, "-c", ACT, act, str(root), str(home), *numbers], env=env)


def until(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def notes(own: OwnRepository) -> list[Path]:
    return list((own.path / "unfinished").iterdir())


def place_of(own: OwnRepository, number: int = 1) -> Isolated:
    return Isolated(
        repository=own.path.parent / f"run-{number}.git", worktree=own.root / ".worktrees" / f"run-{number}-x"
    )


def make(own: OwnRepository, number: int = 1) -> Isolated:
    place = place_of(own, number)
    create(place, own, commit=head_commit(own.root), branch=f"piloop/p/run-{number}")
    return place


def test_a_run_folder(repo: Path, start: Start, git: Git) -> None:
    git(repo, "tag", "-a", "-m", "t", "v1")
    git(repo, "branch", "other")
    made = start(1)
    worktree = made.place.worktree
    assert git(worktree, "symbolic-ref", "HEAD") == "refs/heads/piloop/p/run-1"
    assert head_commit(worktree) == head_commit(repo)
    assert (worktree / "lib" / "data.txt").read_text() == "d\n"
    assert git(worktree, "status", "--porcelain") == ""
    # The person's tags and default branch come along, and nothing else.
    assert git(worktree, "describe") == "v1"
    assert git(worktree, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/main", "refs/heads/piloop/p/run-1", "refs/tags/v1",
    ]  # fmt: skip
    assert git(worktree, "diff", "main") == ""
    assert git(worktree, "remote") == ""
    assert git(repo, "status", "--porcelain") == ""
    assert not list((made.place.repository / "objects").glob("??/*")), "objects are borrowed, not copied"
    assert notes(made.own) == []


def test_the_persons_things_stay_as_they_are(
    repo: Path, start: Start, git: Git, user_state: Callable[[Path], dict[str, object]], since: int
) -> None:
    (repo / "solve.py").write_text("stashed\n")
    git(repo, "stash")
    (repo / "solve.py").write_text("half done\n")
    git(repo, "add", "solve.py")
    (repo / "lib" / "data.txt").unlink()
    (repo / "untracked").write_text("u")
    git(repo, "status")
    before = user_state(repo)
    made = start(1)
    (made.place.worktree / "a").write_text("a")
    made.collect(since)
    made.recover("worker#1")
    made.remove()
    assert user_state(repo) == before


def test_hooks_of_the_person_do_not_run(repo: Path, start: Start, commit: Callable[..., str], since: int) -> None:
    hooks = ("post-checkout", "reference-transaction", "post-index-change", "pre-commit", "commit-msg")
    for hook in hooks:
        script = repo / ".git" / "hooks" / hook
        script.write_text(f"#!/bin/sh\ntouch {repo}/ran-{hook}\nexit 1\n")
        script.chmod(0o755)
    made = start(1)
    commit(made.place.worktree, {"a": "1"})
    (made.place.worktree / "b").write_text("2")
    made.collect(since)
    made.recover("worker#1")
    assert len(made.commits()) == 2
    assert not list(repo.glob("ran-*"))


def test_hooks_that_were_asked_for_run(repo: Path, start: Start, git: Git) -> None:
    script = repo / ".git" / "hooks" / "commit-msg"
    script.write_text('#!/bin/sh\necho checked >> "$1"\n')
    script.chmod(0o755)
    worktree = start(1, hooks=repo / ".git" / "hooks").place.worktree
    git(worktree, "commit", "-q", "--allow-empty", "-m", "m")
    assert git(worktree, "log", "-1", "--format=%B") == "m\nchecked"


def test_remotes_come_when_they_were_asked_for(repo: Path, start: Start, git: Git, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "origin.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "origin.git"))
    git(repo, "config", "remote.origin.uploadpack", "false")
    git(repo, "fetch", "-q", "--upload-pack", "git-upload-pack", "origin")
    worktree = start(1, remotes=True).place.worktree
    assert git(worktree, "diff", "origin/main") == ""
    git(worktree, "push", "-q", "origin", "HEAD:refs/heads/mine")
    git(worktree, "fetch", "-q", "origin")
    assert git(worktree, "rev-parse", "origin/mine") == head_commit(repo)
    assert git(start(2).place.worktree, "remote") == ""


def test_sixteen_at_once_from_threads(repo: Path, own_of: OwnOf) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda number: make(own_of(repo), number), range(16)))
    for place in made:
        check(place)
    assert len(list((repo / ".worktrees").glob("run-*"))) == 16
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda place: remove(place, own_of(repo)), made))
    assert list((repo / ".worktrees").glob("run-*")) == []
    assert notes(own_of(repo)) == []


def test_many_at_once_from_processes(repo: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    processes = [start_process("create", repo, home, f"{n}1", f"{n}2") for n in range(1, 5)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert len(list((repo / ".worktrees").glob("run-*"))) == 8


def test_one_place_is_made_once(repo: Path, own_of: OwnOf) -> None:
    own = own_of(repo)

    def attempt(_: int) -> bool:
        with contextlib.suppress(RefusedError):
            make(own)
            return True
        return False

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(attempt, range(8))) == [False] * 7 + [True]
    check(place_of(own))


@pytest.fixture
def slow_repo(repo: Path, git: Git, commit: Callable[..., str], tmp_path: Path) -> Path:
    """A repo whose checkout writes `started` and then waits until `go` exists."""
    script = f"touch {tmp_path}/started; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; cat"
    commit(repo, {".gitattributes": "slow.txt filter=slow\n", "slow.txt": "slow\n"})
    git(repo, "config", "filter.slow.smudge", script)
    git(repo, "config", "filter.slow.required", "true")
    return repo


@pytest.mark.parametrize("git_dies_too", [True, False])
def test_a_killed_creation_is_cleared_away_by_the_next(
    slow_repo: Path, tmp_path: Path, own_of: OwnOf, git_dies_too: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start_process("create", slow_repo, tmp_path / "home", "1")
    until((tmp_path / "started").exists)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    own = own_of(slow_repo)
    assert (place_of(own).worktree / "evaluate.py").exists(), "it was half made"
    if git_dies_too:
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    else:
        # git goes on alone; nobody may delete while it writes.
        monkeypatch.setattr(isolated, "PATIENCE", 0.1)
        with pytest.raises(HerdrError, match="another process is making or removing"):
            finish(place_of(own), own)
        monkeypatch.undo()
        monkeypatch.setattr(isolated, "PATIENCE", 20.0)
    (tmp_path / "go").touch()
    place = make(own)
    check(place)
    assert (place.worktree / "slow.txt").read_text() == "slow\n"
    assert notes(own) == []


@pytest.mark.parametrize("step", ["worktree", "repository"])
def test_a_killed_removal_is_finished_by_the_next(
    repo: Path, own_of: OwnOf, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = own_of(repo)
    place = make(own)

    def die(path: Path) -> None:
        if path == getattr(place, step):
            if step == "worktree":
                (path / ".git").unlink()
            raise KeyboardInterrupt
        delete_tree(path)

    with monkeypatch.context() as patched:
        patched.setattr(isolated, "delete_entry", die)
        with pytest.raises(KeyboardInterrupt):
            remove(place, own)
    assert len(notes(own)) == 1
    assert place.repository.exists()
    remove(place, own)
    assert not place.worktree.exists()
    assert not place.repository.exists()
    assert notes(own) == []


def test_a_failed_creation_leaves_nothing(
    repo: Path, own_of: OwnOf, git: Git, commit: Callable[..., str]
) -> None:
    commit(repo, {".gitattributes": "bad.txt filter=bad\n", "bad.txt": "x\n"})
    git(repo, "config", "filter.bad.smudge", "false")
    git(repo, "config", "filter.bad.required", "true")
    own = own_of(repo)
    with pytest.raises(GitError, match="smudge filter bad failed"):
        make(own)
    assert notes(own) == []
    assert not place_of(own).worktree.exists()
    assert not place_of(own).repository.exists()


@pytest.mark.parametrize("kind", ["folder", "empty folder", "file", "dangling symlink", "symlink to a folder"])
def test_a_path_in_the_way_is_refused_and_kept(repo: Path, tmp_path: Path, own_of: OwnOf, kind: str) -> None:
    path = repo / ".worktrees" / "run-1-x"
    path.parent.mkdir()
    if kind == "file":
        path.write_text("x")
    elif "symlink" in kind:
        path.symlink_to("/nowhere" if kind.startswith("dangling") else tmp_path)
    else:
        path.mkdir()
        if kind == "folder":
            (path / "precious").write_text("x")
    own = own_of(repo)
    with pytest.raises(RefusedError, match="exists already") as caught:
        make(own)
    assert str(path) in (caught.value.fix or "")
    assert os.path.lexists(path)
    assert kind != "folder" or (path / "precious").exists()
    assert not place_of(own).repository.exists()
    assert notes(own) == []


def test_a_folder_that_appears_meanwhile_is_kept(
    repo: Path, own_of: OwnOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = own_of(repo)
    path = place_of(own).worktree

    def begin(_note: int) -> None:
        path.mkdir(parents=True)
        (path / "precious").write_text("x")

    monkeypatch.setattr(isolated, "_begin", begin)
    with pytest.raises(RefusedError, match="exists already"):
        make(own)
    assert (path / "precious").exists()


def spoil(place: Isolated, how: str, elsewhere: Path) -> None:
    worktree, admin = place.worktree, place.admin
    commands = {
        "no .git": f"rm {worktree}/.git",
        ".git changed": f"echo 'gitdir: {elsewhere}/.git' > {worktree}/.git",
        ".git a link": f"mv {worktree}/.git {elsewhere}/pointer && ln -s {elsewhere}/pointer {worktree}/.git",
        ".git a fifo": f"rm {worktree}/.git && mkfifo {worktree}/.git",
        "another repo": f"cd {worktree} && rm .git && git init -q && git commit -q --allow-empty -m x",
        "worktree gone": f"rm -rf {worktree}",
        "worktree a link": f"rm -rf {worktree} && ln -s {elsewhere} {worktree}",
        "worktree a file": f"rm -rf {worktree} && touch {worktree}",
        "worktree moved": f"mv {worktree} {elsewhere}/moved && ln -s {elsewhere}/moved {worktree}",
        "commondir elsewhere": f"echo {elsewhere}/.git > {admin}/commondir",
        "commondir gone": f"rm {admin}/commondir",
        "gitdir changed": f"echo {elsewhere}/.git > {admin}/gitdir",
        "repository gone": f"rm -rf {place.repository}",
        "admin a link": f"mv {admin} {elsewhere}/admin && ln -s {elsewhere}/admin {admin}",
        "worktrees a link": f"mv {admin.parent} {elsewhere}/w && ln -s {elsewhere}/w {admin.parent}",
    }
    subprocess.run(commands[how], shell=True, check=True)


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ("no .git", "foreign"),
        (".git changed", "foreign"),
        (".git a link", "foreign"),
        (".git a fifo", "foreign"),
        ("another repo", "foreign"),
        ("worktree gone", "gone"),
        ("worktree a link", "foreign"),
        ("worktree a file", "foreign"),
        ("worktree moved", "foreign"),
        ("commondir elsewhere", "foreign"),
        ("commondir gone", "foreign"),
        ("gitdir changed", "foreign"),
        ("repository gone", "gone"),
        ("admin a link", "foreign"),
        ("worktrees a link", "foreign"),
    ],
)
def test_what_is_no_longer_the_folder_that_herdr_made(
    repo: Path,
    start: Start,
    tmp_path: Path,
    user_state: Callable[[Path], dict[str, object]],
    how: str,
    fault: str,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    (elsewhere / "precious").write_text("x")
    made = start(1)
    worktree = made.place.worktree
    spoil(made.place, how, elsewhere)
    before = user_state(repo)
    with pytest.raises(NotOursError) as caught:
        made.check()
    assert caught.value.fault == fault
    with pytest.raises(NotOursError):
        made.recover("worker#1")
    if how == "worktree gone":
        # It is made again for the next start, and can be removed.
        made.make()
        made.check()
        made.remove()
    else:
        assert made.removable() is not None
        with pytest.raises(NotOursError):
            made.remove()
        with pytest.raises(NotOursError):
            made.make()
        assert os.path.lexists(worktree)
    assert (elsewhere / "precious").exists()
    assert user_state(repo) == before


def test_a_run_that_starts_again_finds_its_folder(start: Start) -> None:
    made = start(1)
    (made.place.worktree / "work").write_text("half done")
    assert made.make() == []
    assert (made.place.worktree / "work").exists()


def test_a_folder_that_was_deleted_is_made_again_where_the_work_stands(
    repo: Path, start: Start, git: Git, commit: Callable[..., str], since: int
) -> None:
    made = start(1)
    git(made.place.worktree, "switch", "-q", "-c", "mine")
    tip = commit(made.place.worktree, {"a": "1"})
    made.collect(since)
    subprocess.run(["rm", "-r", made.place.worktree], check=True)
    made.make()
    assert head_commit(made.place.worktree) == tip
    assert git(made.place.worktree, "symbolic-ref", "HEAD") == "refs/heads/mine"
    assert (made.place.worktree / "a").exists()


def test_a_folder_whose_branch_was_deleted_too(
    start: Start, git: Git, commit: Callable[..., str], since: int
) -> None:
    made = start(1)
    tip = commit(made.place.worktree, {"a": "1"})
    made.collect(since)
    subprocess.run(["rm", "-r", made.place.worktree, made.place.repository], check=True)
    made.make()
    assert head_commit(made.place.worktree) == tip
    assert git(made.place.worktree, "symbolic-ref", "HEAD") == "refs/heads/piloop/p/run-1"


def test_a_base_that_no_branch_reaches_outlives_the_persons_gc(
    repo: Path, start: Start, git: Git, commit: Callable[..., str]
) -> None:
    git(repo, "switch", "-q", "--detach")
    base = commit(repo, {"odd": "1"})
    made = start(1, base=base)
    git(repo, "switch", "-q", "main")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    assert git(made.place.worktree, "status", "--porcelain") == ""
    assert git(made.place.worktree, "show", "HEAD:odd") == "1"


def test_two_homes_on_one_repo(repo: Path, tmp_path: Path, commit: Callable[..., str], since: int) -> None:
    from herdr.repo.own import open_own
    from herdr.repo.refs import pinned

    folders = []
    for home in ("11111111", "22222222"):
        own = open_own(tmp_path / home / "own.git", repo, f"refs/piloop/{home}/p/")
        place = Isolated(repository=own.path.parent / "run-2.git", worktree=repo / ".worktrees" / f"run-2-{home}")
        folders.append(
            RunFolder(name="run-2", own=own, place=place, base=head_commit(repo), branch="piloop/p/run-2")
        )
    a, b = folders
    a.make()
    b.make()
    tip = commit(a.place.worktree, {"a": "1"})
    a.collect(since)
    b.collect(since)
    assert [one.sha for one in a.commits()] == [tip]
    assert b.commits() == []
    b.remove()
    a.check()
    assert pinned(b.own) == {"run-2/base": head_commit(repo)}


def test_what_an_agent_put_in_the_way_of_the_excludes_is_not_followed(
    repo: Path, start: Start, user_state: Callable[[Path], dict[str, object]]
) -> None:
    made = start(1)
    delete_tree(made.place.repository / "info")
    (made.place.repository / "info").symlink_to(repo / ".git" / "info")
    before = user_state(repo)
    with pytest.raises(NotPlainError, match="info"):
        isolated.exclude(made.place, ["/x"])
    assert user_state(repo) == before


def test_read_only_folders_go_too(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "mod"
    folder.mkdir(parents=True)
    (folder / "x.go").write_text("x")
    folder.chmod(0o555)
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o555)
    (tmp_path / "cache" / "link").symlink_to(outside)
    delete_tree(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    assert outside.stat().st_mode & 0o777 == 0o555


def test_the_lock_holds_threads_apart(repo: Path) -> None:
    inside, most = [0], [0]

    def work(_: int) -> None:
        with repo_lock(common_dir(repo)):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            threading.Event().wait(0.01)
            inside[0] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert most == [1]
