"""What the rules of the trunk ask the store: lines of descent, and the candidates of a run."""

from __future__ import annotations

from collections.abc import Iterator

from herdr.store.connection import Store
from herdr.store.rows import Candidate, Run, fetch, find, get, get_or_none
from herdr.trunk import rules


def line_of(store: Store, candidate: Candidate) -> Iterator[Candidate]:
    """A candidate, then its parent, and so on; read one by one as they are asked for."""
    yield candidate
    while candidate.parent_id is not None:
        candidate = get(store, Candidate, candidate.parent_id)
        yield candidate


def bar_of(store: Store, candidate: Candidate) -> Candidate:
    """The keep that a run from this candidate must beat: itself, or its nearest ancestor that is one."""
    return rules.bar_of(line_of(store, candidate))


def on_branch(store: Store, candidate: Candidate) -> bool:
    """Whether a candidate was made by a branch run, or by no run at all."""
    run = get_or_none(store, Run, candidate.run_id)
    return run is None or run.is_branch


def candidates_of(store: Store, run: Run) -> list[Candidate]:
    """The candidates that a run is judged by, in the order of its commits: skipped ones are not among them."""
    return fetch(
        store,
        Candidate,
        "JOIN run_commits r ON r.candidate_id = candidates.id"
        " WHERE r.run_id = ? AND candidates.origin <> 'skipped' GROUP BY candidates.id ORDER BY min(r.position)",
        run.id,
    )


def unmerged(store: Store, run: Run) -> Candidate | None:
    """The keep of a run that the head passed by and that is not merged onto it yet."""
    last = find(
        store,
        Candidate,
        "WHERE run_id = ? AND (cause = 'moved' OR origin = 'rebase') ORDER BY id DESC",
        run.id,
    )
    if last is None or last.held or not rules.waits_for_merge(last.origin, last.verdict, last.cause):
        return None
    return last
