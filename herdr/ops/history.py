"""Gathers the research pack with a constant number of questions, however long the campaign."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from herdr.campaign.pack import Family, Pack, Said, StartingPoint, TriedIdea, Waiting, Yield, render
from herdr.campaign.text import first_line, ref
from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.sources import sources_of
from herdr.ops.views import Primary, candidate_views, primary_of, scores, target_name
from herdr.store.connection import Store
from herdr.store.queries import latest_keeps
from herdr.store.rows import Candidate, Comment, Idea, Project, fetch

#: How many of each there are at most; the text is shorter still.
FAMILIES, TRIED, LINEAGE, POINTS, WAITING, FINDINGS, DECISIONS, ESCALATIONS = 60, 120, 25, 20, 40, 25, 8, 8
#: Of an idea's candidates, the one to name; keeps first, and never what is not judged before what is.
RANKS = ("keep", "interesting", "discard", "crash", None)


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The pack, as facts and as the text that research reads."""

    project: str
    facts: Pack
    text: str


class GatherHistory(Request[History], frozen=True, kw_only=True):
    """One project."""

    operation = "history.pack"
    project: str | None = None


@operation(GatherHistory)
def history(context: Context, request: GatherHistory) -> History:
    """Tell what a campaign has tried and found."""
    project = project_of(context, request.project)
    facts = gather(context.conn, project)
    return History(project=project.name, facts=facts, text=render(facts))


def pack_of(conn: Store, project: Project) -> str:
    """The text of the research pack, for a brief.

    Args:
        conn: the open store.
        project: whose history.
    """
    return render(gather(conn, project))


def gather(conn: Store, project: Project) -> Pack:
    """All that the pack tells of a project.

    Args:
        conn: the open store.
        project: whose history.
    """
    primary = primary_of(project)
    lineage = latest_keeps(conn, project.id, LINEAGE)
    points = fetch(
        conn,
        Candidate,
        "WHERE project_id = ? AND (origin = 'imported' OR note IS NOT NULL"
        " OR (verdict = 'keep' AND on_trunk = 0)) ORDER BY id DESC LIMIT ?",
        *(project.id, POINTS),
    )
    start, head = _ends(conn, project, primary)
    return Pack(
        metric=primary.name,
        direction=primary.direction,
        start=start,
        head=head,
        sources=[Yield(**msgspec.structs.asdict(one)) for one in sources_of(conn, project)],
        families=_families(conn, project),
        tried=_tried(conn, project, primary),
        lineage=_steps(conn, project, lineage),
        starting_points=_steps(conn, project, points),
        waiting=_waiting(conn, project),
        findings=_said(conn, "kind = 'finding' AND project_id = ?", project.id, FINDINGS),
        decisions=_said(conn, "kind = 'decision' AND project_id = ?", project.id, DECISIONS),
        escalations=_said(
            conn,
            "kind = 'escalation' AND project_id = ? AND priority IS NOT NULL AND acked_at IS NULL",
            *(project.id, ESCALATIONS),
        ),
    )


def _ends(conn: Store, project: Project, primary: Primary) -> tuple[float | None, float | None]:
    row = conn.execute(
        "SELECT id FROM candidates WHERE project_id = ? AND origin = 'baseline' ORDER BY id LIMIT 1",
        (project.id,),
    ).fetchone()
    wanted = [number for number in (row[0] if row else None, project.head_id) if number is not None]
    found = scores(conn, project, wanted)
    values = [found[number].metrics.get(primary.name) if number in found else None for number in wanted]
    return (values[0] if row and values else None), (values[-1] if project.head_id is not None else None)


def _families(conn: Store, project: Project) -> list[Family]:
    kept = dict(
        conn.execute(
            "SELECT coalesce(i.family, ''), count(DISTINCT i.id) FROM candidates c JOIN runs r ON r.id = c.run_id"
            " JOIN ideas i ON i.id = r.idea_id WHERE c.project_id = ? AND c.verdict = 'keep' GROUP BY 1",
            (project.id,),
        ).fetchall()
    )
    rows = conn.execute(
        "SELECT coalesce(family, ''), count(*), sum(status IN ('seed', 'proposed', 'ready', 'scheduled')),"
        " sum(status = 'done'), sum(status = 'parked'), sum(status = 'rejected')"
        " FROM ideas WHERE project_id = ? GROUP BY 1 ORDER BY 2 DESC LIMIT ?",
        (project.id, FAMILIES),
    )
    names = ("ideas", "open", "done", "parked", "rejected")
    return [
        Family(family=row[0] or "(no family)", kept=kept.get(row[0], 0), **dict(zip(names, row[1:], strict=True)))
        for row in rows
    ]


