from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from herdr.contract.words import MessageState
from herdr.store.connection import Store
from herdr.store.rows import Agent, Candidate, Measurement, Message, Project, Run

Command = Callable[..., str]


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def test_init_registers_and_says_what_to_do_next(root: Path, piloop: Command) -> None:
    out = piloop("init")
    assert "registered tiny: size 8" in out
    assert "next: piloop idea add" in out
    assert "up to date" in piloop("init", str(root))
    assert git(root, "status", "--porcelain") == ""


def test_ideas_are_filed_listed_and_shown(project: Path, piloop: Command) -> None:
    assert "no ideas yet" in piloop("idea", "list")
    assert (
        piloop("idea", "add", "Shrink it", "--hypothesis", "It is too large.")
        == "idea#1 Shrink it (ready, tiny)\n"
    )
    added = json.loads(piloop("idea", "add", "tiny", "Then that", "--after", "1", "--priority", "1", "--json"))
    assert added["ref"] == "idea#2"
    assert [line.split()[0] for line in piloop("idea", "list").splitlines()] == ["IDEA", "idea#2", "idea#1"]
    assert "Then that  (after idea#1)" in piloop("idea", "list", str(project))
    shown = piloop("idea", "show", "idea#1")
    assert "It is too large." in shown
    assert json.loads(piloop("idea", "show", "2", "--json"))["idea"]["priority"] == 1
    assert json.loads(piloop("idea", "list", "--status", "done", "--json")) == {"ideas": [], "left_out": 0}


def test_runs_are_listed_shown_and_cancelled(one_run: Any, store: Store, piloop: Command) -> None:
    assert "no runs yet" in piloop("run", "list")
    one_run()
    Run.update(store, 1, brief="do your best", actor="daemon")
    assert "run#1  running" in piloop("run", "list", "--idea", "idea#1")
    assert "worker#1  busy" in piloop("run", "show", "run#1")
    assert piloop("run", "show", "1", "--brief") == "do your best\n"
    assert piloop("run", "cancel", "run#1") == "run#1 (running) will be cancelled\n"
    assert "running (to be cancelled)" in piloop("run", "show", "run#1")
    assert json.loads(piloop("run", "show", "run#1", "--json"))["run"]["cancel_requested"] is True
    assert json.loads(piloop("run", "list", "--json"))[0]["idea"] == "idea#1"


def made(store: Store, root: Path) -> str:
    (root / "size").write_text("6\n")
    git(root, "commit", "-qam", "Halve\x1b[31m it")
    sha = git(root, "rev-parse", "HEAD")
    Candidate.insert(
        store,
        project_id=1,
        run_id=1,
        parent_id=1,
        tree_sha="t",
        commit_sha=sha,
        subject="Halve it",
        origin="run",
        bar_id=1,
        verdict="keep",
        reason="size 6 beats 8",
        actor="daemon",
    )
    Measurement.insert(store, candidate_id=2, evaluator_id=1, state="done", metrics='{"size": 6}', actor="daemon")
    Project.update(store, 1, head_id=2, actor="daemon")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    return sha


def test_candidates_are_listed_shown_and_compared(
    project: Path, one_run: Any, store: Store, piloop: Command
) -> None:
    one_run()
    made(store, project)
    listed = piloop("candidate", "list")
    assert "candidate#2*  keep     6     +25 %" in listed
    assert "Halve it: size 6 beats 8" in listed
    shown = piloop("candidate", "show", "2")
    assert "keep, the head" in shown
    assert "+2 (+25 %)" in shown
    diff = piloop("candidate", "diff", "candidate#2")
    assert "-8\n+6\n" in diff
    assert "1 file changed" in piloop("candidate", "diff", "1", "--against", "2", "--stat")
    assert json.loads(piloop("candidate", "list", "--json", "--verdict", "keep"))["metric"] == "size"
    assert json.loads(piloop("candidate", "show", "1", "--json"))["candidate"]["origin"] == "baseline"
    assert json.loads(piloop("candidate", "diff", "2", "--json"))["old"] == "candidate#1"


