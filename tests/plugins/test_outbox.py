"""Facts reach plugins in order and at least once, whatever fails and whenever the daemon dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from herdr.daemon.change_notifier import ChangeNotifier
from herdr.daemon.io.outbox import FACTS, FIRST_RETRY, LAST_RETRY, Outbox
from herdr.plugins import PluginHost
from herdr.store.connection import Store, open_store, transaction
from herdr.store.cursors import stuck_plugins

Install = Callable[..., None]

#: Writes each fact it gets as a line of JSON; refuses while a file `refuse` stands beside it.
NOTEBOOK = """
import json, pathlib
BOOK = pathlib.Path({book!r})

def note(hook, event_id, *facts):
    if BOOK.with_name("refuse").exists():
        raise ConnectionError("the forge is down")
    with BOOK.open("a") as file:
        file.write(json.dumps([event_id, hook, *[str(fact) for fact in facts]]) + "\\n")

@hookimpl
def herdr_agent_started(event_id, agent): note("herdr_agent_started", event_id, agent.name, agent.state)
@hookimpl
def herdr_agent_ended(event_id, agent): note("herdr_agent_ended", event_id, agent.name, agent.cause)
@hookimpl
def herdr_attempt(event_id, run, candidate, measurement, verdict):
    metrics = measurement and dict(measurement.metrics)
    note("herdr_attempt", event_id, run.id, candidate.commit, metrics, verdict)
@hookimpl
def herdr_submit(event_id, run, candidate): note("herdr_submit", event_id, run.id, candidate.commit)
@hookimpl
def herdr_release(event_id, run, reason): note("herdr_release", event_id, run.id, reason)
@hookimpl
def herdr_escalate(event_id, escalation): note("herdr_escalate", event_id, escalation.target, escalation.body)
"""
START = """
INSERT INTO projects (name, path, config, actor) VALUES ('p', '/p', '{}', 'human');
INSERT INTO candidates (project_id, tree_sha, commit_sha, subject, origin, touched, actor)
    VALUES (1, 't0', 'c0', 's', 'baseline', '[]', 'daemon');
INSERT INTO evaluators (project_id, key, commit_sha, definition, actor) VALUES (1, 'k', 'c', '{}', 'daemon');
INSERT INTO ideas (project_id, title, source, actor) VALUES (1, 'first', 'human', 'human');
INSERT INTO runs (project_id, idea_id, number, base_id, harness, actor) VALUES (1, 1, 1, 1, 'command', 'daemon');
INSERT INTO agents (project_id, run_id, harness, session_id, token_hash, actor)
    VALUES (1, 1, 'command', 's', 'h', 'daemon');
UPDATE candidates SET verdict = 'keep';
INSERT INTO comments (project_id, target_kind, target_id, kind, body, priority, actor)
    VALUES (1, 'run', 1, 'escalation', 'long ago', 1, 'daemon');
"""
CAMPAIGN = """
UPDATE agents SET started_at = 'now';
UPDATE agents SET state = 'busy';
INSERT INTO candidates (project_id, run_id, tree_sha, commit_sha, subject, origin, touched, actor)
    VALUES (1, 1, 't1', 'c1', 's', 'run', '[]', 'daemon');
INSERT INTO candidates (project_id, run_id, tree_sha, commit_sha, subject, origin, touched, actor)
    VALUES (1, 1, 't2', 'c2', 's', 'skipped', '[]', 'daemon');
UPDATE agents SET state = 'ended', cause = 'exited';
INSERT INTO measurements (candidate_id, evaluator_id, state, metrics, actor)
    VALUES (2, 1, 'done', '{"length": 7.5}', 'daemon');
UPDATE candidates SET verdict = 'keep' WHERE id = 2;
UPDATE projects SET head_id = 2;
UPDATE projects SET head_id = 1;
UPDATE runs SET end_cause = 'finished', settled_at = 'now';
INSERT INTO comments (project_id, target_kind, target_id, kind, body, priority, actor)
    VALUES (1, 'run', 1, 'escalation', 'look', 1, 'daemon');