def _tried(conn: Store, project: Project, primary: Primary) -> list[TriedIdea]:
    """The ideas whose runs are the newest, each with its best candidate and its latest finding."""
    ideas = fetch(
        conn,
        Idea,
        "WHERE id IN (SELECT id FROM ideas WHERE project_id = ? AND status IN ('done', 'parked', 'rejected')"
        " ORDER BY id DESC LIMIT ?) ORDER BY id DESC",
        *(project.id, TRIED),
    )
    among = msgspec.json.encode([idea.id for idea in ideas]).decode()
    made = conn.execute(
        "SELECT r.idea_id, c.id, c.verdict, json_extract(m.metrics, ?) FROM runs r"
        " JOIN candidates c ON c.run_id = r.id"
        " LEFT JOIN measurements m ON m.candidate_id = c.id AND m.evaluator_id = ? AND m.purpose = 'score'"
        " WHERE r.idea_id IN (SELECT value FROM json_each(?)) ORDER BY c.id",
        (f'$."{primary.name}"', project.evaluator_id, among),
    ).fetchall()
    best: dict[int, tuple[int, str | None, float | None]] = {}
    for idea_id, candidate, verdict, value in made:
        known = best.get(idea_id)
        if known is None or _better(primary, (verdict, value), known[1:]):
            best[idea_id] = (candidate, verdict, value)
    findings = dict(
        conn.execute(
            "SELECT coalesce(r.idea_id, c.about_id), c.body FROM comments c"
            " LEFT JOIN runs r ON c.about_kind = 'run' AND r.id = c.about_id"
            " WHERE c.kind = 'finding'"
            " AND ((c.about_kind = 'idea' AND c.about_id IN (SELECT value FROM json_each(?1)))"
            " OR (c.about_kind = 'run' AND c.about_id IN"
            " (SELECT id FROM runs WHERE idea_id IN (SELECT value FROM json_each(?1))))) ORDER BY c.id",
            (among,),
        ).fetchall()
    )
    return [_one_tried(idea, best.get(idea.id, (None, None, None)), findings.get(idea.id)) for idea in ideas]


def _one_tried(idea: Idea, best: tuple[int | None, str | None, float | None], finding: str | None) -> TriedIdea:
    return TriedIdea(
        ref=ref("idea", idea.id),
        title=idea.title,
        status=idea.status,
        source=idea.source,
        family=idea.family,
        best=ref("candidate", best[0]) if best[0] is not None else None,
        verdict=best[1],
        value=best[2],
        finding=first_line(finding) if finding else None,
    )


def _better(primary: Primary, new: tuple[str | None, float | None], old: tuple[str | None, float | None]) -> bool:
    if new[0] != old[0]:
        return RANKS.index(new[0]) < RANKS.index(old[0])
    gain = primary.gain(new[1], old[1])
    return (gain is not None and gain > 0) or (old[1] is None and new[1] is not None)


def _steps(conn: Store, project: Project, found: Sequence[Candidate]) -> list[StartingPoint]:
    return [
        StartingPoint(
            ref=view.ref,
            parent=view.parent,
            commit=view.commit,
            subject=view.subject,
            value=view.value,
            share=view.share,
            why=view.note or view.origin if view.origin == "imported" else view.note,
        )
        for view in candidate_views(conn, project, list(found))
    ]


def _waiting(conn: Store, project: Project) -> list[Waiting]:
    found: list[Idea] = []
    for status in ("seed", "proposed", "ready", "scheduled"):
        where = "WHERE project_id = ? AND status = ? ORDER BY priority, id LIMIT ?"
        found += fetch(conn, Idea, where, project.id, status, WAITING)
    return [
        Waiting(
            ref=ref("idea", idea.id),
            title=idea.title,
            status=idea.status,
            priority=idea.priority,
            provenance=idea.provenance,
        )
        for idea in found
    ]


def _said(conn: Store, where: str, project_id: int, limit: int) -> list[Said]:
    comments = fetch(conn, Comment, f"WHERE {where} ORDER BY id DESC LIMIT ?", project_id, limit)
    return [
        Said(
            ref=ref("comment", one.id),
            about=target_name(conn, one.about_kind, one.about_id) or "",
            author=one.actor,
            body=one.body,
        )
        for one in comments
    ]
