"""How the primary metric went: every candidate, when it was there and how many tokens had been used by then."""

from __future__ import annotations

import msgspec

from herdr.campaign.text import ref
from herdr.contract.words import Direction, VerdictWord
from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.views import primary_of
from herdr.store.connection import Store
from herdr.store.rows import Project


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate with its score under the present evaluator.

    `tokens` is what all agents had used that had ended when it was recorded, as far as their harnesses tell.
    """

    ref: str
    subject: str
    value: float | None
    verdict: VerdictWord | None
    at: str
    tokens: int


class MetricSeries(msgspec.Struct, frozen=True, kw_only=True):
    """All candidates of a project that are to be scored, oldest first, and the metric of their values."""

    project: str
    metric: str
    direction: Direction
    moments: list[Moment]


class ShowSeries(Request[MetricSeries], frozen=True, kw_only=True):
    """One project, by its name or a path inside its repo."""

    operation = "candidate.series"
    project: str | None = None


@operation(ShowSeries)
def series(context: Context, request: ShowSeries) -> MetricSeries:
    """Tell how the primary metric went over candidates, time and tokens."""
    project = project_of(context, request.project)
    primary = primary_of(project)
    return MetricSeries(
        project=project.name,
        metric=primary.name,
        direction=primary.direction,
        moments=_moments(context.conn, project, primary.name),
    )


def _moments(conn: Store, project: Project, metric: str) -> list[Moment]:
    rows = conn.execute(
        "SELECT c.id, c.subject, c.verdict, c.created_at, m.metrics FROM candidates c LEFT JOIN measurements m"
        " ON m.candidate_id = c.id AND m.evaluator_id = ? AND m.purpose = 'score'"
        " WHERE c.project_id = ? AND c.origin <> 'skipped' ORDER BY c.id",
        (project.evaluator_id, project.id),
    ).fetchall()
    ended = conn.execute(
        "SELECT ended_at, coalesce(tokens_in, 0) + coalesce(tokens_out, 0) + coalesce(tokens_cached, 0)"
        " FROM agents WHERE project_id = ? AND ended_at IS NOT NULL ORDER BY ended_at",
        (project.id,),
    ).fetchall()
    moments, used, next_ended = [], 0, 0
    for number, subject, verdict, at, metrics in rows:
        while next_ended < len(ended) and ended[next_ended][0] <= at:
            used += ended[next_ended][1]
            next_ended += 1
        value = msgspec.json.decode(metrics, type=dict[str, float]).get(metric) if metrics else None
        moments.append(
            Moment(
                ref=ref("candidate", number), subject=subject, value=value, verdict=verdict, at=at, tokens=used
            )
        )
    return moments
