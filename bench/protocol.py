"""Deriving the state of a big research project: from GitHub, read first and again, and from a local forge."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from herdr_polyresearch.forge.address import Address
from herdr_polyresearch.forge.base import Forge
from herdr_polyresearch.forge.github import GitHubForge
from herdr_polyresearch.forge.local import LocalForge
from herdr_polyresearch.forge.local_forges import create_local
from herdr_polyresearch.forge.rows import connect, text_of
from herdr_polyresearch.protocol.derive import derive
from herdr_polyresearch.protocol.threads import Issue, PullRequest, Snapshot

from bench.hub import Hub, serving
from bench.report import Row, figure, spread
from bench.theses import BASE, COMMENTS, NOW, PROGRAM, PULLS, THESES, branches, project

COLD, WARM = 3, 9
#: Seconds and requests when nothing changed: every command of `polyresearch` pays them before it does anything.
BUDGET, REQUESTS = 0.3, 2
WHAT = "derive 1,000 theses"


class Time(NamedTuple):
    """Seconds that passed, and seconds of a processor that we took of them."""

    passed: float
    own: float


def measure() -> list[Row]:
    """Deriving alone, then with a read before it, from each kind of forge, and the same read thread by thread."""
    with tempfile.TemporaryDirectory(prefix="herdr-bench-") as folder, closing(_local(Path(folder))) as local:
        whole = project(local.git.heads())
        _fill(local.folder / "forge.db", whole)
        alone = [_time(lambda: _check(whole)) for _ in range(WARM)]
        rows = [_spread(f"{WHAT}, nothing to read", alone)]
        rows += _github(Path(folder), whole)
        near = [_time(lambda: _check(local.snapshot())) for _ in range(WARM)]
        return [*rows, _spread(f"{WHAT}, local forge", near)]


def _github(folder: Path, whole: Snapshot) -> list[Row]:
    """Each read is a client of its own, as in a command; the warm ones find the cache of a cold one."""
    hub = Hub(whole)
    with serving(hub) as url:

        def read(home: str) -> Time:
            with closing(_open(url, folder / home)) as forge:
                hub.requests = 0
                return _time(lambda: _check(forge.snapshot()))

        cold = [read(f"cold-{number}") for number in range(COLD)]
        cold_requests = hub.requests
        warm = [read("cold-0") for _ in range(WARM)]
        warm_requests = hub.requests
        with closing(_open(url, folder / "threads")) as forge:
            hub.requests = 0
            threads = _time(lambda: [forge.comments(number) for number in range(1, THESES + PULLS + 1)])
    return [
        _spread(f"{WHAT}, GitHub, cold", cold),
        figure(f"{WHAT}, GitHub, cold: requests", cold_requests, ""),
        _spread(f"{WHAT}, GitHub, cached", warm, budget=BUDGET),
        figure(f"{WHAT}, GitHub, cached: requests", warm_requests, "", budget=REQUESTS),
        figure("the same comments, thread by thread", threads.passed, "s", note=_note(threads.own)),
        figure("the same comments, thread by thread: requests", hub.requests, ""),
    ]


def _local(folder: Path) -> LocalForge:
    """A local forge whose repository has a commit on the branch of each pull request."""
    forge = create_local("lead/lab", home=folder / "local", owner="lead", collaborators=["lead"])
    who = "committer bench <bench@example.com> 1775811600 +0000"
    stream = [f"commit refs/heads/main\nmark :1\n{who}\ndata 0\n"]
    stream += [f"commit refs/heads/{name}\n{who}\ndata {len(name)}\n{name}\nfrom :1\n" for name in branches()]
    command = ["git", "fast-import", "--quiet"]
    subprocess.run(command, cwd=forge.git.path, input="".join(stream).encode(), check=True)
    return forge


def _fill(path: Path, whole: Snapshot) -> None:
    """Write the project straight into the database of a local forge."""
    threads: list[Issue | PullRequest] = [*whole.issues, *reversed(whole.pulls)]
    with closing(connect(path)) as database:
        database.execute("BEGIN")
        for one in threads:
            kind, state = (
                "issue" if isinstance(one, Issue) else "pull",
                "open" if one.state == "open" else "closed",
            )
            closed = text_of(one.closed_at) if one.closed_at else None
            at = text_of(one.created_at)
            values = (one.number, kind, one.title, one.body, state, None, one.author, at, closed or at, closed)
            database.execute(f"INSERT INTO thread VALUES ({', '.join('?' * len(values))})", values)  # noqa: S608
        labels = [(issue.number, label) for issue in whole.issues for label in issue.labels]
        database.executemany("INSERT INTO label VALUES (?, ?)", labels)
        pulls = [
            (pull.number, pull.head_ref, pull.head_sha, pull.base_ref, BASE, pull.merge_sha, pull.merged_at)
            for pull in whole.pulls
        ]
        database.executemany(
            "INSERT INTO pull VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(*rest, text_of(merged) if merged else None) for *rest, merged in pulls],
        )
        said = [
            (one.id, number, one.author, one.body, text_of(one.created_at), text_of(one.created_at), None)
            for number, comments in whole.comments.items()
            for one in comments
        ]
        database.executemany("INSERT INTO comment VALUES (?, ?, ?, ?, ?, ?, ?)", said)
        database.execute("COMMIT")


def _open(url: str, home: Path) -> Forge:
    return GitHubForge(Address("github.com", "lead", "lab"), "token", home=home, api=url)


def _check(snapshot: Snapshot) -> None:
    """Derive, and be sure that all of it was there and counted."""
    state = derive(snapshot, PROGRAM, NOW)
    comments = sum(map(len, snapshot.comments.values()))
    found = (len(state.theses), len(state.candidates), comments, len(state.findings))
    if found != (THESES, PULLS, COMMENTS, 0):
        raise RuntimeError(f"theses, pull requests, comments and findings are {found}")


def _time(do: Callable[[], object]) -> Time:
    begin, before = time.perf_counter(), time.thread_time()
    do()
    return Time(time.perf_counter() - begin, time.thread_time() - before)


def _spread(what: str, times: Sequence[Time], *, budget: float | None = None) -> Row:
    """The times that passed, and below them how much of each our own code computed; the rest is the server's."""
    own = sorted(one.own for one in times)[len(times) // 2]
    return spread(what, [one.passed for one in times], "s", budget=budget, note=_note(own))


def _note(own: float) -> str:
    return f"of that {own:.2f} s of processor time"
