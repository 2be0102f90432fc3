"""`polyresearch forge`, as a person types it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from herdr_polyresearch.commands.table import polyresearch
from herdr_polyresearch.forge.local_forges import open_local

from herdr.api import HerdrError

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, make_repo: Callable[..., Path]) -> Run:
    """`run("forge show")` types that in a repository, as lead."""
    monkeypatch.chdir(make_repo({"a.txt": "1\n"}, name="lab"))
    monkeypatch.setenv("POLYRESEARCH_LOGIN", "lead")

    def run(line: str, *more: str, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(polyresearch, [*line.split(), *more], input=stdin)
        if result.exception is not None and not isinstance(result.exception, HerdrError | SystemExit):
            raise result.exception
        return result

    return run


def git(*args: str) -> str:
    """What git printed here."""
    done = subprocess.run(["git", *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def error(result: Result) -> HerdrError:
    """The error that ended a command."""
    assert isinstance(result.exception, HerdrError)
    assert result.exception.fix
    return result.exception


def test_a_forge_is_made_of_this_repository(run: Run) -> None:
    said = run("forge init").output
    assert "Made the local forge `lab`" in said
    assert git("remote", "get-url", "origin").endswith("/forge/local/lab/repo.git")
    assert git("ls-remote", "origin", "refs/heads/main").split()[0] == git("rev-parse", "main")
    assert "already" in str(error(run("forge init")))


def test_a_remote_that_is_there_is_left_alone(run: Run) -> None:
    git("remote", "add", "origin", "https://github.com/lead/lab.git")
    said = run("forge init other").output
    assert "was left alone" in said
    assert git("remote", "get-url", "origin") == "https://github.com/lead/lab.git"
    assert "other" in run("forge show --repo other").output


def test_a_person_approves_without_github(run: Run) -> None:
    run("forge init")
    assert (
        "Opened issue #1."
        in run("forge issue open --label thesis --title", "Über Ideen", "--body", "Why.").output
    )
    assert "Posted comment 1 on #1." in run("forge comment 1", "/approve good idea", "--as", "boss").output
    said = run("forge show 1").output
    assert "#1 issue open  Über Ideen [thesis] by lead" in said
    assert "-- comment 1 by boss, " in said
    assert "  /approve good idea" in said
    run("forge comment 1 - --as alice", stdin="from\nstandard input")
    data = json.loads(run("forge show 1 --json").output)
    assert [(c["author"], c["body"]) for c in data["comments"]] == [
        ("boss", "/approve good idea"),
        ("alice", "from\nstandard input"),
    ]


def test_comments_are_changed_and_deleted(run: Run) -> None:
    run("forge init")
    run("forge issue open --title one")
    run("forge comment 1 before")
    run("forge comment 1 gone")
    assert "Changed comment 1" in run("forge comment 1 after --edit 1").output
    assert "Deleted comment 2" in run("forge comment 1 --delete 2").output
    said = run("forge show 1").output
    assert "after" in said
    assert "edited" in said
    assert "gone" not in said
    assert "has no comment 9" in str(error(run("forge comment 1 --delete 9")))
    assert run("forge comment 1").exit_code == 2
    assert run("forge comment 1 x --delete 1").exit_code == 2


def test_issues_are_closed_reopened_and_labelled(run: Run) -> None:
    run("forge init")
    run("forge issue open --title one")
    run("forge issue close 1 --reason not_planned")
    assert run("forge show").output.endswith("nothing is open\n")
    assert "#1 issue closed" in run("forge show --all").output
    run("forge issue reopen 1")
    assert "Labels of #1: a, b." in run("forge issue label 1 a b").output
    assert "Labels of #1: b." in run("forge issue label 1 a --remove").output


def test_a_pull_request_is_opened_merged_and_closed(run: Run) -> None:
    run("forge init")
    git("checkout", "-q", "-b", "thesis/1-x")
    git("commit", "-q", "--allow-empty", "-m", "x")
    assert "git push origin thesis/1-x" in str(error(run("forge pr open --title one")).fix)
    git("push", "-q", "origin", "thesis/1-x")
    assert "Opened pull request #1 of thesis/1-x." in run("forge pr open --title one").output
    assert "thesis/1-x at " in run("forge show 1").output
    error(run("forge pr merge 1 --sha", "0" * 40))
    assert "Merged #1 as " in run("forge pr merge 1").output
    assert json.loads(run("forge show 1 --json").output)["thread"]["state"] == "merged"
    git("commit", "-q", "--allow-empty", "-m", "y")
    git("push", "-q", "origin", "thesis/1-x")
    run("forge pr open --title two")
    assert "Closed #2." in run("forge pr close 2").output


def test_options_before_the_command_count_too(run: Run) -> None:
    run("forge init first")
    run("forge init second")
    run("--repo second forge issue open --title", "in the second")
    assert json.loads(run("--json --repo second forge show").output)["threads"][0]["title"] == "in the second"
    assert run("forge show --repo first").output.endswith("nothing is open\n")


def test_a_dry_run_changes_nothing(run: Run) -> None:
    run("forge init")
    result = run("--dry-run forge issue open --title one")
    assert (result.exit_code, "Would run" in result.output) == (0, True)
    assert run("forge init another --dry-run").exit_code == 0
    assert "nothing is open" in run("forge show").output
    assert "no local forge" in str(error(run("forge show --repo another")))


def test_texts_of_others_cannot_act_on_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("forge init")
    name = Path(git("remote", "get-url", "origin")).parent
    mallory = open_local("lab", home=name.parents[2], login="mallory")
    mallory.create_issue("a\x1b]0;title\x07b", "x\x1b[2J\u202ey\rz")
    mallory.comment(1, "\x9b31m<!-- -->\tok")
    mallory.close()
    said = run("forge show 1").output
    assert "a]0;titleb" in said
    assert not set(said) & set("\x1b\x07\x9b\u202e\r")
    assert "\tok" in said


def test_outside_a_repository_a_forge_is_made_empty(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    said = run("forge init --branch trunk").output
    assert "Made the local forge `plain`" in said
    assert "NEXT: git push" in said
    assert json.loads(run("forge show --json").output)["repo"]["default_branch"] == "trunk"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("forge show 7", "no pull request #7"),
        ("forge comment 7 x", "no issue or pull request #7"),
        ("forge show --repo nowhere", "no local forge `nowhere`"),
        ("forge show --as a/b", "not a login"),
        ("forge issue close 7", "no issue #7"),
        ("forge pr merge 7", "no pull request #7"),
    ],
)
def test_bad_input_is_one_clear_message(run: Run, line: str, message: str) -> None:
    run("forge init")
    assert message in str(error(run(line)))
