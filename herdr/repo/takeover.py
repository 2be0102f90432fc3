"""Brings an agent's commits from its run's repository into herdr's own, and pins them in the person's.

git does not check an object's hash when it reads it, so a repository that an agent can write to may hold anything
under any name. Therefore the objects are packed in a throw-away git folder and unpacked here, which computes each
name anew and refuses what is broken or incomplete. Only what arrived is looked at afterwards.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from herdr.repo.commits import Commit, read_commits
from herdr.repo.git import GitError, run_git
from herdr.repo.isolated import Isolated
from herdr.repo.own import CLOSED, OwnRepository
from herdr.repo.refs_on_disk import read_refs

#: Seconds, and bytes of packed objects, that one takeover may take.
DEADLINE = 300.0
SIZE_LIMIT = 2 * 1024**3
#: How many commits of one run are taken over at most; a run that makes more is told so.
MOST = 500
PACK = ("pack-objects", "--revs", "--thin", "--stdout", "-q")
UNPACK = ("index-pack", "--stdin", "--strict", "--fix-thin", f"--max-input-size={SIZE_LIMIT}")
#: The throw-away git folder: nothing in it but what reads objects.
BARE = b"""[core]
\trepositoryformatversion = 0
\tbare = true
\tcommitGraph = false
\tmultiPackIndex = false
[pack]
\tuseBitmaps = false
\tthreads = 1
"""


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What a run's repository gave.

    Attributes:
        commits: the run's commits that are in herdr's own repository now, in order of time.
        problems: commits that could not be taken over, and why, a sentence each.
    """

    commits: tuple[Commit, ...] = ()
    problems: tuple[str, ...] = ()


def take_over(place: Isolated, own: OwnRepository, *, known: Sequence[str], since: int) -> Taken:
    """Bring over every commit that HEAD or a branch of a run's repository stands on, or has stood on.

    A commit is the run's when nothing that was there before reaches it, and it was made since the run started:
    history that an agent fetched is not its own.

    Args:
        place: the run's folder; it need not be whole, its repository's files are enough.
        own: the project's repository of herdr's own.
        known: commits whose history is not the run's: its base, what other runs' pins keep, the person's branches
            and tags. Those that herdr's own repository does not have are passed over.
        since: when the run started, in seconds since the epoch.

    Returns:
        All of the run's commits, those that were taken over earlier among them.
    """
    refs = read_refs(place)
    wanted = list(dict.fromkeys(sha for sha in (refs.head, *refs.tips, *refs.stood_on) if sha is not None))
    problems = [*refs.problems, *bring(place.repository / "objects", own, wanted, known)]
    have = existing(own, wanted)
    commits = read_commits(own, [*have, *(f"^{sha}" for sha in existing(own, known))]) if have else []
    early = [one for one in commits if one.committed < since and one.sha in refs.stood_on]
    if early:
        problems.append(
            f"{len(early)} commits that HEAD stood on were made before the run started, so they are not its own"
        )
    mine = sorted((one for one in commits if one.committed >= since), key=lambda one: one.committed)
    if len(mine) > MOST:
        problems.append(f"{len(mine)} commits were made, of which the last {MOST} count")
    return Taken(commits=tuple(mine[-MOST:]), problems=tuple(problems))


def bring(objects: Path, own: OwnRepository, tips: Sequence[str], known: Iterable[str] = ()) -> list[str]:
    """Copy commits with all that they need; says of each that could not be copied why.

    Args:
        objects: the object folder that has them.
        own: where they are copied to.
        tips: full ids of commits.
        known: commits that are there already, with their history.
    """
    missing = [sha for sha in tips if sha not in set(existing(own, tips))]
    if not missing:
        return []
    bases = existing(own, known)
    if _copy(objects, own, missing, bases) is None:
        return []
    # One that is broken must not cost the others.
    said = {sha: _copy(objects, own, [sha], bases) for sha in missing}
    return [f"commit {sha[:12]} could not be taken over: {why}" for sha, why in said.items() if why is not None]


def existing(own: OwnRepository, shas: Iterable[str]) -> list[str]:
    """Those of these commits that herdr's own repository has, in their order.

    Args:
        own: the repository.
        shas: full ids.
    """
    asked = list(dict.fromkeys(shas))
    if not asked:
        return []
    said = own.run("cat-file", "--batch-check=%(objecttype)", input="".join(f"{sha}\n" for sha in asked).encode())
    return [sha for sha, kind in zip(asked, said.text.splitlines(), strict=True) if kind == "commit"]


