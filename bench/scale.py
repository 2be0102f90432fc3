"""A long campaign beside one of a tenth of it: what is done all day may cost three times as much, no more."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import anyio

from bench.report import Row, figure, spread
from bench.stand import Stand, stand
from herdr.config import Config
from herdr.contract.words import IdeaStatus
from herdr.daemon.app_context import AppContext, Fleet, Work
from herdr.daemon.main import gather_harnesses
from herdr.daemon.runs.briefing import compose_brief
from herdr.daemon.scheduling.links import reconcile_links
from herdr.daemon.scheduling.scheduler import queue_runs
from herdr.daemon.scheduling.stopping import Stopping
from herdr.daemon.scheduling.sweeps import queue_sweeps
from herdr.ops.core import Context, run
from herdr.ops.idea.reading import ListIdeas
from herdr.ops.inbox import ListInbox
from herdr.ops.project import ShowStatus
from herdr.plugins import PluginHost
from herdr.repo.own import own_of
from herdr.store.connection import open_store, transaction
from herdr.store.rows import Agent, Candidate, Comment, Idea, Measurement, Run, Sweep, find, get_or_none

#: Ideas with a run each, and about ten times as many events.
LONG, ROUNDS, SLOTS = 10_000, 15, 8
RATIO, ALONE = 3.0, " alone"
#: One idea in so many waits, and half of those wait for another one that does.
WAITING, KEPT = 10, 10
BIN = Path(sys.executable).parent
COMMANDS = (("piloop", "status"), ("piloop", "idea", "list"))
STAMP = "2026-01-01T00:00:00.000Z"
#: What is measured, by name; each call does it once.
Deeds = Mapping[str, Callable[[], object]]


def measure() -> list[Row]:
    """Each deed in both campaigns, and how many times as much it takes in the long one."""
    harness = {"none": {"interactive": ["true"]}}
    with (
        stand(harness, slots=SLOTS) as short,
        closing(_Campaign(short, LONG // 10)) as less,
        stand(harness, slots=SLOTS) as long,
        closing(_Campaign(long, LONG)) as more,
    ):
        rows = [figure(f"events of {LONG:,} ideas with a run each", more.events, "")]
        return rows + [_compare(what, less.deeds[what], deed) for what, deed in more.deeds.items()]


def _compare(what: str, before: Callable[[], object], after: Callable[[], object]) -> Row:
    """Measure both in turn, so that other work on the machine slows both down alike."""
    pairs = [(_time(before), _time(after)) for _ in range(ROUNDS + 1)][1:]
    milliseconds = 1000 * sorted(after for _, after in pairs)[ROUNDS // 2]
    ratios = [after / before for before, after in pairs]
    note = f"{milliseconds:.1f} ms"
    # What an operation takes without the command around it says where that would be over its budget first.
    budget = None if what.endswith(ALONE) else RATIO
    return spread(f"{what}, times a tenth of the campaign", ratios, "x", budget=budget, note=note)


def _time(deed: Callable[[], object]) -> float:
    begin = time.perf_counter()
    deed()
    return time.perf_counter() - begin


class _Campaign:
    """A filled campaign, and what is done in it."""

    def __init__(self, place: Stand, ideas: int) -> None:
        _fill(place, ideas)
        self.events = int(place.value("SELECT count(*) FROM events"))
        self._app = _app(place)
        self.deeds: Deeds = {
            **_commands(place.root, dict(os.environ)),
            **_operations(place),
            **_daemon(self._app),
            **_briefs(self._app),
        }

    def close(self) -> None:
        """Close what its daemon would have open."""
        self._app.store.close()


# --- what is measured ------------------------------------------------------------------------------------------


def _commands(cwd: Path, environ: Mapping[str, str]) -> Deeds:
    def command(words: tuple[str, ...]) -> Callable[[], object]:
        argv = [str(BIN / words[0]), *words[1:]]
        return lambda: subprocess.run(argv, cwd=cwd, env=environ, check=True, stdout=subprocess.DEVNULL)

    return {" ".join(words): command(words) for words in COMMANDS}


def _operations(place: Stand) -> Deeds:
    """The same without the start of an interpreter, which would hide what they cost themselves."""
    context = Context(conn=place.store, home=place.home, actor="human", cwd=place.root)
    return {
        f"status{ALONE}": lambda: run(context, ShowStatus()),
        f"idea list{ALONE}": lambda: run(context, ListIdeas()),
        f"inbox{ALONE}": lambda: run(context, ListInbox()),
    }


def _app(place: Stand) -> AppContext:
    host = PluginHost(environ=os.environ)
    store = open_store(place.home.database, mode="daemon", actor="daemon")
    app = AppContext(place.home, store, host, gather_harnesses(host))
    config = Config.from_json(place.project.config)
    own = own_of(place.home, place.root, place.project.name)
    fleet = Fleet(place.project, config, app.harnesses.configured(config.harness), None, own)  # type: ignore[arg-type]
    fleet.rotation = ("none",)
    app.fleets[fleet.project_id] = fleet
    return app


def _daemon(app: AppContext) -> Deeds:
    (fleet,) = app.fleets.values()

    def one_pass() -> None:
        """All that a pass asks after a start of the daemon, which remembers nothing; it is taken back."""
        store = app.store
        store.execute("BEGIN IMMEDIATE")
        try:
            reconcile_links(app, fleet.project_id)
            Stopping(app).reconcile(fleet)
            queue_sweeps(app, fleet)
            if not queue_runs(app, fleet):
                raise RuntimeError("a pass with free slots queued nothing")
        finally:
            store.execute("ROLLBACK")

    return {"one scheduler pass": one_pass}


def _briefs(app: AppContext) -> Deeds:
    (fleet,) = app.fleets.values()
    store = app.store
    last = find(store, Run, "ORDER BY id DESC")
    agent = find(store, Agent, "ORDER BY id DESC")
    assert last is not None
    assert agent is not None
    sweep_id = Sweep.insert(
        store,
        project_id=fleet.project_id,
        harness="none",
        actor="daemon",
        role="research",
        trigger="seed",
        base_id=last.base_id,
    )
    sweep = get_or_none(store, Sweep, sweep_id)
    assert sweep is not None
    researcher = Agent.insert(
        store,
        project_id=fleet.project_id,
        harness="none",
        actor="daemon",
        role="research",
        sweep_id=sweep_id,
        session_id="",
        token_hash="",
    )
    research = get_or_none(store, Agent, researcher)
    assert research is not None

    def brief(work: Work, whose: Agent) -> Callable[[], object]:
        return lambda: anyio.run(compose_brief, app, fleet, work, whose)

    return {"a worker's brief": brief(last, agent), "a researcher's brief": brief(sweep, research)}


# --- the campaign ----------------------------------------------------------------------------------------------


def _fill(place: Stand, ideas: int) -> None:
    """Write a campaign straight into the store, each row as the daemon would have changed it."""
    project = place.project
    assert project.head_id is not None
    assert project.evaluator_id is not None
    with transaction(place.store):
        parent = project.head_id
        for number in range(1, ideas + 1):
            parent = _add_idea(place, project.id, project.evaluator_id, number, parent)
        place.store.execute("UPDATE projects SET head_id = ?, actor = 'daemon'", (parent,))
        for number in range(1, ideas // WAITING + 1):
            _add_waiting(place, project.id, ideas + number, blocked=number % 2 == 0)


def _add_idea(place: Stand, project_id: int, evaluator_id: int, number: int, parent: int) -> int:
    """An idea that was tried; the candidate that the next one starts from."""
    store = place.store
    source = ("human", f"research#{number // 10 + 1}")[number % 2]
    idea = Idea.insert(
        store,
        project_id=project_id,
        actor="daemon",
        title=f"idea {number}",
        hypothesis=f"why {number} helps",
        family=f"family {number % 20}",
        source=source,
        priority=number % 5,
    )
    store.execute("UPDATE ideas SET status = 'scheduled' WHERE id = ?", (idea,))
    run_id = Run.insert(
        store, project_id=project_id, actor="daemon", idea_id=idea, number=1, base_id=parent, harness="none"
    )
    agent = Agent.insert(
        store,
        project_id=project_id,
        actor="daemon",
        session_id=secrets.token_hex(8),
        token_hash="",
        run_id=run_id,
        harness="none",
        tokens_in=1000,
        tokens_out=10,
    )
    store.execute("UPDATE runs SET state = 'running', started_at = ? WHERE id = ?", (STAMP, run_id))
    store.execute("UPDATE agents SET started_at = ?, state = 'busy' WHERE id = ?", (STAMP, agent))
    Comment.insert(
        store,
        project_id=project_id,
        target_kind="run",
        target_id=run_id,
        kind="finding",
        body=f"what {number} showed",
        actor=f"worker#{agent}",
    )
    store.execute("UPDATE agents SET state = 'ended', ended_at = ? WHERE id = ?", (STAMP, agent))
    ended = "state = 'succeeded', end_cause = 'finished', finished_at = :now"
    store.execute(f"UPDATE runs SET {ended} WHERE id = :run", {"now": STAMP, "run": run_id})  # noqa: S608 - ours
    keep = number % KEPT == 0
    candidate = _add_candidate(place, project_id, run_id, parent, evaluator_id, keep=keep)
    store.execute("UPDATE runs SET settled_at = ? WHERE id = ?", (STAMP, run_id))
    store.execute("UPDATE ideas SET status = 'done' WHERE id = ?", (idea,))
    return candidate if keep else parent


def _add_candidate(
    place: Stand, project_id: int, run_id: int, parent: int, evaluator_id: int, *, keep: bool
) -> int:
    store = place.store
    commit = secrets.token_hex(20)
    candidate = Candidate.insert(
        store,
        project_id=project_id,
        actor="daemon",
        tree_sha=secrets.token_hex(20),
        commit_sha=commit,
        subject=f"try {run_id}",
        origin="run",
        parent_id=parent,
        run_id=run_id,
    )
    values = "(run_id, position, commit_sha, candidate_id) VALUES (?, 1, ?, ?)"
    store.execute(f"INSERT INTO run_commits {values}", (run_id, commit, candidate))
    measured = Measurement.insert(
        store, candidate_id=candidate, evaluator_id=evaluator_id, metrics=f'{{"score": {run_id}}}', actor="daemon"
    )
    store.execute("UPDATE measurements SET state = 'done', seconds = 1.0 WHERE id = ?", (measured,))
    store.execute(
        "UPDATE candidates SET verdict = ?, rule = 'gain', reason = 'as the rule says', on_trunk = ?, bar_id = ?,"
        " judged_at = ?, judged_by = 'daemon' WHERE id = ?",
        ("keep" if keep else "discard", keep, parent, STAMP, candidate),
    )
    return candidate


def _add_waiting(place: Stand, project_id: int, number: int, *, blocked: bool) -> None:
    """An idea that is ready; `blocked` by the one before it. Some seeds wait in the inbox too."""
    status: IdeaStatus = "parked" if number % 50 == 0 else "ready"
    idea = Idea.insert(
        place.store,
        project_id=project_id,
        source="human",
        title=f"waiting {number}",
        status=status,
        priority=number % 5,
        actor="human",
    )
    if blocked:
        values = "(idea_id, target_id, kind, actor) VALUES (?, ?, 'after', 'human')"
        place.store.execute(f"INSERT INTO idea_links {values}", (idea, idea - 1))