def test_apply_hands_over_and_leaves_the_checkout_alone(
    project: Path, one_run: Any, store: Store, piloop: Command, typed: Any
) -> None:
    one_run()
    sha = made(store, project)
    before = (git(project, "status", "--porcelain"), git(project, "rev-parse", "HEAD"))
    out = piloop("apply")
    assert "herdr/tiny/candidate-2" in out
    assert "git -C" in out
    assert git(project, "rev-parse", "herdr/tiny/candidate-2") == sha
    assert "exists already" in typed("piloop", "apply", "tiny").err
    piloop("apply", "candidate#1", "--branch", "mine")
    patch = project.parent / "x.patch"
    assert str(patch) in piloop("apply", "--patch", str(patch))
    assert patch.read_text() == piloop("apply", "candidate#2", "--patch", "-")
    assert (git(project, "status", "--porcelain"), git(project, "rev-parse", "HEAD")) == before
    git(project, "apply", str(patch))
    assert (project / "size").read_text() == "6\n"
    assert typed("piloop", "apply", "--branch", "a", "--patch", "b").code == 2
    assert typed("piloop", "apply", "--patch", "/nowhere/x").code == 2


def test_comments_are_added_listed_and_shown(
    one_run: Any, piloop: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_run()
    assert piloop("comment", "add", "run#1", "--kind", "finding", "It works") == "comment#1 (finding on run#1)\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"two\nlines \x1b[2J")))
    assert "comment#2" in piloop("comment", "add", "project", "-", "--kind", "escalation", "--priority", "0")
    listed = piloop("comment", "list")
    assert "comment#2 escalation P0 on project#1 by human" in listed
    assert "    two\n    lines [2J" in listed
    assert "It works" in piloop("comment", "list", "run#1")
    assert "no comments" in piloop("comment", "list", "idea#1")
    assert "It works" in piloop("comment", "show", "1")
    assert json.loads(piloop("comment", "list", "tiny", "--kind", "finding", "--json"))[0]["ref"] == "comment#1"


def test_texts_may_start_with_a_dash(one_run: Any, piloop: Command, typed: Any) -> None:
    one_run()
    piloop("comment", "add", "run#1", "- half as good\n- twice as fast", "--kind=finding")
    assert json.loads(piloop("comment", "show", "1", "--json"))["body"] == "- half as good\n- twice as fast"
    piloop("idea", "add", "--hypothesis=-5 % is it", "-h in a title", "--plan", "-- then this")
    shown = json.loads(piloop("idea", "show", "2", "--json"))["idea"]
    assert (shown["title"], shown["hypothesis"], shown["plan"]) == ("-h in a title", "-5 % is it", "-- then this")
    assert "1" in piloop("sql", "-- a remark\nSELECT 1")
    assert "No such option" in typed("piloop", "comment", "add", "run#1", "--knid", "note", "x").err


def test_pausing_resuming_and_status(one_run: Any, store: Store, piloop: Command, typed: Any) -> None:
    one_run()
    Project.update(
        store,
        1,
        config_error="name: wrong",
        held_since="2026-01-01T00:00:00.000Z",
        spent=3.5,
        spend_error="no luck",
        actor="daemon",
    )
    assert "tiny is paused" in piloop("pause", "--reason", "lunch")
    status = piloop("status")
    for part in (
        "daemon is not running",
        "paused (lunch)",
        "worker#1  busy",
        "run#1 idea#1 Try it",
        "name: wrong",
        "too many starts failed; piloop resume",
        "spent  $3.50  (the latest look failed: no luck)",
        "sources  human 0 kept of 1 idea",
    ):
        assert part in status
    assert "is active" in piloop("resume", "tiny")
    assert json.loads(piloop("status", "--json"))["projects"][0]["state"] == "active"
    assert typed("herdr", "status", "tiny").out.startswith("daemon is not running")


def test_status_outside_of_every_repo_shows_all(
    project: Path, piloop: Command, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    store.execute(
        "INSERT INTO projects (name, path, config, actor) SELECT 'other', '/other', config, 'human' FROM projects"
    )
    monkeypatch.chdir("/")
    out = piloop("status")
    assert "tiny  active" in out
    assert "other  active" in out


def test_sql_reads_and_edits_a_little(project: Path, piloop: Command, typed: Any) -> None:
    piloop("idea", "add", "größer 🐑")
    table = piloop("sql", "SELECT id, title, plan FROM ideas")
    assert table == "id  title      plan\n1   größer 🐑\n"
    assert json.loads(piloop("sql", "SELECT id FROM ideas", "--json"))["rows"] == [[1]]
    assert piloop("sql", "UPDATE ideas SET priority = 0") == "1 rows changed\n"
    for statement in ("DROP TABLE ideas", "DELETE FROM events", "SELECT 1; SELECT 2", "BEGIN", "nonsense", ""):
        done = typed("piloop", "sql", statement)
        assert done.code != 0
        assert done.err.startswith("error: ")


def test_events_are_printed_and_followed(project: Path, piloop: Command) -> None:
    piloop("idea", "add", "One")
    lines = piloop("events", "--kind", "idea").splitlines()
    assert len(lines) == 1
    assert "idea.added" in lines[0]
    number = lines[0].split()[0]
    assert piloop("events", "--after", number) == ""
    assert [json.loads(line)["id"] for line in piloop("events", "-n", "2", "--json").splitlines()][1] == int(
        number
    )


def test_follow_prints_what_happens_meanwhile(project: Path, piloop: Command) -> None:
    command = [sys.executable, "-m", "herdr.cli", "events", "--follow", "--json", "--kind", "idea"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        piloop("idea", "add", "Meanwhile")
        assert json.loads(follower.stdout.readline())["payload"]["title"] == "Meanwhile"
        follower.terminate()
        follower.wait(10)


@pytest.mark.parametrize(
    ("state", "detail", "code", "said"),
    [
        ("received", "seen on its screen", 0, "worker#1 received it (seen on its screen)"),
        ("unconfirmed", None, 1, "nothing shows that it was taken"),
        ("failed", "the agent ended", 1, "was not typed: the agent ended"),
        (
            "queued",
            "a dialog is open",
            1,
            "after 0.01 s: nothing was typed yet: a dialog is open\nfix: the message",
        ),
        ("queued", None, 1, "nothing was typed yet: worker#1 is starting, or another message goes first"),
        ("typed", None, 1, "after 0.01 s: it was typed, and nothing shows yet that it was taken\nfix: it is not"),
    ],
)
def test_prompt_says_what_became_of_the_text(
    one_run: Any,
    store: Store,
    typed: Any,
    monkeypatch: pytest.MonkeyPatch,
    state: MessageState,
    detail: str | None,
    code: int,
    said: str,
) -> None:
    one_run()
    monkeypatch.setattr("herdr.daemon.lock.daemon_pid", lambda _home: 1)
    # Stands in for the daemon: settles the message while the command waits.
    settle = _settler(store, state, detail)
    monkeypatch.setattr("herdr.cli.prompt.time.sleep", settle)
    done = typed(
        "piloop", "prompt", "worker#1", "go", "--timeout", "0.01" if state in ("queued", "typed") else "30"
    )
    assert done.code == code
    assert said in (done.out + done.err)


def _settler(store: Store, state: MessageState, detail: str | None) -> Callable[[float], None]:
    def settle(_seconds: float) -> None:
        Message.update(store, 1, state=state, detail=detail, actor="daemon")

    return settle


def test_prompt_needs_a_daemon_and_a_live_agent(
    one_run: Any, store: Store, typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_run()
    done = typed("piloop", "prompt", "1", "go")
    assert (done.code, "the daemon is not running" in done.err) == (1, True)
    assert store.execute("SELECT count(*) FROM messages").fetchone()[0] == 0
    monkeypatch.setattr("herdr.daemon.lock.daemon_pid", lambda _home: 1)
    Agent.update(store, 1, state="ended", actor="daemon")
    assert "worker#1 has ended" in typed("piloop", "prompt", "1", "go").err