"""
TOLD = [
    ["herdr_agent_started", "worker#1", "ended"],
    ["herdr_attempt", "1", "c2", "None", "None"],
    ["herdr_agent_ended", "worker#1", "exited"],
    ["herdr_attempt", "1", "c1", "{'length': 7.5}", "keep"],
    ["herdr_submit", "1", "c1"],
    ["herdr_release", "1", "finished"],
    ["herdr_escalate", "run#1", "look"],
]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def write(store: Store, script: str) -> None:
    with transaction(store):
        for statement in script.split(";\n"):
            store.execute(statement)


def told(book: Path) -> list[list[Any]]:
    return [json.loads(line) for line in book.read_text().splitlines()] if book.exists() else []


def failures(store: Store) -> list[dict[str, str]]:
    rows = store.execute("SELECT payload FROM events WHERE kind = 'plugin.failed' ORDER BY id")
    return [json.loads(row[0]) for row in rows]


def feed(outbox: Outbox, plugin: str = "notebook", times: int = 100) -> list[float | None]:
    """Step until there is nothing to do at once, and return what the steps said."""
    waits: list[float | None] = []

    async def steps() -> None:
        while len(waits) < times and (not waits or waits[-1] == 0):
            waits.append(await outbox.step(plugin))

    anyio.run(steps)
    return waits


@pytest.fixture
def book(tmp_path: Path, install: Install) -> Path:
    book = tmp_path / "book"
    install("notebook", NOTEBOOK.format(book=str(book)))
    return book


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "home" / "herdr.db", mode="daemon", actor="daemon")) as store:
        write(store, START)
        yield store


def test_each_kind_of_fact_arrives_once_and_in_order(store: Store, book: Path) -> None:
    outbox = Outbox(store, PluginHost(), ChangeNotifier())
    assert outbox.plugins() == ["notebook"]
    feed(outbox)
    assert told(book) == []  # what was before the plugin is not told
    write(store, CAMPAIGN)
    assert feed(outbox) == [0] * 7 + [None]
    assert [line[1:] for line in told(book)] == TOLD
    ids = [line[0] for line in told(book)]
    assert ids == sorted(set(ids))
    assert {line[1] for line in told(book)} == {hook for hook, _ in FACTS.values()}


def test_a_new_daemon_goes_on_where_the_old_one_was(store: Store, book: Path) -> None:
    feed(Outbox(store, PluginHost(), ChangeNotifier()))
    write(store, CAMPAIGN)
    for _ in range(4):
        feed(Outbox(store, PluginHost(), ChangeNotifier()), times=2)
    assert [line[1:] for line in told(book)] == TOLD


def test_a_fact_that_was_given_but_not_noted_down_is_given_again(store: Store, book: Path) -> None:
    outbox = Outbox(store, PluginHost(), ChangeNotifier())
    feed(outbox)
    write(store, CAMPAIGN)
    store.set_authorizer(lambda action, first, *_: int(action == 23 and first == "plugin_cursors"))  # 23: UPDATE
    with pytest.raises(Exception, match="not authorized"):
        feed(outbox)
    assert len(told(book)) == 1
    store.close()
    with closing(open_store(store.path, mode="daemon", actor="daemon")) as after:
        feed(Outbox(after, PluginHost(), ChangeNotifier()))
    assert told(book)[0] == told(book)[1]
    assert [line[1:] for line in told(book)[1:]] == TOLD


def test_a_failing_plugin_backs_off_is_named_and_misses_nothing(
    store: Store, book: Path, install: Install, tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere" / "book"
    other.parent.mkdir()
    install("other", NOTEBOOK.format(book=str(other)))
    clock = Clock()
    outbox = Outbox(store, PluginHost(), ChangeNotifier(), clock)
    feed(outbox), feed(outbox, "other")
    write(store, CAMPAIGN)
    refuse = book.with_name("refuse")
    refuse.write_text("")
    waits = []
    for _ in range(11):
        (wait,) = feed(outbox)
        assert wait is not None
        assert feed(outbox) == [wait]  # too early: the plugin is not asked
        clock.now += wait
        waits.append(wait)
    assert waits == [min(FIRST_RETRY * 2**n, LAST_RETRY) for n in range(11)]
    assert waits[-1] == 300
    feed(outbox, "other")
    assert [line[1:] for line in told(other)] == TOLD
    (stuck,) = stuck_plugins(store)
    assert (stuck.plugin, stuck.failures) == ("notebook", 11)
    assert str(stuck.error).startswith("herdr_agent_started: ConnectionError: the forge is down")
    (failure,) = failures(store)
    assert (failure["plugin"], failure["hook"]) == ("notebook", "herdr_agent_started")
    refuse.unlink()
    feed(outbox)
    assert [line[1:] for line in told(book)] == TOLD
    assert stuck_plugins(store) == []


def test_a_clock_set_back_does_not_silence_a_plugin(store: Store, book: Path) -> None:
    clock = Clock()
    outbox = Outbox(store, PluginHost(), ChangeNotifier(), clock)
    feed(outbox)
    write(store, CAMPAIGN)
    book.with_name("refuse").write_text("")
    feed(outbox)
    book.with_name("refuse").unlink()
    clock.now -= 1_000_000
    feed(outbox)
    assert len(told(book)) == len(TOLD)


def test_a_plugin_that_cannot_be_loaded_is_in_the_log(store: Store, install: Install) -> None:
    install("broken", "1 / 0")
    outbox = Outbox(store, PluginHost(), ChangeNotifier())
    (failure,) = failures(store)
    assert (failure["plugin"], failure["hook"]) == ("broken", "load")
    assert "ZeroDivisionError" in failure["error"]
    assert outbox.plugins() == []


def test_a_project_that_blocks_a_plugin_does_not_feed_it(store: Store, book: Path) -> None:
    outbox = Outbox(store, PluginHost(), ChangeNotifier())
    feed(outbox)
    store.execute("UPDATE projects SET config = ?", (json.dumps({"plugins": {"block": ["notebook"]}}),))
    write(store, CAMPAIGN)
    assert feed(outbox) == [None]
    assert told(book) == []


def test_running_it_follows_the_log(store: Store, book: Path) -> None:
    async def story() -> None:
        changes = ChangeNotifier()
        outbox = Outbox(store, PluginHost(), changes)
        async with anyio.create_task_group() as group:
            group.start_soon(outbox.run)
            with anyio.fail_after(20):
                while not store.execute("SELECT count(*) FROM plugin_cursors").fetchone()[0]:
                    await anyio.sleep(0.01)
                write(store, CAMPAIGN)
                changes.notify()
                while len(told(book)) < len(TOLD):
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    anyio.run(story)
    assert [line[1:] for line in told(book)] == TOLD


DAEMON = """
import sys
from pathlib import Path
import anyio
from herdr.daemon.change_notifier import ChangeNotifier
from herdr.daemon.io.outbox import Outbox
from herdr.plugins import PluginHost
from herdr.store.connection import open_store
store = open_store(Path(sys.argv[1]), mode="daemon", actor="daemon")
anyio.run(Outbox(store, PluginHost(), ChangeNotifier()).run)
"""


def test_killed_at_any_moment_it_loses_no_fact_and_keeps_the_order(
    store: Store, book: Path, tmp_path: Path
) -> None:
    feed(Outbox(store, PluginHost(), ChangeNotifier()))
    with transaction(store):
        for number in range(60):
            store.execute(
                "INSERT INTO comments (project_id, target_kind, target_id, kind, body, priority, actor)"
                " VALUES (1, 'run', 1, 'escalation', ?, 1, 'daemon')",
                (str(number),),
            )
    path = os.pathsep.join([str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    for goal in (5, 20, 40, 60):
        daemon = subprocess.Popen(
            [sys.executable, "-c", DAEMON, store.path],
            env={**os.environ, "PYTHONPATH": path},
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + 20
        while len({line[0] for line in told(book)}) < goal:
            assert time.monotonic() < deadline
            assert daemon.poll() is None
            time.sleep(0.005)
        daemon.send_signal(signal.SIGKILL)
        daemon.communicate()
    bodies = [int(line[3]) for line in told(book)]
    assert sorted(set(bodies)) == list(range(60))
    assert bodies == sorted(bodies)
    assert len(bodies) <= 60 + 3
