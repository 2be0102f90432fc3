"""The transactions that give verdicts and move the head. Nothing else writes them: a test holds that.

Each function is part of its caller's transaction, so that all that belongs to an event is one change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from herdr.campaign.text import ref
from herdr.campaign.verdict import Verdict
from herdr.contract.words import VerdictWord
from herdr.errors import RefusedError
from herdr.store.columns import CandidateChanges
from herdr.store.connection import Store
from herdr.store.queries import candidate_of_tree
from herdr.store.rows import Candidate, Comment, Project, Run, get
from herdr.trunk import rules
from herdr.trunk.reading import candidates_of, line_of, on_branch

#: Gives the verdict of the keep rule on a candidate (first) against a bar (second); both are measured.
Judge = Callable[[Candidate, Candidate], Verdict]


class By(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes a change, and when."""

    actor: str
    at: str


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict that was written, on which candidate and against which bar."""

    candidate: Candidate
    bar: Candidate
    verdict: Verdict


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The commit that a campaign starts from."""

    commit: str
    tree: str
    subject: str


def start(store: Store, project_id: int, baseline: Baseline, actor: str) -> int:
    """Make a commit the baseline and the head of a project that has no head; gives the candidate's id.

    Args:
        store: inside a transaction.
        project_id: whose baseline it is.
        baseline: the commit.
        actor: who sets the project up.
    """
    known = candidate_of_tree(store, project_id, baseline.tree)
    if known is not None:
        candidate_id = known.id
    else:
        candidate_id = Candidate.insert(
            store,
            project_id=project_id,
            tree_sha=baseline.tree,
            commit_sha=baseline.commit,
            subject=baseline.subject,
            origin="baseline",
            on_trunk=True,
            verdict="keep",
            rule="baseline",
            reason="where the campaign starts",
            judged_by=actor,
            actor=actor,
        )
    _move_head(store, get(store, Project, project_id), candidate_id, actor)
    return candidate_id


def judge_run(store: Store, run: Run, bar: Candidate, judge: Judge, by: By) -> list[Judged]:
    """Judge the candidates of a run that have no verdict yet, and move the head (`rules.after_run`).

    Args:
        store: inside a transaction.
        run: whose candidates they are.
        bar: the keep that the run started from.
        judge: the keep rule.
        by: who judges.
    """
    project = get(store, Project, run.project_id)
    # Read here and not before: a person may have given verdicts while the scores were made.
    commits = [commit for commit in candidates_of(store, run) if not commit.held]
    known = {bar.id: bar, **{commit.id: commit for commit in commits}}

    def decide(candidate: int, against: int) -> Verdict:
        return judge(known[candidate], known[against])

    judgement = rules.after_run(project.head_id, bar.id, commits, decide, run=run.id, branch=run.is_branch)
    return _write(store, project, judgement, by)


def judge_merge(store: Store, merged: Candidate, onto: Candidate, judge: Judge, by: By) -> Judged | None:
    """Judge a merge of a keep onto the head, and move the head (`rules.after_merge`).

    Args:
        store: inside a transaction.
        merged: the merge.
        onto: what was the head when it was made.
        judge: the keep rule.
        by: who judges.

    Returns:
        What was written; None when a person has judged the merge meanwhile, or is to decide on it.
    """
    project = get(store, Project, merged.project_id)
    now = get(store, Candidate, merged.id)
    if now.held or not rules.may_judge(now.judged_by):
        return None
    judgement = rules.after_merge(project.head_id, onto.id, merged.id, judge(merged, onto))
    return _write(store, project, judgement, by)[0]


def judge_again(store: Store, candidate: Candidate, bar: Candidate, judge: Judge, by: By) -> Judged | None:
    """Judge a candidate by its new score, and move the head (`rules.after_rejudging`).

    Args:
        store: inside a transaction.
        candidate: the one that was scored once more.
        bar: what it was judged against before.
        judge: the keep rule.
        by: who judges.

    Returns:
        What was written; None when a person has judged the candidate meanwhile.
    """
    now = get(store, Candidate, candidate.id)
    Candidate.update(store, now.id, judge_again=False, actor=by.actor)
    if not rules.may_judge(now.judged_by):
        return None
    project = get(store, Project, now.project_id)
    verdict = judge(now, bar)
    judgement = rules.after_rejudging(
        project.head_id,
        now,
        bar.id,
        verdict,
        branch=on_branch(store, now),
        before=rules.head_before(line_of(store, now)),
    )
    [written] = _write(store, project, judgement, by)
    if written.verdict.verdict == "keep" and verdict.verdict != "keep":
        _note(store, now, written.verdict.reason, by.actor)
    return written


