"""Ideas, seeds and all that becomes of them, as a person types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from herdr.home import Home
from herdr.store.connection import Store
from herdr.store.rows import Agent, Candidate, Run

Command = Callable[..., str]
DEVELOP = ("--hypothesis", "h", "--evidence", "e", "--check", "c", "--metric", "size", "--effect", "-1 %")


def test_an_idea_from_hunch_to_end(project: Path, piloop: Command, typed: Any) -> None:
    assert typed("piloop", "idea", "seed", "Two trees").code == 2
    seed = piloop("idea", "seed", "tiny", "Two trees", "--from", "candidate#1, a paper")
    assert seed == "idea#1 Two trees (seed, tiny)\n"
    assert piloop("idea", "develop", "1", *DEVELOP, "--proposed") == "idea#1 Two trees (proposed, tiny)\n"
    assert piloop("idea", "approve", "idea#1", "--reason", "go") == "idea#1 Two trees: proposed -> ready\n"
    assert piloop("idea", "priority", "1", "0") == "idea#1 Two trees: priority 0\n"
    assert piloop("idea", "base", "1", "candidate#1") == "idea#1 Two trees: base candidate#1\n"
    assert piloop("idea", "base", "1", "--head") == "idea#1 Two trees: base the head\n"
    assert typed("piloop", "idea", "base", "1").code == 2
    assert piloop("idea", "edit", "1", "--plan", "- first\n- then") == "idea#1 Two trees: new plan\n"
    piloop("idea", "add", "Then that")
    assert piloop("idea", "link", "2", "--after", "1", "--reason", "needs it") == "idea#2: after idea#1\n"
    assert piloop("idea", "park", "1") == "idea#1 Two trees: ready -> parked\n"
    assert "Then that  (after idea#1, which no longer runs)" in piloop("idea", "list")
    assert "waits for  idea#1, which no longer runs" in piloop("idea", "show", "2")
    assert piloop("idea", "unlink", "2", "--after", "1") == "idea#2: no links\n"
    assert piloop("idea", "ready", "1") == "idea#1 Two trees: parked -> ready\n"
    assert piloop("idea", "reject", "1", "--reason", "settled") == "idea#1 Two trees: ready -> rejected\n"
    refused = typed("piloop", "idea", "approve", "1")
    assert refused.code == 1
    assert (
        refused.err == "error: idea#1 is rejected: there is nothing to approve\nfix: piloop idea ready idea#1\n"
    )


def test_every_change_prints_json_too(project: Path, piloop: Command, one_run: Any) -> None:
    one_run("failed", settled_at="2026-01-01T00:00:00.000Z")
    piloop("idea", "seed", "Hunch", "--from", "x")
    for words in (
        ("idea", "add", "Other"),
        ("idea", "seed", "Another hunch", "--from", "y"),
        ("idea", "develop", "2", *DEVELOP),
        ("idea", "park", "1"),
        ("idea", "priority", "1", "4"),
        ("idea", "base", "1", "--head"),
        ("idea", "edit", "1", "--family", "f"),
        ("idea", "link", "1", "--after", "2"),
        ("idea", "unlink", "1", "--after", "2"),
        ("run", "requeue", "1"),
        ("agent", "list"),
        ("agent", "cancel", "1"),
        ("inbox",),
        ("inbox", "show", "idea#4"),
        ("inbox", "wait", "--timeout", "0"),
        ("search", "hunch"),
        ("history",),
        ("schema",),
        ("candidate", "note", "1", "why not"),
        ("candidate", "remeasure", "1", "--reason", "x"),
    ):
        assert json.loads(piloop(*words, "--json")) is not None, words


def test_a_title_that_is_nearly_there_is_warned_of(project: Path, piloop: Command, typed: Any) -> None:
    piloop("idea", "add", "Use a larger batch size")
    done = typed("piloop", "idea", "add", "Use larger batch sizes")
    assert done.code == 0
    assert done.err == "warning: idea#1 is much like it: Use a larger batch size (ready)\n"


def test_a_long_list_is_cut_and_says_so(project: Path, piloop: Command) -> None:
    for name in ("alpha", "beta", "gamma"):
        piloop("idea", "add", name, "--family", name)
    assert "(2 more: --limit)" in piloop("idea", "list", "--limit", "1")
    assert [line.split()[0] for line in piloop("idea", "list", "--family", "beta").splitlines()[1:]] == ["idea#2"]


def test_runs_and_agents_are_ended_and_tried_again(
    one_run: Any, store: Store, piloop: Command, typed: Any
) -> None:
    one_run()
    assert "worker#1  busy" in piloop("agent", "list")
    assert piloop("agent", "cancel", "worker#1") == "worker#1 (busy) will be ended, and run#1 with it\n"
    assert "is not finished" in typed("piloop", "run", "requeue", "1").err
    Run.update(
        store,
        1,
        state="failed",
        end_cause="no_commits",
        settled_at="2026-01-01T00:00:00.000Z",
        finished_at="2026-01-01T00:00:00.000Z",
        actor="daemon",
    )
    Agent.update(store, 1, state="ended", actor="daemon")
    assert piloop("agent", "list") == "no live agents\n"
    assert "left a screen" in typed("piloop", "run", "show", "1", "--screen").err
    folder = Home.from_environ(os.environ).agent_dir(1)
    folder.mkdir(parents=True)
    (folder / "screen.txt").write_text("the end\x1b[2J\n")
    assert piloop("run", "show", "1", "--screen") == "the end[2J\n\n"
    assert "idea#1 Try it: ready -> ready" in piloop("run", "requeue", "1", "--reason", "the disk was full")


def test_candidates_are_imported_noted_and_overruled(project: Path, piloop: Command, typed: Any) -> None:
    (project / "size").write_text("5\n")
    for words in (("commit", "-qam", "Elsewhere"), ("branch", "elsewhere"), ("reset", "-q", "--hard", "HEAD~1")):
        subprocess.run(["git", *words], cwd=project, check=True)
    out = piloop("candidate", "import", "tiny", "elsewhere")
    assert out.startswith("candidate#2 ")
    assert 'next: piloop idea add "…" --base candidate#2' in out
    assert "to score" in piloop("candidate", "list")
    assert "is noted idea#1" in piloop("candidate", "note", "2", "simple", "--follow-up", "Tune it")
    assert "is being scored already" in typed("piloop", "candidate", "remeasure", "2", "--reason", "x").err
    assert piloop("candidate", "remeasure", "1", "--reason", "noise") == "candidate#1 will be scored again\n"
    assert "the only keep" in typed("piloop", "candidate", "verdict", "1", "discard", "--reason", "x").err
    assert typed("piloop", "candidate", "verdict", "1", "discard").code == 2
    assert "candidate#1 is keep" in piloop("candidate", "verdict", "1", "keep", "--reason", "still")


def test_the_inbox_is_listed_answered_and_emptied(one_run: Any, piloop: Command, typed: Any) -> None:
    one_run()
    assert piloop("inbox") == "nothing waits\n"
    piloop("comment", "add", "run#1", "help\nplease", "--kind", "escalation", "--priority", "0")
    piloop("comment", "add", "idea#1", "look", "--priority", "3")
    piloop("idea", "seed", "Hunch", "--from", "x")
    piloop("idea", "add", "Maybe", "--proposed")
    lines = piloop("inbox", "tiny").splitlines()
    order = [
        next(n for n, line in enumerate(lines) if part in line) for part in ("Hunch", "Maybe", "help", "look")
    ]
    assert order == sorted(order)
    assert "2 comments to acknowledge: piloop inbox" in piloop("status")
    assert piloop("inbox", "reply", "1", "do this") == "comment#3 (decision on comment#1)\n"
    shown = piloop("inbox", "show", "comment#3")
    assert "  comment#1 escalation P0 on run#1 by human" in shown
    assert "    > comment#3 decision by human" in shown
    assert "Hunch" in piloop("inbox", "show", "idea#2")
    assert piloop("inbox", "ack", "2") == "acknowledged comment#2\n"
    assert piloop("inbox", "ack", "2") == "acknowledged nothing that was not\n"
    assert "acknowledged" in piloop("inbox", "--all")
    assert typed("piloop", "inbox", "nowhere").code == 2
    assert typed("piloop", "inbox", "ack").code == 2


def test_waiting_prints_what_waits_then_only_news(project: Path, piloop: Command) -> None:
    piloop("idea", "seed", "Hunch", "--from", "x")
    first = piloop("inbox", "wait", "tiny")
    assert "Hunch" in first
    following = first.splitlines()[-1].removeprefix("next: piloop ").split()
    assert following[:3] == ["inbox", "wait", "tiny"]
    assert piloop(*following, "--timeout", "0").startswith(
        "nothing happened\nnext: piloop inbox wait tiny --after "
    )


def test_waiting_ends_with_the_news_that_came_between_or_meanwhile(
    project: Path, piloop: Command, typed: Any
) -> None:
    cursor = json.loads(piloop("inbox", "wait", "--timeout", "0", "--json"))["cursor"]
    token = typed("herdr", "orchestrator", "token").out.strip()
    environ = {**os.environ, "HERDR_TOKEN": token}
    command = [sys.executable, "-m", "herdr.cli"]
    subprocess.run(
        [*command, "idea", "seed", "Between", "--from", "x"], env=environ, check=True, capture_output=True
    )
    told = json.loads(piloop("inbox", "wait", "--after", str(cursor), "--json"))
    assert [(e["kind"], e["actor"]) for e in told["events"]] == [("idea.added", "orchestrator")]
    words = ["inbox", "wait", "--after", str(told["cursor"]), "--timeout", "60", "--json"]
    with subprocess.Popen([*command, *words], stdout=subprocess.PIPE, text=True, env=environ) as waiter:
        piloop("comment", "add", "project", "hello", "--priority", "1")
        assert json.loads(waiter.communicate(timeout=50)[0])["events"][0]["kind"] == "comment.note"


def test_search_history_and_schema(project: Path, piloop: Command) -> None:
    piloop("idea", "add", "Gradient boosting", "--hypothesis", "trees help")
    piloop("comment", "add", "idea#1", "boosted once already")
    found = piloop("search", "boosting")
    assert "idea#1" in found
    assert "comment#1" in found
    assert "comment#1" not in piloop("search", "tiny", "boosting", "--ideas")
    assert piloop("search", "nothing of it") == "nothing found\n"
    assert "# What this campaign has tried" in piloop("history")
    assert "- idea#1 (ready, priority 2) Gradient boosting" in piloop("history", "tiny")
    assert "CREATE TABLE ideas" in piloop("schema")


def test_the_orchestrator_by_its_token(project: Path, piloop: Command, typed: Any, monkeypatch: Any) -> None:
    token = typed("herdr", "orchestrator", "token")
    assert len(token.out.strip()) == 32
    assert "export HERDR_TOKEN" in token.err
    monkeypatch.setenv("HERDR_TOKEN", token.out.strip())
    assert "by orchestrator" in piloop("idea", "add", "Mine") + piloop("idea", "show", "1")
    assert "may not use orchestrator.revoke" in typed("herdr", "orchestrator", "revoke").err
    monkeypatch.delenv("HERDR_TOKEN")
    assert typed("herdr", "orchestrator", "revoke").out == "1 token taken back\n"
    monkeypatch.setenv("HERDR_TOKEN", token.out.strip())
    refused = typed("piloop", "idea", "list")
    assert (refused.code, "not the orchestrator's" in refused.err) == (1, True)


@pytest.mark.parametrize("verdict", [None, "keep"])
def test_an_imported_candidate_is_a_reference(project: Path, store: Store, piloop: Command, verdict: Any) -> None:
    Candidate.update(store, 1, origin="imported", verdict=verdict, actor="daemon")
    assert ("reference" if verdict is None else "keep") in piloop("candidate", "list")
