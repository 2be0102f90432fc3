"""Scores one commit: a clean worktree of exactly it, the evaluator's own files over it, the evaluate command."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from herdr.errors import HerdrError, RefusedError
from herdr.files import Folder, NotPlainError
from herdr.repo.files import delete_entry
from herdr.repo.furnish import furnish
from herdr.repo.isolated import Isolated, create, finish
from herdr.repo.overlay import overlay, touched
from herdr.repo.own import OwnRepository
from herdr.runtime.command import run_marked
from herdr.runtime.ending import end_tree_in_thread
from herdr.scoring.contents import EvaluatorDiffersError, compare
from herdr.scoring.metrics import BadMetricsError, read_metrics
from herdr.scoring.output import Capture
from herdr.scoring.set_up import Command, SetUpError, set_up

#: What an evaluate command may see of the daemon's environment; anything else only by `evaluate_env`.
PASSED_ON = ("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
METRICS_FILE = "metrics.json"
#: Bytes that the metrics file may hold, and characters that are shown of an error.
METRICS_LIMIT = 1024 * 1024
ERROR_LIMIT = 600
#: Files that an error names.
NAMED = 3
#: What ends the name of an attempt's folder, and what begins that of one which is to go.
ATTEMPT, GONE = re.compile(r"[0-9a-f]{8}"), "gone-"
#: How often the removal of a folder is tried, into which somebody may be writing.
TRIES = 3


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at one scoring.

    Attributes:
        own: the project's repository of herdr's own.
        commit: what is scored.
        evaluator_commit: where the evaluator's files come from.
        protected: the patterns of these.
        contents: what each of them holds, see `scoring.contents`.
        base: what the candidate started from, and so has changed; None: the evaluator's commit.
        argv: the evaluate command.
        setup: makes the worktree ready before it; None where there is nothing to do.
        setup_reads: gitignore patterns of what that reads.
        metrics: the names of the metrics that it has to give.
        link: the paths that are linked.
        shared: those of them that are meant to be written to.
        timeout: how many seconds the command may take.
        env: its whole environment.
        folder: keeps what the command printed; ours alone.
        attempt: tells its folder from those of other attempts, so that what one left alive is in no other's way.
        mark: tells the command's processes from all others, see `runtime.processes`.
    """

    own: OwnRepository
    commit: str
    evaluator_commit: str
    protected: Sequence[str]
    contents: Mapping[str, str]
    base: str | None = None
    argv: Sequence[str]
    setup: Command | None = None
    setup_reads: Sequence[str] = ()
    metrics: Sequence[str]
    link: Sequence[str]
    shared: Sequence[str] = ()
    timeout: float
    env: Mapping[str, str]
    folder: Path
    attempt: str = msgspec.field(default_factory=lambda: secrets.token_hex(4))
    mark: str

    @property
    def scratch(self) -> Path:
        """All that the command is given to work in; goes with the attempt."""
        return self.folder.with_name(f"{self.folder.name}-{self.attempt}")

    @property
    def place(self) -> Isolated:
        """Where the commit is checked out, on a repository of its own: the candidate's code reaches no other."""
        return _place(self.scratch)

    @property
    def worktree(self) -> Path:
        """Where the commit is checked out."""
        return self.place.worktree


class ScoringResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a scoring gave; `error` is None when every metric is there and finite.

    Attributes:
        metrics: each by its name.
        error: why they are not all there.
        seconds: how long the evaluate command took.
        setup_seconds: how long the set-up before it took; None where there was none.
    """

    metrics: dict[str, float]
    error: str | None
    seconds: float
    setup_seconds: float | None = None


def evaluator_environment(environ: Mapping[str, str], named: Sequence[str]) -> dict[str, str]:
    """The environment of an evaluate command: the plain variables and those that `evaluate_env` names.

    Secrets of the daemon's environment are thereby not there.

    Args:
        environ: the daemon's.
        named: what `evaluate_env` names.
    """
    return {
        name: value
        for name, value in environ.items()
        if name in PASSED_ON or name.startswith("LC_") or name in named
    }


async def nowhere_else() -> None:
    """No plugin takes the scoring."""


async def measure(
    job: Job, elsewhere: Callable[[], Awaitable[ScoringResult | None]] = nowhere_else
) -> ScoringResult:
    """Score a commit: in the prepared worktree, by `elsewhere` if that gives a score, else on this machine.

    The command and all that it started are killed when it has ended, when it is too slow, and when this coroutine
    is cancelled; after a crash, by the next scoring with the same mark. Of a failed one `job.folder` keeps what
    it printed, of any other nothing stays.

    Args:
        job: what to score.
        elsewhere: asks somebody else first.

    Args:
        job: what to score and how.
        elsewhere: asks plugins that score on other machines; None from it means that none of them takes the job.

    Raises:
        SetUpError: the set-up failed, and not because of what the candidate changed.
        HerdrError: the worktree could not be made; that is not the candidate's fault.
    """
    await end_tree_in_thread(job.mark, grace=0)
    await anyio.to_thread.run_sync(clear_earlier, job)
    try:
        await anyio.to_thread.run_sync(prepare, job)
        score = await _score(job, elsewhere)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(discard, job.scratch)
    if score.error is None:
        await anyio.to_thread.run_sync(discard, job.folder)
    return score


async def _score(job: Job, elsewhere: Callable[[], Awaitable[ScoringResult | None]]) -> ScoringResult:
    try:
        await anyio.to_thread.run_sync(_furnish, job)
    except RefusedError as error:
        # The candidate brought something of its own where a link goes: nobody else's fault.
        return ScoringResult(metrics={}, error=error.message, seconds=0.0)
    if job.setup is None:
        return await elsewhere() or await run_command(job)
    ready = await _set_up(job, job.setup)
    if isinstance(ready, str):
        return ScoringResult(metrics={}, error=ready, seconds=0.0)
    score = await elsewhere() or await run_command(job)
    return msgspec.structs.replace(score, setup_seconds=ready)


async def _set_up(job: Job, command: Command) -> float | str:
    """Make the worktree ready; gives the seconds, or what failed by the candidate's own doing.

    Raises:
        SetUpError: it failed, and the candidate has changed nothing of what it reads.
    """
    try:
        seconds = await set_up(command, job.worktree)
        # It runs the candidate's code, so it may have changed what scores the candidate.
        await anyio.to_thread.run_sync(compare, job.worktree, job.contents)
    except SetUpError as error:
        base = job.base or job.evaluator_commit
        changed = await anyio.to_thread.run_sync(touched, job.own, base, job.commit, job.setup_reads)
        if not changed:
            raise
        return f"{error.message} (the candidate changed {', '.join(changed[:NAMED])})"
    except EvaluatorDiffersError as error:
        return f"after the set-up, {error.message}"
    return seconds


def clear_earlier(job: Job) -> None:
    """Remove what earlier attempts at the same scoring left, and make its folder anew.

    Args:
        job: the attempt that is about to begin.
    """
    if job.folder.parent.is_dir():
        for path in job.folder.parent.iterdir():
            base, _, attempt = path.name.rpartition("-")
            if base == job.folder.name and ATTEMPT.fullmatch(attempt):
                with contextlib.suppress(OSError, HerdrError):
                    finish(_place(path), job.own)
                discard(path)
    discard(job.folder)
    job.folder.mkdir(parents=True, mode=0o700)


def prepare(job: Job) -> None:
    """Make the worktree of a job, with the evaluator's files as they were recorded.

    Args:
        job: an attempt whose scratch folder is not there yet.

    Raises:
        EvaluatorDiffersError: the evaluator's files are not what was recorded.
        HerdrError: it could not be made.
    """
    job.scratch.mkdir(mode=0o700)
    create(job.place, job.own, commit=job.commit, branch=None)
    overlay(job.place, job.own, candidate=job.commit, commit=job.evaluator_commit, paths=job.protected)
    compare(job.worktree, job.contents)


def discard(path: Path) -> bool:
    """Remove a folder of a scoring; says whether it is gone.

    It is put aside first, so that what is still alive of a candidate finds it under no name that it knows; one
    that stands in it can keep it from being emptied, but nobody waits for that: `herdr clean` takes what stayed.

    Args:
        path: the folder.
    """
    aside = path.with_name(f"{GONE}{secrets.token_hex(8)}")
    try:
        path.rename(aside)
    except FileNotFoundError:
        return True
    for _ in range(TRIES):
        with contextlib.suppress(OSError):
            delete_entry(aside)
        if not os.path.lexists(aside):
            return True
    return False


def _place(scratch: Path) -> Isolated:
    return Isolated(repository=scratch / "repository.git", worktree=scratch / "worktree")


def _furnish(job: Job) -> None:
    furnish(job.place, job.own, link=job.link, shared=job.shared)


async def run_command(job: Job) -> ScoringResult:
    """Run the evaluate command in the prepared worktree and read its metrics.

    Args:
        job: an attempt that was prepared.
    """
    env = {**job.env, "PILOOP_METRICS_FILE": str(job.scratch / METRICS_FILE)}
    capture = Capture(job.folder)
    # Opened before anything of the candidate's runs: nobody can put another folder in its place.
    with Folder.open(job.scratch) as scratch:
        begin = time.monotonic()
        try:
            code = await _run(job, env, capture)
        except OSError as error:
            return ScoringResult(metrics={}, error=f"cannot run {job.argv[0]}: {error.strerror}", seconds=0.0)
        seconds = time.monotonic() - begin
        if code == 0:
            return _read(job, capture, scratch, seconds)
    slow = f"the evaluate command ran longer than {job.timeout:g} s"
    return ScoringResult(metrics={}, error=slow if code is None else _exit_words(capture, code), seconds=seconds)


async def _run(job: Job, env: Mapping[str, str], capture: Capture) -> int | None:
    out, err = capture.writers
    try:
        return await run_marked(
            job.argv, cwd=job.worktree, env=env, mark=job.mark, timeout=job.timeout, stdout=out, stderr=err
        )
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(capture.finish)


def _read(job: Job, capture: Capture, scratch: Folder, seconds: float) -> ScoringResult:
    try:
        document = _document(scratch)
        metrics = read_metrics(capture.out.metrics, document, job.metrics)
    except BadMetricsError as error:
        return ScoringResult(metrics=error.metrics, error=error.message, seconds=seconds)
    return ScoringResult(metrics=metrics, error=None, seconds=seconds)


def _document(scratch: Folder) -> str | None:
    """What the metrics file holds; it is the candidate's to write, so it may be anything."""
    try:
        return scratch.read(METRICS_FILE, METRICS_LIMIT).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except NotPlainError as error:
        raise BadMetricsError(f"$PILOOP_METRICS_FILE cannot be read: {error}", {}) from error


def _exit_words(capture: Capture, code: int) -> str:
    how = f"was killed by {_signal(-code)}" if code < 0 else f"exited with status {code}"
    last = capture.err.last_line or capture.out.last_line or "it printed nothing"
    return f"the evaluate command {how}: {last[:ERROR_LIMIT]}"


def _signal(number: int) -> str:
    # Those from 34 on have no names.
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