def overrule(store: Store, candidate: Candidate, word: VerdictWord, reason: str, by: By) -> None:
    """Write a person's verdict, and move the head (`rules.after_overruling`).

    Args:
        store: inside a transaction.
        candidate: the one that is overruled.
        word: the verdict.
        reason: why.
        by: whose verdict it is.

    Raises:
        RefusedError: it is the head, and no other keep is left to start from.
    """
    project = get(store, Project, candidate.project_id)
    ruling = rules.after_overruling(
        project.head_id,
        candidate,
        word,
        from_head=rules.made_from_head(
            line_of(store, candidate), project.head_id, branch=on_branch(store, candidate)
        ),
        before=rules.head_before(line_of(store, candidate)),
    )
    if ruling is None:
        raise RefusedError(
            f"{ref('candidate', candidate.id)} is the only keep: nothing would be left to start from",
            fix="say first of a candidate that was made from it that it is a keep",
        )
    Candidate.update(
        store,
        candidate.id,
        verdict=word,
        rule="override",
        cause="override",
        reason=reason,
        judged_by=by.actor,
        judged_at=by.at,
        on_trunk=ruling.on_trunk,
        judge_again=False,
        held=False,
        actor=by.actor,
    )
    _move_head(store, project, ruling.head, by.actor)


def note(store: Store, candidate: Candidate, reason: str, actor: str) -> None:
    """Write down why a candidate is worth starting from (`rules.after_note`).

    Args:
        store: inside a transaction.
        candidate: the lead.
        reason: why it is one.
        actor: who says so.
    """
    values: CandidateChanges = {"note": reason}
    word = rules.after_note(candidate.verdict)
    if word is not None:
        values["verdict"], values["cause"] = word, "note"
        values["reason"], values["judged_by"] = reason, actor
    Candidate.update(store, candidate.id, **values, actor=actor)


def want_judgement(store: Store, candidate: Candidate, actor: str) -> None:
    """Have a candidate judged once more when its new score is there (`rules.judged_again`).

    Args:
        store: inside a transaction.
        candidate: the one that is being scored once more.
        actor: who asks.
    """
    if rules.judged_again(candidate.origin, candidate.judged_by):
        Candidate.update(store, candidate.id, judge_again=True, actor=actor)


def hold(store: Store, candidates: Sequence[Candidate], reason: str, actor: str) -> list[Candidate]:
    """Give no verdict to candidates that are to be judged, until a person decides; gives those that it holds.

    Args:
        store: inside a transaction.
        candidates: some; those that have their verdict keep it.
        reason: why they are held.
        actor: who says so.
    """
    now = [get(store, Candidate, candidate.id) for candidate in candidates]
    waiting = [one for one in now if one.origin != "skipped" and (one.verdict is None or one.judge_again)]
    for one in waiting:
        values: CandidateChanges = {"held": True, "judge_again": False}
        if one.verdict is None:
            values["reason"] = reason
        Candidate.update(store, one.id, **values, actor=actor)
    return waiting


def release(store: Store, candidate: Candidate, actor: str) -> None:
    """A person has decided that a held candidate is to be judged, once it has a new score.

    Args:
        store: inside a transaction.
        candidate: a held one, whose score is being made again.
        actor: who says so.
    """
    Candidate.update(store, candidate.id, held=False, judge_again=True, actor=actor)


def give_up_merge(store: Store, keep: Candidate, actor: str) -> None:
    """A keep that was passed by is not to be merged onto the head any more.

    Args:
        store: inside a transaction.
        keep: the keep that the head passed by.
        actor: who says so.
    """
    Candidate.update(store, keep.id, cause=None, actor=actor)


def judge_in_place(store: Store, keep: Candidate, head: Candidate, actor: str) -> Candidate:
    """A keep that was passed by holds the head already, so it is its own merge: it is judged against the head.

    Args:
        store: inside a transaction.
        keep: the keep that the head passed by.
        head: what it is built on from now on.
        actor: who says so.
    """
    Candidate.update(store, keep.id, verdict=None, cause=None, parent_id=head.id, actor=actor)
    return get(store, Candidate, keep.id)


def _write(store: Store, project: Project, judgement: rules.Judgement, by: By) -> list[Judged]:
    """The one place that writes verdicts of the keep rule, with the head that follows from them."""
    written = []
    for ruling in judgement.rulings:
        verdict = ruling.verdict
        Candidate.update(
            store,
            ruling.candidate,
            verdict=verdict.verdict,
            rule=verdict.rule,
            reason=verdict.reason,
            cause=verdict.cause,
            bar_id=ruling.bar,
            on_trunk=ruling.on_trunk,
            judged_at=by.at,
            judged_by=by.actor,
            actor=by.actor,
        )
        candidate, bar = get(store, Candidate, ruling.candidate), get(store, Candidate, ruling.bar)
        written.append(Judged(candidate=candidate, bar=bar, verdict=verdict))
    _move_head(store, project, judgement.head, by.actor)
    return written


def _move_head(store: Store, project: Project, head: int | None, actor: str) -> None:
    if head != project.head_id:
        Project.update(store, project.id, head_id=head, actor=actor)


def _note(store: Store, candidate: Candidate, body: str, actor: str) -> None:
    Comment.insert(
        store,
        project_id=candidate.project_id,
        target_kind="candidate",
        target_id=candidate.id,
        kind="note",
        body=body,
        actor=actor,
    )
