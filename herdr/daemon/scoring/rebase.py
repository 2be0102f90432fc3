"""A keep that was judged after the head had moved: merged onto the head, and judged there."""

from __future__ import annotations

from functools import partial

import anyio.to_thread

from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.daemon.scoring.judging import by, keep_rule, measured, tell
from herdr.repo.commits import Commit, read_commit
from herdr.repo.merge import Conflict, merge_onto
from herdr.repo.takeover import pin
from herdr.store.connection import Store
from herdr.store.queries import candidate_of_tree
from herdr.store.rows import Candidate, Project, Run, get
from herdr.trunk import moves
from herdr.trunk.scores import want_score

#: Ends the subject of a merge; one that is merged again has it once.
MERGED = " (merged onto candidate#"


async def rebase(app: AppContext, fleet: Fleet, run: Run, keep: Candidate) -> None:
    """Merge a keep onto the head and judge the merge there, again if the head moves again.

    Args:
        app: the daemon.
        fleet: the project.
        run: whose keep it is.
        keep: the keep that the head passed by, or a merge of it that a crash left unjudged.
    """
    merged: Candidate | None = keep
    while merged is not None:
        merged = await _once(app, fleet, run, merged)


async def _once(app: AppContext, fleet: Fleet, run: Run, keep: Candidate) -> Candidate | None:
    """One merge; gives it back when the head moved while it was measured."""
    head = get(app.store, Candidate, app.project(run.project_id).head_id or 0)
    merged = keep
    if keep.verdict is not None:
        made = await anyio.to_thread.run_sync(partial(_merge, fleet, head, keep))
        if isinstance(made, Conflict):
            _tell_conflict(app, run, keep, head, made)
            return None
        entered = _enter(app, run, keep, head, made)
        if entered is None:
            return None
        merged = entered
    else:
        head = get(app.store, Candidate, merged.parent_id or head.id)
    await measured(app, fleet, [merged.id, head.id])
    with app.transaction() as store:
        judge = keep_rule(store, fleet, get(store, Project, run.project_id))
        judged = moves.judge_merge(store, merged, head, judge, by(app))
        if judged is None:
            return None
        tell(store, judged)
        return judged.candidate if judged.verdict.cause == "moved" else None


def _merge(fleet: Fleet, head: Candidate, keep: Candidate) -> Commit | Conflict:
    message = f"Merge candidate#{keep.id} onto candidate#{head.id}\n\n{keep.subject}"
    made = merge_onto(fleet.own, onto=head.commit_sha, commit=keep.commit_sha, message=message)
    if isinstance(made, Conflict):
        return made
    pin(fleet.own, {f"{fleet.own.pins}merge/{keep.id}-onto-{head.id}-{made[:12]}": made})
    return read_commit(fleet.own, made)


def _enter(app: AppContext, run: Run, keep: Candidate, head: Candidate, made: Commit) -> Candidate | None:
    with app.transaction() as store:
        project = get(store, Project, run.project_id)
        known = candidate_of_tree(store, project.id, made.tree)
        if known is not None and known.id != keep.id:
            _note(
                store, run, keep, f"merged onto candidate#{head.id} it is the same code as candidate#{known.id}"
            )
            moves.give_up_merge(store, keep, ACTOR)
            return None
        if known is not None:
            # Its history holds the head already: it is judged there as it stands.
            return moves.judge_in_place(store, keep, head, ACTOR)
        merged_id = Candidate.insert(
            store,
            project_id=project.id,
            run_id=run.id,
            parent_id=head.id,
            tree_sha=made.tree,
            commit_sha=made.sha,
            subject=f"{keep.subject.partition(MERGED)[0]}{MERGED}{head.id})",
            origin="rebase",
            touched=keep.touched,
            actor=ACTOR,
        )
        want_score(store, project, merged_id, ACTOR)
        return get(store, Candidate, merged_id)


def _tell_conflict(app: AppContext, run: Run, keep: Candidate, head: Candidate, conflict: Conflict) -> None:
    """A gain that conflicts with the new head is not lost: it becomes a seed, and an agent merges it by hand."""
    paths = ", ".join(conflict.paths[:5]) + (" and more" if len(conflict.paths) > 5 else "")
    with app.transaction() as store:
        _note(store, run, keep, f"conflicts with the head, candidate#{head.id}, in {paths}")
        moves.give_up_merge(store, keep, ACTOR)
        store.execute(
            "INSERT INTO ideas (project_id, title, hypothesis, status, source, provenance, actor)"
            " VALUES (?, ?, ?, 'seed', ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                run.project_id,
                f"Put candidate#{keep.id} onto the head",
                f"candidate#{keep.id} beat its bar, but conflicts with candidate#{head.id} in {paths}.",
                ACTOR,
                f"candidate#{keep.id}, candidate#{head.id}",
                ACTOR,
            ),
        )


def _note(store: Store, run: Run, keep: Candidate, body: str) -> None:
    store.execute(
        "INSERT INTO comments (project_id, target_kind, target_id, kind, body, actor)"
        " VALUES (?, 'candidate', ?, 'note', ?, ?)",
        (run.project_id, keep.id, body, ACTOR),
    )
