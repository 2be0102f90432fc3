"""How a start, a run and an idea end: what counts as an attempt, and what comes next."""

from __future__ import annotations

import signal
from typing import Literal

import msgspec

from herdr.contract.words import IdeaStatus, RunEnd, RunState

#: An agent that ends this soon (seconds) and left nothing never really started.
START_SECONDS = 120.0
#: The first start of a run and the two times that it is started again.
MAX_STARTS = 3
#: From so many agents of a run in a row whose wrapper alone was killed, each is a failed start.
KILLED_IN_A_ROW = 3


class StartFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when an agent has ended; `tokens` is None where its harness does not count them.

    `killed` is how many agents of the run in a row, this one included, ended because their wrapper alone was
    killed: their tmux server and their machine lived on. `lost` means that those went away.
    """

    launched: bool = True
    seconds: float = 0.0
    tokens: int | None = None
    committed: bool = False
    commented: bool = False
    timed_out: bool = False
    cancelled: bool = False
    lost: bool = False
    killed: int = 0


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when the last agent of a run has ended and its uncommitted work is committed.

    `exit_status` and `exit_signal` are the agent's own doing: both are None when herdr ended it, for example
    because it was idle with its work done. `failure` names the cause of a turn that failed for good. `commits`
    are the worker's, without the `recovered` one that herdr made. `lost` means that its tmux server or its
    machine went away, or its wrapper was killed, `stopped` that the campaign ended while it ran. `folder_lost`
    says what was found in the place of its folder, `ending_failed` what could not be done after its agent's end.
    """

    commits: int = 0
    recovered: bool = False
    finding: bool = False
    exit_status: int | None = None
    exit_signal: int | None = None
    failure: str | None = None
    start_failed: bool = False
    blocked: bool = False
    timed_out: bool = False
    cancelled: bool = False
    stopped: bool = False
    lost: bool = False
    folder_lost: str = ""
    ending_failed: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the run from now on, its typed end, the same in words, and whether it was an attempt.

    A run that goes back to the queue has no end yet.
    """

    state: RunState
    end: RunEnd | None
    detail: str
    counts: bool = True


def failed_start(facts: StartFacts) -> bool:
    """Whether an agent never really started (`docs/ideas-seeds-runs.md`, "Runs")."""
    if facts.timed_out or facts.cancelled:
        return False
    if facts.killed:
        return facts.killed >= KILLED_IN_A_ROW
    if facts.lost:
        return False
    if not facts.launched:
        return True
    left_nothing = not (facts.tokens or facts.committed or facts.commented)
    return left_nothing and facts.seconds <= START_SECONDS


def after_failed_start(starts: int) -> Literal["restart", "fail"]:
    """What to do with a run after `starts` failed starts of it: the same run again, or its end."""
    return "restart" if starts < MAX_STARTS else "fail"


def run_outcome(facts: RunFacts) -> Outcome:
    """Decide how a run ended.

    What a person or the clock decided comes first, then what happened to the agent, then what it left behind: a
    negative result that is written down is a result, while neither a commit nor a finding of its own is none.
    """
    return _stopped(facts) or _broken(facts) or _left_behind(facts)


def idea_after(outcome: Outcome, *, attempts: int, limit: int, status: IdeaStatus) -> IdeaStatus:
    """The status of an idea once its run has ended and its commits are judged.

    Args:
        outcome: how the run ended.
        attempts: the idea's runs that count, this one included if it does.
        limit: how many attempts an idea has.
        status: the idea's status now. A person who changed it has the last word: only `scheduled` moves.
    """
    if status != "scheduled" or outcome.state in ("queued", "running"):
        return status
    if outcome.end == "stopped":
        return "ready"
    if outcome.state == "cancelled":
        # Ready would start it again at once, and done would let the ideas that wait for it go on without it.
        return "parked"
    if outcome.state == "succeeded":
        return "done"
    if attempts < limit:
        return "ready"
    return "parked" if outcome.end == "start_failed" else "done"


def _stopped(facts: RunFacts) -> Outcome | None:
    if facts.cancelled:
        return Outcome(state="cancelled", end="cancelled", detail="cancelled", counts=False)
    if facts.stopped:
        return Outcome(state="cancelled", end="stopped", detail="the campaign stopped first", counts=False)
    if facts.folder_lost:
        return _failed("folder_lost", facts.folder_lost)
    if facts.ending_failed and not facts.lost:
        return _failed("ending_failed", facts.ending_failed)
    if facts.timed_out:
        return Outcome(state="timed_out", end="timed_out", detail="ran until its timeout")
    if facts.lost:
        detail = "its tmux server or its machine went away, or its wrapper was killed"
        return Outcome(state="queued", end=None, detail=detail, counts=False)
    return None


def _broken(facts: RunFacts) -> Outcome | None:
    if facts.start_failed:
        return _failed("start_failed", f"failed to start {MAX_STARTS} times")
    if facts.blocked:
        return _failed("blocked", "waited for an answer that nobody gave")
    if facts.failure is not None:
        return _failed("process_error", f"its last turn failed: {facts.failure}")
    if facts.exit_signal is not None:
        return _failed("process_error", f"was killed by {_signal_name(facts.exit_signal)}")
    if facts.exit_status:
        return _failed("process_error", f"exited with status {facts.exit_status}")
    return None


def _left_behind(facts: RunFacts) -> Outcome:
    if facts.commits:
        return Outcome(state="succeeded", end="finished", detail=f"commits: {facts.commits}")
    if facts.finding:
        return Outcome(state="succeeded", end="finding_only", detail="a finding, and no commit of its own")
    if facts.recovered:
        return _failed(
            "recovered_only",
            "left no commit or finding of its own; its uncommitted work was committed for it and is scored",
        )
    return _failed("no_commits", "left neither a commit nor a finding")


def _failed(end: RunEnd, detail: str) -> Outcome:
    return Outcome(state="failed", end=end, detail=detail)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
