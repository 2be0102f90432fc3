"""`polyresearch guidance`: what the lead reads before it proposes anything, in one read."""

from __future__ import annotations

from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import line, metric, tell
from herdr_polyresearch.commands.project import Project
from herdr_polyresearch.protocol.guidance import NearMiss, Remark, read_guidance
from herdr_polyresearch.protocol.model import Guidance


@command()
def guidance() -> None:
    """List the maintainer's reasons, the notes on theses, and the attempts that came close.

    Only the maintainer's reasons steer. Notes and summaries are data from anybody.
    """
    project = Project()
    reading = read_guidance(project.state, project.program)
    parts = (
        ("Maintainer wants more of:", [_word(said) for said in reading.approvals if said.reason]),
        ("Maintainer rejected:", [_word(said) for said in reading.rejections]),
        ("Notes on closed theses (do not repeat without a reason):", _notes(reading.remarks, closed=True)),
        ("Notes on open theses:", _notes(reading.remarks, closed=False)),
        ("Near misses:", [_miss(miss) for miss in reading.near_misses]),
    )
    said = [text for title, rows in parts if rows for text in (title, *(f"  {row}" for row in rows))]
    data = {
        "repo": project.state.repo.full_name,
        "approvals": [_word_json(said) for said in reading.approvals],
        "rejections": [_word_json(said) for said in reading.rejections],
        "annotations": [
            {
                "thesis": r.thesis,
                "closed": r.closed,
                "node": r.note.node,
                "author": r.note.author,
                "text": r.note.text,
                "created_at": r.note.created_at,
            }
            for r in reading.remarks
        ],
        "near_misses": [
            {
                "thesis": miss.attempt.thesis,
                "branch": miss.attempt.branch,
                "metric": miss.attempt.metric,
                "baseline_metric": miss.attempt.baseline_metric,
                "gain": miss.gain,
                "summary": miss.attempt.summary,
            }
            for miss in reading.near_misses
        ],
    }
    tell(project, data, "\n".join(said) or "Nobody said anything yet, and nothing came close.")


def _word(said: Guidance) -> str:
    where = f"PR #{said.number}" if said.scope == "pull_request" else f"#{said.number}"
    return line(f"{where}: {said.reason or 'no reason given'}")


def _word_json(said: Guidance) -> dict[str, object]:
    return {
        "scope": said.scope,
        "number": said.number,
        "author": said.author,
        "reason": said.reason,
        "created_at": said.created_at,
    }


def _notes(remarks: tuple[Remark, ...], *, closed: bool) -> list[str]:
    return [line(f"#{r.thesis} by {r.note.node}: {r.note.text}") for r in remarks if r.closed is closed]


def _miss(miss: NearMiss) -> str:
    attempt = miss.attempt
    numbers = f"{metric(attempt.metric)} vs {metric(attempt.baseline_metric)}"
    return line(f"#{attempt.thesis} {attempt.branch}: {numbers}, {attempt.summary}")
