"""Gathers what an agent is told, and has the plugins compose its brief."""

from __future__ import annotations

from pathlib import Path

import msgspec

from herdr.config import Config
from herdr.contract.facts import BriefContext, BriefSection, SeedInfo, SweepInfo
from herdr.contract.words import Direction, LinkForm, MetricRole
from herdr.daemon.app_context import AppContext, Fleet, Work
from herdr.errors import HerdrError
from herdr.ops.history import pack_of
from herdr.scoring.evaluator import read_definition
from herdr.store.connection import Store
from herdr.store.facts import candidate_info, comment_info, idea_info, project_info, run_info
from herdr.store.queries import latest_candidates
from herdr.store.rows import (
    Agent,
    Anomaly,
    Candidate,
    Comment,
    Evaluator,
    Idea,
    Project,
    Run,
    Sweep,
    fetch,
    get,
    get_or_none,
)
from herdr.trunk.reading import bar_of
from herdr.trunk.scores import score_of

#: How many of the latest candidates a brief shows.
RECENT = 30
#: How many of the latest anomalies a watchdog is told of.
INCIDENTS = 50


async def compose_brief(app: AppContext, fleet: Fleet, work: Work, agent: Agent) -> str:
    """The whole brief of an agent.

    Args:
        app: the daemon.
        fleet: the project.
        work: the run or the sweep.
        agent: whom the brief is for.

    Raises:
        HerdrError: no plugin composes briefs, or the one that does refuses.
    """
    context = gather(app, fleet, work, agent)
    brief: str | None = await app.host.first("herdr_brief", context=context)
    if brief is None:
        raise HerdrError(
            "no plugin composed a brief", fix="`herdr plugins` shows whether `briefs` is blocked or failed"
        )
    for answer in await app.host.call_all("herdr_brief_sections", context=context):
        for section in answer.value or ():
            if isinstance(section, BriefSection):
                brief += f"\n## {section.title}\n\n{section.body.strip()}\n"
    return brief


def gather(app: AppContext, fleet: Fleet, work: Work, agent: Agent) -> BriefContext:
    """Everything that a brief is composed from, read from the store and the repo.

    Args:
        app: the daemon.
        fleet: the project.
        work: the run or the sweep.
        agent: whom the brief is for.
    """
    common = _common(app, fleet, work, agent)
    if isinstance(work, Sweep):
        # One that looks into an incident needs the incident, and can ask for the rest.
        project = app.project(work.project_id)
        pack = pack_of(app.store, project) if work.trigger != "incident" else ""
        return msgspec.structs.replace(common, sweep=_sweep_info(app.store, work), pack=pack)
    return msgspec.structs.replace(
        common,
        run=run_info(work),
        idea=idea_info(get(app.store, Idea, work.idea_id)),
        comments=[comment_info(one) for one in _comments(app.store, work)],
    )


def _common(app: AppContext, fleet: Fleet, work: Work, agent: Agent) -> BriefContext:
    store = app.store
    project = get(store, Project, work.project_id)
    base = get(store, Candidate, work.base_id)
    evaluator = get_or_none(store, Evaluator, project.evaluator_id)
    role = fleet.config.role(agent.role)
    return BriefContext(
        project=project_info(project, fleet.config.plugins),
        agent=agent.name,
        role=agent.role,
        worktree=Path(work.worktree or fleet.root),
        workspace=app.home.workspace(fleet.name),
        linked=[(path, _form(fleet, work, path)) for path in fleet.config.linked],
        base=candidate_info(base),
        base_metrics=_metrics(store, project, base),
        bar=candidate_info(bar_of(store, base)),
        metrics=_spec(fleet.config),
        recent=[(candidate_info(one), _metrics(store, project, one)) for one in _recent(store, project)],
        comments=(),
        protected=read_definition(evaluator).protected if evaluator else (),
        repo_brief=_text(fleet.root / "brief.md"),
        addendum=_text(fleet.root / role.addendum) if role.addendum else "",
        timeout=role.timeout,
    )


def _form(fleet: Fleet, work: Work, path: str) -> LinkForm:
    """What a `link` path is in a worktree, by how it lies there."""
    if path in fleet.config.shared:
        return "shared"
    return "borrowed" if work.worktree is not None and Path(work.worktree, path).is_symlink() else "view"


def _sweep_info(store: Store, sweep: Sweep) -> SweepInfo:
    seeds = fetch(store, Idea, "WHERE sweep_id = ? AND status = 'seed' ORDER BY priority, id", sweep.id)
    told = fetch(store, Anomaly, "WHERE sweep_id = ? ORDER BY id DESC LIMIT ?", sweep.id, INCIDENTS)
    return SweepInfo(
        id=sweep.id,
        project_id=sweep.project_id,
        role=sweep.role,
        trigger=sweep.trigger,
        ideas=sweep.ideas,
        seeds=[
            SeedInfo(
                id=seed.id,
                title=seed.title,
                hunch=seed.hypothesis,
                pointers=seed.provenance or "",
                source=seed.source,
            )
            for seed in seeds
        ],
        incidents=[f"{one.at} {one.kind}: {one.detail}" for one in reversed(told)],
    )


def _spec(config: Config) -> list[tuple[str, Direction, MetricRole]]:
    order = {"primary": 0, "guardrail": 1, "watch": 2}
    metrics = sorted(config.metrics, key=lambda metric: order[metric.role])
    return [(metric.name, metric.direction, metric.role) for metric in metrics]


def _metrics(store: Store, project: Project, candidate: Candidate) -> dict[str, float]:
    score = score_of(store, project, candidate.id)
    return score.values if score is not None and score.error is None else {}


def _recent(store: Store, project: Project) -> list[Candidate]:
    return latest_candidates(store, project.id, RECENT)


def _comments(store: Store, run: Run) -> list[Comment]:
    """Every comment on the idea and on its runs, and every reply to one, oldest first."""
    return fetch(
        store,
        Comment,
        "WHERE (about_kind = 'idea' AND about_id = ?)"
        " OR (about_kind = 'run' AND about_id IN (SELECT id FROM runs WHERE idea_id = ?)) ORDER BY id",
        run.idea_id,
        run.idea_id,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
