"""A campaign without panes and git: real operations, scheduler and rules on a real store, and agents made up.

The daemon's steps are the real ones, in the order in which the life of a run takes them. The daemon can be killed
before any of its transactions.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from herdr.config import Config
from herdr.config.structs import Metric, Roles, WorkerRole
from herdr.contract.words import Origin, VerdictWord
from herdr.daemon.app_context import AppContext, Fleet
from herdr.daemon.runs import run_loop
from herdr.daemon.runs.agents import agent_at_work
from herdr.daemon.runs.launcher import enter_agent
from herdr.daemon.runs.post_mortem import PostMortem
from herdr.daemon.runs.supervisor import Ending
from herdr.daemon.scheduling.links import reconcile_links
from herdr.daemon.scheduling.scheduler import queue_runs
from herdr.home import Home
from herdr.ops.core import A, Context, Request, run
from herdr.runtime.api import Exit
from herdr.store.connection import Store, open_store
from herdr.store.rows import Agent, Candidate, Comment, Evaluator, Project, Run, Sweep, fetch, get

SLOTS, ATTEMPTS = 2, 2
CONFIG = Config(
    name="simulated",
    evaluate=("true",),
    metrics=(Metric(name="score", direction="higher", role="primary"),),
    harnesses=("made-up",),
    roles=Roles(worker=WorkerRole(max_concurrent=SLOTS, explore_every=3)),
    attempts=ATTEMPTS,
)
How = Literal[
    "committed", "finding", "failed", "timed_out", "nothing", "lost", "cancelled", "killed", "folder_lost",
    "ending_failed",
]  # fmt: skip


class KilledError(Exception):
    """The daemon was killed here."""


class Mortal(AppContext):
    """The daemon's context, which ends before the transaction after so many more."""

    lives: int | None = None

    @contextmanager
    def transaction(self) -> Iterator[Store]:
        if self.lives == 0 and not self.store.in_transaction:
            raise KilledError
        if self.lives is not None and not self.store.in_transaction:
            self.lives -= 1
        with super().transaction() as store:
            yield store


def make_database(folder: Path) -> Path:
    """A home with a registered project and a research agent in its sweep; to be copied for every example."""
    home = Home(root=folder, socket_name="none").ensure()
    store = open_store(home.database, mode="person", actor="human")
    config = CONFIG.to_json().decode()
    Project.insert(store, name=CONFIG.name, path=str(folder), config=config, actor="human")
    Evaluator.insert(store, project_id=1, key="key", commit_sha="0", definition="{}", actor="human")
    origins: tuple[Origin, ...] = ("baseline", "imported")
    for number, origin in enumerate(origins, 1):
        verdict: VerdictWord | None = "keep" if origin == "baseline" else None
        Candidate.insert(
            store,
            project_id=1,
            tree_sha=str(number),
            commit_sha=str(number),
            subject=origin,
            origin=origin,
            verdict=verdict,
            actor="human",
        )
    Project.update(store, 1, evaluator_id=1, head_id=1, actor="human")
    of: dict[str, Any] = {"project_id": 1, "role": "research", "harness": "made-up", "actor": "daemon"}
    Sweep.insert(store, **of, trigger="low_water", base_id=1, ideas=1000, state="done")
    Agent.insert(store, **of, sweep_id=1, session_id="s", token_hash="", state="ended")
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    return home.database


class Simulated:
    """One campaign: its people, its research agent, its daemon and the agents of its runs."""

    def __init__(self, database: Path, folder: Path) -> None:
        self.home = Home(root=folder, socket_name="none").ensure()
        self.root = database.parent
        shutil.copyfile(database, self.home.database)
        self.person = open_store(self.home.database, mode="person", actor="human")
        self.app = self._start()

    def _start(self) -> Mortal:
        store = open_store(self.home.database, mode="daemon", actor="daemon")
        app = Mortal(self.home, store, None, None)  # type: ignore[arg-type]
        fleet = Fleet(app.project(1), CONFIG, None, None, None)  # type: ignore[arg-type]
        fleet.rotation = ("made-up",)
        app.fleets[1] = fleet
        return app

    def close(self) -> None:
        self.person.close()
        self.app.store.close()

    @property
    def fleet(self) -> Fleet:
        return self.app.fleets[1]

    def rows(self, sql: str, *args: object) -> list[Any]:
        return self.person.execute(sql, args).fetchall()

    def runs(self, where: str) -> list[int]:
        return [row[0] for row in self.rows(f"SELECT id FROM runs WHERE {where} ORDER BY id")]

    # --- people and research ---------------------------------------------------------------------------------

    def ask(self, request: Request[A]) -> A:
        context = Context(conn=self.person, home=self.home, actor="human", cwd=self.root)
        return run(context, request)

    def ask_as_research(self, request: Request[A]) -> A:
        agent = get(self.person, Agent, 1)
        context = Context(conn=self.person, home=self.home, actor=agent.name, cwd=self.root, agent=agent)
        return run(context, request)

    # --- the daemon ------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Another daemon takes over; all that the one before had in memory is gone."""
        self.app.store.close()
        self.app = self._start()

    def look(self) -> None:
        """One pass of the scheduler."""
        reconcile_links(self.app, 1)
        queue_runs(self.app, self.fleet)

    def launch(self, number: int) -> None:
        """Start an agent of a run, if one may be started."""
        run = get(self.app.store, Run, number)
        if agent_at_work(self.app.store, run) is None and not run_loop._not_now(self.app, run):
            enter_agent(self.app, self.fleet, run, "token")

    def end(self, number: int, how: How) -> None:
        """The agent of a run ends, and what follows from that."""
        run = get(self.app.store, Run, number)
        agent = agent_at_work(self.app.store, run)
        assert agent is not None
        if how == "finding":
            Comment.insert(
                self.person,
                project_id=1,
                target_kind="run",
                target_id=run.id,
                kind="finding",
                body="so",
                actor=agent.name,
            )
        post_mortem = PostMortem(
            commits=int(how in ("committed", "failed")),
            lost="it is a link" if how == "folder_lost" else "",
            failed="the disk is full" if how == "ending_failed" else "",
        )
        run_loop._ended(self.app, run, agent, _ending(how), post_mortem)

    def settle(self, number: int) -> None:
        """What a run left is judged, and its idea moves; without commits there is nothing to wait for."""
        run_loop._settle(self.app, self.fleet, get(self.app.store, Run, number))

    def open_agents(self) -> list[Agent]:
        return fetch(self.person, Agent, "WHERE state <> 'ended' ORDER BY id")


def _ending(how: How) -> Ending:
    if how == "killed":
        return Ending(lost=True, cause="killed")
    if how == "failed":
        return Ending(exit=Exit(status=3))
    if how in ("timed_out", "lost", "cancelled"):
        ended: dict[str, Any] = {how: True}
        return Ending(**ended)
    return Ending(exit=Exit(status=0))
