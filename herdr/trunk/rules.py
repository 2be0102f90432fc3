"""Which candidate is the head after each event, as pure rules: no store, no clock.

One thing always holds: **the head is a keep on the trunk**. Runs start from it, and a run's bar is found by going
back to the nearest keep, so a head that is no keep would be a bar for nobody. Every rule here leaves it true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Protocol, TypeVar

import msgspec

from herdr.campaign.verdict import Verdict
from herdr.contract.words import VerdictWord

#: Who judges by the keep rule. What anybody else has judged stands.
JUDGE = "daemon"


class Standing(Protocol):
    """What the rules read of a candidate; a row of the store has it."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def run_id(self) -> int | None:
        """The run that made it."""

    @property
    def origin(self) -> str:
        """Where it comes from."""

    @property
    def verdict(self) -> str | None:
        """Its verdict now."""

    @property
    def on_trunk(self) -> bool:
        """Whether it is, or was, the head."""


S = TypeVar("S", bound=Standing)


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict to write: on which candidate, against which bar, and whether it is on the trunk by it."""

    candidate: int
    bar: int
    verdict: Verdict
    on_trunk: bool


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What an event comes to: the verdicts to write, and the head from now on."""

    rulings: tuple[Ruling, ...]
    head: int | None


class Overruled(msgspec.Struct, frozen=True, kw_only=True):
    """What a person's verdict comes to: whether the candidate is on the trunk by it, and the head from now on."""

    on_trunk: bool
    head: int | None


# --- lines of descent: a candidate first, then its parent, and so on --------------------------------------------


def bar_of(line: Iterable[S]) -> S:
    """The candidate that a run must beat.

    Args:
        line: the candidate that the run starts from, then its parent, and so on. The nearest keep in it is the
            bar; without one it is where the line begins, which is the baseline or an imported commit.
    """
    seen = None
    for seen in line:
        if seen.verdict == "keep":
            break
    assert seen is not None, "a line has at least the candidate itself"
    return seen


def made_from_head(line: Iterable[Standing], head: int | None, *, branch: bool) -> bool:
    """Whether a candidate was made on the trunk from what is the head now.

    Another keep in between means that it was made from that one, which is not the head.

    Args:
        line: the candidate, then its parent, and so on.
        head: which candidate is the head.
        branch: whether it was made by a branch run, or by no run at all.
    """
    if branch:
        return False
    for seen in islice(line, 1, None):
        if seen.id == head:
            return True
        if seen.verdict == "keep":
            return False
    return False


def head_before(line: Iterable[Standing]) -> int | None:
    """Which candidate is the head once the present one is no keep any more.

    It is the keep on the trunk that the head was built on, however long ago. A baseline that is a keep is on the
    trunk. It is never the head itself: where no other keep is left there is None, and whoever asks says what that
    means. A person's verdict is refused then, and a new score leaves the head a keep (`after_rejudging`).

    Args:
        line: the head, then its parent, and so on.
    """
    for seen in islice(line, 1, None):
        if seen.verdict == "keep" and (seen.on_trunk or seen.origin == "baseline"):
            return seen.id
    return None


# --- events -----------------------------------------------------------------------------------------------------


def passed_by(verdict: Verdict, head: int | None) -> Verdict:
    """What a keep is worth when the head has moved meanwhile: it waits to be merged onto it.

    Args:
        verdict: the keep.
        head: where the head is now.
    """
    reason = f"{verdict.reason}; meanwhile the head moved to candidate#{head}"
    return Verdict(verdict="interesting", rule=verdict.rule, reason=reason, cause="moved")


def waits_for_merge(origin: str, verdict: str | None, cause: str | None) -> bool:
    """Whether the head has passed a candidate by and no merge of it onto the head has been judged.

    Args:
        origin: where the candidate comes from: `rebase` is such a merge.
        verdict: its verdict; None while it is not judged.
        cause: why it has that verdict.
    """
    return cause == "moved" or (origin == "rebase" and verdict is None)


def after_run(
    head: int | None,
    bar: int,
    commits: Sequence[Standing],
    judge: Callable[[int, int], Verdict],
    *,
    run: int,
    branch: bool,
) -> Judgement:
    """A run is over: its commits are judged in turn, each keep being the bar of the next commit.

    The head moves to the last keep if it is still what the run started from, or is one of the run's own commits
    because a person made it that. If it has moved on, the keeps are passed by. A branch run moves nothing.

    Args:
        head: which candidate is the head now.
        bar: the keep that the run started from.
        commits: the run's candidates in their order; those that have a verdict already keep it.
        judge: gives the verdict on a candidate (first) against a bar (second).
        run: which run it is. A commit of another run that it merged can be a bar, and is not its way to the head.
        branch: whether it is a branch run.
    """
    rulings: list[Ruling] = []
    start, trunk = bar, []
    for commit in commits:
        if commit.verdict is None:
            verdict = judge(commit.id, bar)
            keep = verdict.verdict == "keep"
            on_trunk = keep and not branch
            rulings.append(Ruling(candidate=commit.id, bar=bar, verdict=verdict, on_trunk=on_trunk))
        else:
            keep = commit.verdict == "keep"
            on_trunk = keep and commit.on_trunk and commit.run_id == run
        bar = commit.id if keep else bar
        if on_trunk:
            trunk.append(commit.id)
    if not trunk:
        return Judgement(rulings=tuple(rulings), head=head)
    if head in (start, *trunk):
        return Judgement(rulings=tuple(rulings), head=trunk[-1])
    return Judgement(rulings=tuple(_passed_by(ruling, head) for ruling in rulings), head=head)


