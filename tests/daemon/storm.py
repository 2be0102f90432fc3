"""A campaign whose daemon, or tmux server, is killed at random moments, and what must hold all the same."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections import Counter
from pathlib import Path

from .conftest import Campaign, install_plugin, wait_until

#: A plugin that keeps the number of every fact it is told.
PLUGIN = """
import os
from herdr.api import hookimpl

def keep(hook, event_id):
    with open(os.environ["FACTS_LOG"], "a") as file:
        file.write(f"{event_id} {hook}\\n")

@hookimpl
def herdr_agent_started(event_id): keep("started", event_id)

@hookimpl
def herdr_agent_ended(event_id): keep("ended", event_id)

@hookimpl
def herdr_attempt(event_id): keep("attempt", event_id)

@hookimpl
def herdr_submit(event_id): keep("submit", event_id)

@hookimpl
def herdr_release(event_id): keep("release", event_id)
"""
FACTS = ("agent.started", "agent.ended", "candidate.judged", "candidate.skipped", "head.moved", "run.settled")


class Storm:
    """Starts the ideas, kills what it is told to kill, and checks what came of it."""

    def __init__(self, campaign: Campaign, seed: int, *, texts: bool = True) -> None:
        """With `texts`, some agents wait for one; those in the background would get none."""
        self.campaign = campaign
        self.listen = "message" if texts else "say nothing to hear"
        self.random = random.Random(seed)
        folder = campaign.root.parent / "plugin"
        self.env = install_plugin(folder, PLUGIN) | {"FACTS_LOG": str(folder / "facts.log")}
        self.ideas = 0

    def add_ideas(self, count: int) -> None:
        """Ideas that commit, commit twice, leave work uncommitted, listen, and fail to start once."""
        for number in range(self.ideas, self.ideas + count):
            pause = f"sleep {self.random.uniform(0.1, 0.6):.2f}"
            kinds = [
                [pause, f"commit number={number}.1 a{number}", pause],
                [f"commit number={number}.1 a{number}", pause, f"commit number={number}.2 b{number}"],
                [pause, f"commit number={number}.1 a{number}", f"write left.{number} x", pause],
                [self.listen, f"commit number={number}.1 a{number}"],
                ["first 1 exit 3", pause, f"commit number={number}.1 a{number}"],
            ]
            self.campaign.idea(f"idea {number}", *kinds[number % len(kinds)])
        self.ideas += count

    def prompt_listeners(self) -> None:
        """One prompt to each agent that has none yet, from a person who does not know that anything is wrong."""
        waiting = self.campaign.rows(
            "SELECT a.id FROM agents a JOIN runs r ON r.id = a.run_id"
            " WHERE a.state <> 'ended' AND r.idea_id % 5 = 4"
            " AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.agent_id = a.id AND m.kind = 'prompt')"
        )
        for (agent_id,) in waiting:
            self.campaign.prompt(agent_id, f"for agent {agent_id}")

    def unsettled(self) -> int:
        done = self.campaign.value("SELECT count(DISTINCT idea_id) FROM runs WHERE settled_at IS NOT NULL")
        return self.ideas - int(done or 0)

    def kill_daemon(self, times: int) -> None:
        """Kill -9 the daemon at random moments of its work; it always comes back."""
        for _ in range(times):
            self.campaign.up(**self.env)
            until = time.monotonic() + self.random.uniform(0.3, 3.0)
            while time.monotonic() < until:
                self.prompt_listeners()
                time.sleep(0.05)  # the moment is random, and nothing waits for it
            if not self.unsettled():
                self.add_ideas(5)
            self.campaign.kill()

    def kill_tmux(self, times: int) -> None:
        """Kill -9 the tmux server under a running daemon, each time while agents live in it."""
        self.campaign.up(**self.env)
        for _ in range(times):
            if self.unsettled() < 2:
                self.add_ideas(5)
            self.campaign.wait("SELECT 1 FROM agents WHERE state <> 'ended' AND started_at IS NOT NULL")
            time.sleep(self.random.uniform(0.0, 0.5))  # the moment is random, and nothing waits for it
            pid = wait_until(
                lambda: self.campaign.tmux("display-message", "-p", "#{pid}", check=False).strip(), "tmux is up"
            )
            os.kill(int(pid), signal.SIGKILL)
        self.campaign.kill()

    def finish(self, seconds: float = 120.0) -> None:
        """Let the campaign come to its end."""
        self.campaign.up(**self.env)

        def over() -> bool:
            self.prompt_listeners()
            return not self.unsettled()

        wait_until(over, "every idea is settled", seconds)
        newest = int(self.campaign.value("SELECT max(id) FROM events WHERE kind IN ('run.settled')"))
        log = Path(self.env["FACTS_LOG"])
        wait_until(lambda: f"{newest} " in log.read_text(), "the plugin has every fact")

    def check(self, *, lost: bool = False) -> None:
        """What must hold after any storm; `lost`: agents were taken away with their tmux server."""
        self._runs_end_once()
        self._no_commit_is_lost_or_scored_twice()
        self._no_agent_starts_twice()
        if not lost:
            self._one_agent_per_start()
        self._nothing_is_typed_twice()
        self._plugins_get_each_fact()

    def _runs_end_once(self) -> None:
        final = "('run.succeeded', 'run.failed', 'run.timed_out', 'run.cancelled')"
        sql = f"SELECT target_id, count(*) FROM events WHERE kind IN {final} GROUP BY target_id"
        ends = dict(self.campaign.rows(sql))
        assert set(ends.values()) == {1}, ends
        per_idea = dict(self.campaign.rows("SELECT idea_id, count(*) FROM runs GROUP BY idea_id"))
        assert set(per_idea.values()) == {1}, per_idea
        assert not self.campaign.rows("SELECT id FROM runs WHERE state <> 'succeeded' OR settled_at IS NULL")

    def _no_commit_is_lost_or_scored_twice(self) -> None:
        made = {line.split()[-1] for line in self.campaign.said() if " committed " in line}
        known = {row[0] for row in self.campaign.rows("SELECT commit_sha FROM run_commits")}
        assert made
        assert made <= known, made - known
        sql = "SELECT target_id, count(*) FROM events WHERE kind = 'measurement.done' GROUP BY target_id"
        scored = dict(self.campaign.rows(sql))
        assert set(scored.values()) == {1}, scored
        assert not self.campaign.rows(
            "SELECT id FROM candidates WHERE verdict IS NULL AND origin IN ('run', 'recovered', 'rebase')"
        )

    def _no_agent_starts_twice(self) -> None:
        starts = Counter(line.split()[0] for line in self.campaign.said() if " start " in line)
        assert set(starts.values()) == {1}, starts

    def _one_agent_per_start(self) -> None:
        """A daemon that comes back finds the agents it had; only starts that failed are followed by another."""
        started = self.campaign.rows(
            "SELECT a.run_id, count(*), sum(a.failed_start) FROM agents a WHERE a.started_at IS NOT NULL"
            " GROUP BY a.run_id"
        )
        assert all(count == failed + 1 for _, count, failed in started), [tuple(row) for row in started]

    def _nothing_is_typed_twice(self) -> None:
        lines = [line for line in self.campaign.said() if " got " in line]
        # One whose prompt was lost with a daemon waits until the warning that its time is nearly up.
        got = [line.partition(" got ") for line in lines if " seconds are left" not in line]
        assert len({text for _, _, text in got}) == len(got), got
        for actor, _, text in got:
            assert text == f"for agent {actor.partition('#')[2]}"
        states = {row[0] for row in self.campaign.rows("SELECT state FROM messages WHERE kind = 'prompt'")}
        assert states <= {"received", "unconfirmed", "failed"}

    def _plugins_get_each_fact(self) -> None:
        first = self.campaign.value("SELECT min(id) FROM events WHERE kind = 'run.queued'")
        marks = ", ".join("?" for _ in FACTS)
        sql = f"SELECT id FROM events WHERE id >= ? AND kind IN ({marks})"
        facts = {row[0] for row in self.campaign.rows(sql, first, *FACTS)}
        told = [
            int(re.findall(r"^\d+", line)[0]) for line in Path(self.env["FACTS_LOG"]).read_text().splitlines()
        ]
        # A baseline's head and a candidate without a run are facts of nobody's run.
        missing = facts - set(told)
        assert not missing, missing
        assert sorted(set(told)) == list(dict.fromkeys(told)), "facts are told in order"
