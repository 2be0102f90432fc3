"""The local forge: many processes at once, real git, and what a crash or a push behind its back leaves."""

from __future__ import annotations

import multiprocessing
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from herdr_polyresearch.forge.base import ConflictError, MissingError, RejectedError, StaleHeadError
from herdr_polyresearch.forge.local_forges import (
    create_local,
    folder_of,
    local_names,
    login_from,
    name_of,
    open_local,
)

BRANCH = "thesis/1-idea-attempt-1"
PROCESSES = multiprocessing.get_context("fork")


@pytest.fixture
def lab(make_place: Callable[..., Any]) -> Any:
    """A local forge with files on main."""
    return make_place("local")


def git(cwd: Path, *args: str) -> str:
    """What git printed."""
    done = subprocess.run(["git", *args], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def in_processes(count: int, work: Callable[..., None], *args: Any) -> list[int | None]:
    """Run the same work in many processes at once; gives how each ended."""
    barrier = PROCESSES.Barrier(count)
    processes = [PROCESSES.Process(target=work, args=(n, barrier, *args)) for n in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    return [process.exitcode for process in processes]


def post_many(n: int, barrier: Any, home: Path) -> None:
    """What one of many processes writes."""
    forge = open_local("lab", home=home, login=f"user-{n}")
    barrier.wait(30)
    for k in range(10):
        number = forge.create_issue(f"issue {n}.{k}", "text").number
        forge.comment(number, "on my own")
        forge.comment(1, f"comment {n}.{k}")
    forge.close()


def test_many_processes_lose_nothing_and_share_one_sequence(tmp_path: Path) -> None:
    create_local("lab", home=tmp_path, owner="lead").close()
    forge = open_local("lab", home=tmp_path, login="lead")
    forge.create_issue("first", "", labels=["thesis"])
    assert in_processes(6, post_many, tmp_path) == [0] * 6
    assert [issue.number for issue in forge.issues()] == list(range(1, 62))
    comments = forge.snapshot().comments[1]
    assert sorted(c.body for c in comments) == sorted(f"comment {n}.{k}" for n in range(6) for k in range(10))
    assert len({c.id for c in comments}) == 60
    assert all(c.author == f"user-{c.body.split()[1].split('.')[0]}" for c in comments)
    forge.close()


def merge_one(n: int, barrier: Any, home: Path) -> None:
    """Merge one pull request while others merge theirs."""
    forge = open_local("lab", home=home, login="lead")
    pull = forge.pull(n + 1)
    barrier.wait(30)
    forge.merge_pr(pull.number, expected_sha=pull.head_sha)
    forge.close()


def test_merges_at_the_same_time_all_arrive(lab: Any) -> None:
    forge = lab.open("lead")
    for n in range(4):
        lab.push(f"thesis/{n}-x", {f"file{n}.py": "new\n"})
        forge.create_pr(f"pr {n}", "", head=f"thesis/{n}-x", base="main")
    assert in_processes(4, merge_one, lab.home) == [0] * 4
    assert {f"file{n}.py" for n in range(4)} <= lab.read("main").keys()
    assert [pull.state for pull in forge.snapshot().pulls] == ["merged"] * 4


def test_a_push_to_the_base_while_merging_is_kept(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    forge = lab.open("lead")
    sha = lab.push(BRANCH, {"train.py": "x = 2\n"})
    number = forge.create_pr("pr", "", head=BRANCH, base="main").number
    merged_tree = forge.git.merged_tree

    def push_in_between(ours: str, theirs: str) -> str:
        monkeypatch.setattr(forge.git, "merged_tree", merged_tree)
        tree = merged_tree(ours, theirs)
        lab.push("main", {"other.py": "pushed meanwhile\n"})
        return str(tree)

    monkeypatch.setattr(forge.git, "merged_tree", push_in_between)
    forge.merge_pr(number, expected_sha=sha)
    assert lab.read("main")["other.py"] == "pushed meanwhile\n"
    assert lab.read("main")["train.py"] == "x = 2\n"


def test_a_merge_that_lost_its_process_counts(lab: Any) -> None:
    """git has the merge and the database does not: whoever looks next repairs it."""
    forge = lab.open("lead")
    sha = lab.push(BRANCH, {"train.py": "x = 2\n"})
    lab.push("main", {"other.py": "of main\n"})
    number = forge.create_pr("pr", "", head=BRANCH, base="main").number
    merged, _ = forge.git.merge("main", sha, message="m", author="lead")
    lab.push("main2", {"later.py": "x\n"})
    pull = lab.open("alice").pull(number)
    assert (pull.state, pull.merge_sha) == ("merged", merged)
    assert forge.merge_pr(number, expected_sha=sha) == merged
    assert [f.path for f in forge.changed_files(number)] == ["train.py"]


def test_a_merge_made_with_git_and_pushed_counts(lab: Any) -> None:
    forge = lab.open("lead")
    sha = lab.push(BRANCH, {"train.py": "x = 2\n"})
    number = forge.create_pr("pr", "", head=BRANCH, base="main").number
    lab.push("main", {"train.py": "x = 3\n"})
    with pytest.raises(ConflictError, match=r"train\.py"):
        forge.merge_pr(number, expected_sha=sha)
    subprocess.run(["git", "merge", "-q", sha], cwd=lab.work, check=False, capture_output=True)
    (lab.work / "train.py").write_text("x = 2.5\n")
    git(lab.work, "commit", "-qam", "resolved")
    git(lab.work, "push", "-q", "origin", "main")
    pull = forge.snapshot().pulls[0]
    assert (pull.number, pull.state, pull.merge_sha) == (number, "merged", git(lab.work, "rev-parse", "HEAD"))


def test_a_deleted_branch_closes_its_pull_request_and_keeps_its_commits(lab: Any) -> None:
    forge = lab.open("lead")
    sha = lab.push(BRANCH, {"train.py": "x = 2\n"})
    number = forge.create_pr("pr", "", head=BRANCH, base="main").number
    git(lab.work, "push", "-q", "origin", f":{BRANCH}")
    assert (forge.pull(number).state, forge.pull(number).head_sha) == ("closed", sha)
    git(lab.work, "fetch", "-q", "origin", f"refs/pull/{number}/head")
    assert git(lab.work, "rev-parse", "FETCH_HEAD") == sha
    with pytest.raises(RejectedError):
        forge.delete_branch("main")


def test_a_force_push_moves_the_head(lab: Any) -> None:
    forge = lab.open("lead")
    first = lab.push(BRANCH, {"train.py": "x = 2\n"})
    number = forge.create_pr("pr", "", head=BRANCH, base="main").number
    git(lab.work, "checkout", "-q", "-B", BRANCH, "main")
    (lab.work / "new.py").write_text("y\n")
    git(lab.work, "add", "-A")
    git(lab.work, "commit", "-qm", "anew")
    git(lab.work, "push", "-qf", "origin", BRANCH)
    assert forge.pull(number).head_sha == git(lab.work, "rev-parse", "HEAD")
    assert git(lab.work, "ls-remote", "origin", f"refs/pull/{number}/head").split()[0] == git(
        lab.work, "rev-parse", "HEAD"
    )
    assert [f.path for f in forge.changed_files(number)] == ["new.py"]
    with pytest.raises(StaleHeadError):
        forge.merge_pr(number, expected_sha=first)


def test_renames_links_modes_and_odd_names_are_all_told(lab: Any) -> None:
    forge = lab.open("lead")
    git(lab.work, "checkout", "-q", "-b", BRANCH)
    git(lab.work, "mv", "gone.py", "böse\tname\n.py")
    (lab.work / "link").symlink_to("/etc/passwd")
    (lab.work / "train.py").chmod(0o755)
    git(lab.work, "rm", "-q", "README.md")
    git(lab.work, "add", "-A")
    git(lab.work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(lab.work, "commit", "-qm", "odd")
    git(lab.work, "push", "-q", "origin", BRANCH)
    number = forge.create_pr("pr", "", head=BRANCH, base="main").number
    found = {f.path: (f.status, f.previous_path, f.old_mode, f.new_mode) for f in forge.changed_files(number)}
    assert found == {
        "böse\tname\n.py": ("renamed", "gone.py", "100644", "100644"),
        "link": ("added", None, None, "120000"),
        "train.py": ("modified", None, "100644", "100755"),
        "README.md": ("removed", None, "100644", None),
        "sub": ("added", None, None, "160000"),
    }


def test_a_branch_of_another_history_is_refused(lab: Any) -> None:
    forge = lab.open("lead")
    git(lab.work, "checkout", "-q", "--orphan", BRANCH)
    git(lab.work, "commit", "-qm", "no parent")
    git(lab.work, "push", "-q", "origin", BRANCH)
    number = forge.create_pr("pr", "", head=BRANCH, base="main").number
    with pytest.raises(ConflictError, match="no commit in common"):
        forge.changed_files(number)
    with pytest.raises(ConflictError):
        forge.merge_pr(number, expected_sha=forge.pull(number).head_sha)
    assert forge.pull(number).state == "open"


def test_everybody_may_do_everything_where_nobody_was_named(tmp_path: Path) -> None:
    create_local("open", home=tmp_path, owner="lead").close()
    forge = open_local("open", home=tmp_path, login="carol")
    number = forge.create_issue("one", "", labels=["thesis"]).number
    forge.close_issue(number)
    assert (forge.repo().collaborators, forge.issue(number).state) == (None, "closed")
    forge.close()


def test_a_reader_sees_one_moment_while_others_write(lab: Any) -> None:
    """Every comment is posted on two threads at once as far as readers can tell: by one process, in one order."""
    forge, stop = lab.open("lead"), threading.Event()
    numbers = [forge.create_issue(name, "", labels=["thesis"]).number for name in ("one", "two")]

    def write() -> None:
        own = open_local("lab", home=lab.home, login="alice")
        while not stop.is_set():
            for number in numbers:
                own.comment(number, "x")
        own.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(30):
            comments = forge.snapshot().comments
            first, second = (len(comments.get(number, ())) for number in numbers)
            assert 0 <= first - second <= 1
    finally:
        stop.set()
        writer.join()


def test_a_half_made_forge_is_not_one(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "lab")
    folder.mkdir(parents=True)
    with pytest.raises(MissingError, match="no local forge"):
        open_local("lab", home=tmp_path, login="lead")
    with pytest.raises(RejectedError, match="already"):
        create_local("lab", home=tmp_path, owner="lead")


def test_a_database_of_another_version_is_left_alone(tmp_path: Path) -> None:
    create_local("lab", home=tmp_path, owner="lead").close()
    path = folder_of(tmp_path, "lab") / "forge.db"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(RejectedError, match="another version"):
        open_local("lab", home=tmp_path, login="lead")


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b/c", "a b", "-x/../y", "/etc", ".hidden"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RejectedError):
        create_local(name, home=tmp_path, owner="lead")
    assert local_names(tmp_path) == []


@pytest.mark.parametrize("login", ["", "a b", "-x", "x-", "a/b", "x" * 40, "a\nb"])
def test_a_login_has_the_form_of_one(tmp_path: Path, login: str) -> None:
    with pytest.raises(RejectedError):
        create_local("lab", home=tmp_path, owner="lead", collaborators=[login])
    create_local("lab", home=tmp_path, owner="lead").close()
    with pytest.raises(RejectedError):
        open_local("lab", home=tmp_path, login=login)


def test_a_forge_is_found_by_the_url_of_its_repository(tmp_path: Path) -> None:
    with closing(create_local("team/lab", home=tmp_path, owner="lead")) as made:
        url = made.clone_url()
    assert name_of(url, tmp_path) == "team/lab"
    assert name_of(f"file://{url}", tmp_path) == "team/lab"
    assert name_of("https://github.com/team/lab.git", tmp_path) is None
    assert name_of(url, tmp_path / "elsewhere") is None
    assert local_names(tmp_path) == ["team/lab"]


def test_the_login_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert login_from({"POLYRESEARCH_LOGIN": " alice "}) == "alice"
    monkeypatch.setenv("LOGNAME", "somebody")
    assert login_from({}) == "somebody"