def _passed_by(ruling: Ruling, head: int | None) -> Ruling:
    if not ruling.on_trunk:
        return ruling
    return Ruling(
        candidate=ruling.candidate, bar=ruling.bar, verdict=passed_by(ruling.verdict, head), on_trunk=False
    )


def after_merge(head: int | None, onto: int, merged: int, verdict: Verdict) -> Judgement:
    """A keep that was passed by has been merged onto the head, and the merge is measured.

    Args:
        head: which candidate is the head now.
        onto: what was the head when the merge was made; the merge was judged against it.
        merged: the merge.
        verdict: what the keep rule says of it.
    """
    keep = verdict.verdict == "keep"
    ruling = Ruling(candidate=merged, bar=onto, verdict=verdict, on_trunk=keep)
    if not keep:
        return Judgement(rulings=(ruling,), head=head)
    if head != onto:
        return Judgement(rulings=(_passed_by(ruling, head),), head=head)
    return Judgement(rulings=(ruling,), head=merged)


def after_rejudging(
    head: int | None, candidate: Standing, bar: int, verdict: Verdict, *, branch: bool, before: int | None
) -> Judgement:
    """A candidate that was judged before is judged by a new score.

    A keep that stays one stays where it is. One that becomes a keep becomes the head if the head is what it was
    judged against, and is passed by otherwise. A head that is no keep any more hands over to the keep before it.
    If there is none it stays a keep, and its reason says so: runs must have something to start from, and a person
    can still say otherwise of another candidate.

    Args:
        head: which candidate is the head now.
        candidate: the one that is judged again, as it stands.
        bar: what it was judged against, and is again.
        verdict: what the keep rule says by the new score.
        branch: whether it was made by a branch run, or by no run at all.
        before: which keep would be the head in place of the head (`head_before`).
    """
    is_keep = verdict.verdict == "keep"
    if is_keep and candidate.verdict == "keep":
        return _one(candidate, bar, verdict, on_trunk=candidate.on_trunk, head=head)
    if is_keep:
        if branch:
            return _one(candidate, bar, verdict, on_trunk=False, head=head)
        if head != bar:
            return _one(candidate, bar, passed_by(verdict, head), on_trunk=False, head=head)
        return _one(candidate, bar, verdict, on_trunk=True, head=candidate.id)
    if candidate.id != head:
        return _one(candidate, bar, verdict, on_trunk=False, head=head)
    if before is None:
        reason = f"{verdict.reason}; it stays the head, because no other keep is left to start from"
        held = Verdict(verdict="keep", rule=verdict.rule, reason=reason)
        return _one(candidate, bar, held, on_trunk=True, head=head)
    return _one(candidate, bar, verdict, on_trunk=False, head=before)


def _one(candidate: Standing, bar: int, verdict: Verdict, *, on_trunk: bool, head: int | None) -> Judgement:
    ruling = Ruling(candidate=candidate.id, bar=bar, verdict=verdict, on_trunk=on_trunk)
    return Judgement(rulings=(ruling,), head=head)


def after_overruling(
    head: int | None, candidate: Standing, word: VerdictWord, *, from_head: bool, before: int | None
) -> Overruled | None:
    """A person gives a candidate a verdict; None when it may not be, because nothing would be left to start from.

    A keep that was made from the head becomes the head; any other stays where it is, on the trunk or on a branch.
    A head that is no keep any more hands over to the keep before it.

    Args:
        head: which candidate is the head now.
        candidate: the one that is overruled, as it stands.
        word: the person's verdict.
        from_head: whether it was made from the head (`made_from_head`).
        before: which keep would be the head in place of the head (`head_before`).
    """
    if word == "keep":
        if from_head:
            return Overruled(on_trunk=True, head=candidate.id)
        return Overruled(on_trunk=candidate.on_trunk, head=head)
    if candidate.id != head:
        return Overruled(on_trunk=False, head=head)
    return Overruled(on_trunk=False, head=before) if before is not None else None


# --- who is judged by whom --------------------------------------------------------------------------------------


def may_judge(judged_by: str | None) -> bool:
    """Whether the keep rule may give a candidate a verdict; `judged_by` is who gave it the one that it has."""
    return judged_by in (None, JUDGE)


def judged_again(origin: str, judged_by: str | None) -> bool:
    """Whether a candidate that is scored once more is judged by the new score.

    Args:
        origin: where it comes from: a baseline is where the campaign starts, and an imported commit a reference.
        judged_by: who gave it its verdict. What a person has judged stands, and what has no verdict has its turn.
    """
    return judged_by == JUDGE and origin not in ("baseline", "imported")


def after_note(verdict: str | None) -> VerdictWord | None:
    """What becomes of a verdict when somebody says that the candidate is worth starting from; None: nothing."""
    return "interesting" if verdict == "discard" else None
