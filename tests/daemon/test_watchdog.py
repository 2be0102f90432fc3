"""The watchdog: told of what goes wrong as it happens, once, and asked for a look now and then."""

from __future__ import annotations

import pytest

from herdr.ops.project import ResumeProject

from .conftest import Campaign, wait_until
from .test_research import ended, sweeps

ANOMALIES = "SELECT kind, target_kind, target_id, incident, sweep_id FROM anomalies ORDER BY id"


@pytest.fixture
def watched(unregistered: Campaign) -> Campaign:
    orders = ["piloop idea|add|mine", "piloop idea|seed|a hunch|--from|run#1"]
    orders.append("piloop comment|add|project|--kind|finding|looked")
    (unregistered.root / "watchdog.md").write_text("\n".join(f"DO {line}" for line in orders))
    return unregistered


def configure(campaign: Campaign, *triggers: str, top: str = "", interval: float = 0) -> None:
    campaign.configure(slots=1, watchdog=triggers, top=top)
    text = (campaign.root / "piloop.toml").read_text()
    more = f'[roles.watchdog]\naddendum = "watchdog.md"\ninterval = {interval}\n'
    (campaign.root / "piloop.toml").write_text(text.replace("[roles.watchdog]\ninterval = 0\n", more))
    campaign.register()


def test_an_incident_is_looked_into_once_however_often_the_daemon_starts(watched: Campaign) -> None:
    configure(watched, "incident", top="attempts = 1")
    watched.idea("unlucky", "commit number=0 zero", "exit 4")
    watched.up()
    ended(watched)
    brief = watched.value("SELECT brief FROM sweeps")
    assert "run#1 of idea#1 failed: exited with status 4" in brief
    # A watchdog files seeds and no ideas, whatever it tries.
    assert [row[0] for row in watched.rows("SELECT title FROM ideas WHERE source LIKE 'watchdog#%'")] == [
        "a hunch"
    ]
    watched.kill()
    watched.up()
    watched.wait("SELECT count(*) = 2 FROM events WHERE kind = 'daemon.started'")
    watched.idea("also unlucky", "commit number=0 zero", "exit 4")
    ended(watched, 2)
    assert sweeps(watched) == [("watchdog", "incident", "done")] * 2
    told = [tuple(row) for row in watched.rows(ANOMALIES) if row[3]]
    assert told == [("failed_run", "run", 1, 1, 1), ("failed_run", "run", 2, 1, 2)]


def test_what_is_only_worth_a_look_waits_for_a_review(watched: Campaign) -> None:
    configure(watched, "incident", "interval", interval=1)
    watched.idea("same", "write copy.txt x", "commit number=1 same")
    watched.up()
    ended(watched)
    assert sweeps(watched)[0] == ("watchdog", "interval", "done")
    watched.wait("SELECT count(*) = 2 FROM anomalies")
    kinds = {row[0]: row[3] for row in watched.rows(ANOMALIES)}
    assert kinds == {"no_change": 0, "idle_queue": 0}
    # Nothing has run since, so there is nothing to review again.
    watched.settled()
    assert all(trigger == "interval" for _, trigger, _ in sweeps(watched))


def test_a_watchdog_that_cannot_start_calls_no_other(watched: Campaign) -> None:
    (watched.root / "watchdog.md").write_text("DO exit 3")
    configure(watched, "incident", top="attempts = 1")
    watched.idea("unlucky", "commit number=0 zero", "exit 4")
    watched.up()
    watched.wait("SELECT state = 'failed' FROM sweeps")
    watched.wait("SELECT held_since FROM projects")
    watched.ask(ResumeProject())
    wait_until(lambda: watched.value("SELECT held_since FROM projects") is None, "launching goes on")
    watched.idea("fine", "commit number=2 two")
    watched.settled(2)
    assert len(sweeps(watched)) == 1
    assert [row[3] for row in watched.rows(ANOMALIES) if row[0] == "failed_start"] == [0, 0, 0]


def test_a_silent_worker_is_an_incident(watched: Campaign) -> None:
    configure(watched, "incident")
    text = (watched.root / "piloop.toml").read_text()
    (watched.root / "piloop.toml").write_text(text.replace("timeout = 60", "timeout = 1e9"))
    watched.register()
    watched.idea("quiet", "wait go", "commit number=2 two")
    watched.up()
    wait_until(lambda: any("start" in line for line in watched.said()), "the agent works")
    watched.kill()
    watched.store.execute("UPDATE agents SET started_at = '2020-01-01T00:00:00.000Z'")
    watched.up()
    ended(watched)
    assert ("silent_agent", "agent", 1, 1, 1) in [tuple(row) for row in watched.rows(ANOMALIES)]
