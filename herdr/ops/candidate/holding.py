"""What a person decides of candidates whose verdict is held back, because what is linked has changed."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from herdr.ops.core import Context
from herdr.repo.own import own_of
from herdr.repo.prints import agree
from herdr.store.queries import score_under
from herdr.store.rows import Candidate, Comment, Measurement, Project, Run, fetch, get, get_or_none
from herdr.times import parse_timestamp, timestamp
from herdr.trunk import moves
from herdr.trunk.reading import bar_of
from herdr.trunk.scores import want_score

DAEMON = "daemon"


def agree_to_linked(context: Context, candidate: Candidate) -> None:
    """A person has seen what is linked; what was scored with other files is scored again before it is a bar.

    Args:
        context: who asks.
        candidate: the one that is to be scored again.
    """
    project = get(context.conn, Project, candidate.project_id)
    changed_at = agree(own_of(context.home, Path(project.path), project.name))
    base = get_or_none(context.conn, Candidate, candidate.bar_id or candidate.parent_id)
    bars = {project.head_id, bar_of(context.conn, base).id if base is not None else None}
    for number in bars - {None, candidate.id}:
        assert number is not None
        score = score_under(context.conn, number, project.evaluator_id)
        if score is not None and score.state == "done" and _made_at(context, score) < changed_at:
            Measurement.update(context.conn, score.id, purpose="earlier", actor=context.actor)
            want_score(context.conn, project, number, context.actor)


def _made_at(context: Context, score: Measurement) -> float:
    made = "SELECT coalesce(finished_at, queued_at) FROM measurements WHERE id = ?"
    return parse_timestamp(context.conn.execute(made, (score.id,)).fetchone()[0]).timestamp()


def decide(context: Context, comment: Comment, answer: str) -> None:
    """Take the answer to what the daemon told of a run whose candidates are held, by its first word.

    Args:
        context: who answers.
        comment: what is answered.
        answer: `remeasure …` has them scored and judged, `discard …` discards them; any other decides nothing.
    """
    from herdr.ops.candidate.changing import score_again

    word = answer.strip().strip("`").partition(" ")[0].strip("`.,:;!").lower()
    if comment.actor != DAEMON or comment.target_kind != "run" or word not in ("remeasure", "discard"):
        return
    run = get(context.conn, Run, comment.target_id)
    held = fetch(context.conn, Candidate, "WHERE run_id = ? AND held = 1 ORDER BY id", run.id)
    by = moves.By(actor=context.actor, at=timestamp(datetime.now(timezone.utc)))
    for candidate in held:
        if word == "discard":
            moves.overrule(context.conn, candidate, "discard", answer.strip(), by)
        else:
            score_again(context, candidate)