def pin(own: OwnRepository, pins: Mapping[str, str]) -> None:
    """Keep commits, in herdr's own repository and in the person's, each under a ref; doing it again is fine.

    The person's repository gets the objects that it lacks, and these refs: no tags, no FETCH_HEAD, no maintenance,
    and no program that its configuration names.

    Args:
        own: the project's repository of herdr's own; it has the commits.
        pins: full names of refs, and the full ids of their commits.

    Raises:
        GitError: the person's repository cannot be written.
    """
    if not pins:
        return
    lines = "".join(f"update {name} {commit}\n" for name, commit in pins.items()).encode()
    own.run("update-ref", "--stdin", input=lines)
    lent = own.common / "objects"
    with tempfile.TemporaryDirectory(dir=own.path, prefix="pin-") as name:
        folder = _throw_away(Path(name), (), own)
        env = {**CLOSED, "GIT_DIR": str(folder), "GIT_OBJECT_DIRECTORY": str(lent)}
        kept = own.run("for-each-ref", "--format=%(objectname)", "refs/piloop").text.split()
        there = set(_commits_in(folder, env, [*kept, *pins.values()]))
        missing = [sha for sha in dict.fromkeys(pins.values()) if sha not in there]
        if missing:
            wanted = "".join([*(f"{sha}\n" for sha in missing), *(f"^{sha}\n" for sha in there)])
            packed = own.run(*PACK, input=wanted.encode(), timeout=DEADLINE)
            run_git(folder, *UNPACK, input=packed.out, env=env, timeout=DEADLINE)
    run_git(own.common, "update-ref", "--stdin", input=lines, env={"GIT_DIR": str(own.common)})


def _commits_in(folder: Path, env: Mapping[str, str], shas: Sequence[str]) -> list[str]:
    if not shas:
        return []
    asked = "".join(f"{sha}\n" for sha in shas).encode()
    said = run_git(folder, "cat-file", "--batch-check=%(objecttype)", input=asked, env=env).text.splitlines()
    return [sha for sha, kind in zip(shas, said, strict=True) if kind == "commit"]


def _copy(objects: Path, own: OwnRepository, tips: Sequence[str], bases: Sequence[str]) -> str | None:
    """Pack there, unpack here; None when it worked, else why not."""
    with tempfile.TemporaryDirectory(dir=own.path, prefix="take-") as name:
        folder = _throw_away(Path(name), (own.common / "objects", objects), own)
        revisions = "".join([*(f"{sha}\n" for sha in tips), *(f"^{sha}\n" for sha in bases)])
        try:
            return _pipe(folder, own, revisions.encode())
        except (OSError, GitError) as error:
            return str(error)


def _throw_away(folder: Path, borrowed: Sequence[Path], own: OwnRepository) -> Path:
    """A git folder without refs, hooks or history that reads these object folders."""
    (folder / "objects/info").mkdir(parents=True)
    (folder / "objects/pack").mkdir()
    (folder / "refs").mkdir()
    (folder / "objects/info/alternates").write_bytes(b"".join(os.fsencode(one) + b"\n" for one in borrowed))
    (folder / "config").write_bytes(BARE + own.snapshot.format_lines())
    if own.snapshot.shallow:
        (folder / "shallow").write_bytes(own.snapshot.shallow)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    return folder


def _pipe(folder: Path, own: OwnRepository, revisions: bytes) -> str | None:
    base = (
        {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        | CLOSED
        | {"LC_ALL": "C"}
    )
    git = shutil.which("git") or "git"
    pack = subprocess.Popen(
        [git, *PACK], cwd=folder, start_new_session=True,
        env={**base, "GIT_DIR": str(folder), "GIT_NO_LAZY_FETCH": "1"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    take = subprocess.Popen(
        [git, *UNPACK],
        cwd=own.path, start_new_session=True, env={**base, "GIT_DIR": str(own.path)},
        stdin=pack.stdout, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert pack.stdin is not None
    assert pack.stdout is not None
    pack.stdout.close()

    def give_up() -> None:
        _kill(pack)
        _kill(take)

    late = threading.Timer(DEADLINE, give_up)
    late.start()
    try:
        said: dict[str, bytes] = {}
        reader = threading.Thread(target=lambda: said.update(pack=pack.stderr.read() if pack.stderr else b""))
        reader.start()
        try:
            pack.stdin.write(revisions)
            pack.stdin.close()
        except BrokenPipeError:
            pass
        _, said["take"] = take.communicate()
        reader.join()
        pack.wait()
    finally:
        late.cancel()
        give_up()
    if pack.returncode == 0 and take.returncode == 0:
        return None
    if late.finished.is_set() and (pack.returncode == -signal.SIGKILL or take.returncode == -signal.SIGKILL):
        return f"not done after {DEADLINE:.0f} seconds"
    words = (said.get("pack", b"") if pack.returncode else b"") + said["take"]
    lines = [line.strip() for line in words.decode("utf-8", "replace").splitlines() if line.strip()]
    return next(
        (line for line in lines if "fatal" in line or "error" in line), lines[0] if lines else "git failed"
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        process.wait()
