"""Scores one commit: a clean worktree of exactly it, the evaluator's own files over it, the evaluate command."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from herdr.errors import HerdrError, RefusedError
from herdr.repo.furnish import furnish
from herdr.repo.overlay import overlay
from herdr.repo.worktrees import create_detached, remove_detached, verify_detached
from herdr.runtime.command import run_marked
from herdr.runtime.ending import end_tree_in_thread
from herdr.scoring.metrics import BadMetricsError, read_metrics

#: What an evaluate command may see of the daemon's environment; anything else only by `evaluate_env`.
PASSED_ON = ("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
#: Bytes of output that are read for metrics, and shown of an error.
OUTPUT_LIMIT = 16 * 1024 * 1024
ERROR_LIMIT = 600


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One scoring to do. `timeout` is in seconds; `folder` is ours alone and may hold remains of a killed one.

    `mark` tells the command's processes from all others, see `runtime.processes`.
    """

    root: Path
    commit: str
    evaluator_commit: str
    protected: Sequence[str]
    argv: Sequence[str]
    metrics: Sequence[str]
    link: Sequence[str]
    workspace: Path
    timeout: float
    env: Mapping[str, str]
    folder: Path
    mark: str

    @property
    def worktree(self) -> Path:
        """Where the commit is checked out."""
        return self.folder / "worktree"


class ScoringResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a scoring gave; `error` is None when every metric is there and finite."""

    metrics: dict[str, float]
    error: str | None
    seconds: float


def evaluator_environment(environ: Mapping[str, str], named: Sequence[str]) -> dict[str, str]:
    """The environment of an evaluate command: the plain variables and those that `evaluate_env` names.

    Secrets of the daemon's environment are thereby not there.

    Args:
        environ: herdr's own environment.
        named: the variables that `evaluate_env` lists.
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
    is cancelled; after a crash, by the next scoring with the same mark. What it printed stays in `job.folder`.

    Args:
        job: what to score and how.
        elsewhere: asks plugins that score on other machines; None from it means that none of them takes the job.

    Raises:
        HerdrError: the worktree could not be made; that is not the candidate's fault.
    """
    await end_tree_in_thread(job.mark, grace=0)
    await anyio.to_thread.run_sync(prepare, job)
    try:
        await anyio.to_thread.run_sync(_furnish, job)
        return await elsewhere() or await run_command(job)
    except RefusedError as error:
        # The candidate has a file of its own where a link goes: that is its failure, and none of the machine.
        return ScoringResult(metrics={}, error=error.message, seconds=0.0)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove_detached, job.root, job.worktree)


def prepare(job: Job) -> None:
    """Make the worktree of a job, replacing what a killed scoring left."""
    job.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    remove_detached(job.root, job.worktree)
    create_detached(job.root, job.worktree, job.commit)
    overlay(job.worktree, root=job.root, commit=job.evaluator_commit, paths=job.protected)
    verify_detached(job.worktree, root=job.root, commit=job.commit)


def _furnish(job: Job) -> None:
    furnish(job.worktree, root=job.root, link=job.link, workspace=job.workspace)


async def run_command(job: Job) -> ScoringResult:
    """Run the evaluate command in the prepared worktree and read its metrics."""
    metrics_file = job.folder / "metrics.json"
    metrics_file.unlink(missing_ok=True)
    env = {**job.env, "PILOOP_METRICS_FILE": str(metrics_file)}
    begin = time.monotonic()
    with (job.folder / "stdout.txt").open("wb") as out, (job.folder / "stderr.txt").open("wb") as err:
        try:
            code = await run_marked(
                job.argv, cwd=job.worktree, env=env, mark=job.mark, timeout=job.timeout, stdout=out, stderr=err
            )
        except OSError as error:
            return ScoringResult(metrics={}, error=f"cannot run {job.argv[0]}: {error.strerror}", seconds=0.0)
    seconds = time.monotonic() - begin
    if code is None:
        return ScoringResult(
            metrics={}, error=f"the evaluate command ran longer than {job.timeout:g} s", seconds=seconds
        )
    return _read(job, metrics_file, code, seconds)


def _read(job: Job, metrics_file: Path, code: int, seconds: float) -> ScoringResult:
    if code != 0:
        return ScoringResult(metrics={}, error=_exit_words(job, code), seconds=seconds)
    output = _text(job.folder / "stdout.txt")
    document = _text(metrics_file) if metrics_file.is_file() else None
    try:
        return ScoringResult(metrics=read_metrics(output, document, job.metrics), error=None, seconds=seconds)
    except BadMetricsError as error:
        return ScoringResult(metrics=error.metrics, error=error.message, seconds=seconds)


def _exit_words(job: Job, code: int) -> str:
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with status {code}"
    tail = _text(job.folder / "stderr.txt").strip() or _text(job.folder / "stdout.txt").strip()
    last = tail.splitlines()[-1][:ERROR_LIMIT] if tail else "it printed nothing"
    return f"the evaluate command {how}: {last}"


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > OUTPUT_LIMIT:
                file.seek(size - OUTPUT_LIMIT)
            return file.read(OUTPUT_LIMIT).decode("utf-8", "replace")
    except OSError as error:
        raise HerdrError(f"cannot read {path}: {error.strerror}") from error
