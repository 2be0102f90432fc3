"""Brings an agent's commits from its run's repository into herdr's own, and pins them in the person's.

git does not check an object's hash when it reads it, so a repository that an agent can write to may hold anything
under any name. Therefore the objects are packed in a throw-away git folder and unpacked here, which computes each
name anew and refuses what is broken or incomplete. Only what arrived is looked at afterwards.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from herdr.repo.commits import Commit, read_commits
from herdr.repo.isolated import Isolated
from herdr.repo.lending import LendError, lend
from herdr.repo.lfs import bring_media
from herdr.repo.own import CLOSED, OwnRepository, write_bare
from herdr.repo.refs_on_disk import Refs
from herdr.repo.sending import EACH, WHOLE, Side, send

#: Seconds that one takeover may take, however much of it is broken.
DEADLINE = 300.0
#: How many commits of one run are taken over at most; a run that makes more is told so.
MOST = 500
#: How many broken commits are named.
NAMED = 20
#: In a partial clone, git must not fetch what an agent's repository lacks.
NO_FETCH = {"GIT_NO_LAZY_FETCH": "1"}


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What a run's repository gave.

    Attributes:
        commits: the run's commits that are in herdr's own repository now, in order of time.
        problems: commits that could not be taken over, and why, a sentence each.
        packs: the packs that came into herdr's own repository with this call, without their suffixes.
    """

    commits: tuple[Commit, ...] = ()
    problems: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()


def take_over(
    place: Isolated, own: OwnRepository, refs: Refs, *, known: Sequence[str], held: Sequence[str] = (), since: int
) -> Taken:
    """Bring over every commit that HEAD or a branch of a run's repository stands on, or has stood on.

    A commit is the run's when nothing that was there before reaches it, and it was made since the run started:
    history that an agent fetched is not its own.

    Args:
        place: the run's folder; it need not be whole, its repository's files are enough.
        own: the project's repository of herdr's own.
        refs: what the refs there say.
        known: commits, or tags, whose history is not the run's: its base, what other runs' pins keep, the
            person's branches and tags. Those that herdr's own repository does not have are passed over.
        held: the run's commits that were taken over earlier.
        since: when the run started, in seconds since the epoch.

    Returns:
        All of the run's commits, those that were taken over earlier among them.
    """
    wanted = refs.commits
    there = _there(own, [*wanted, *known])
    before = [sha for sha in dict.fromkeys(known) if sha in there]
    problems = list(refs.problems)
    packs: list[str] = []
    if missing := [sha for sha in wanted if sha not in there]:
        broken, packs = _bring(place.repository, own, missing, [*before, *held])
        problems += broken
        there |= _there(own, missing) if broken else dict.fromkeys(missing, "commit")
    have = [sha for sha in wanted if there.get(sha) == "commit"]
    commits = read_commits(own, [*have, *(f"^{sha}" for sha in before)]) if have else []
    early = [one for one in commits if one.committed < since and one.sha in refs.stood_on]
    if early:
        problems.append(
            f"{len(early)} commits that HEAD stood on were made before the run started, so they are not its own"
        )
    mine = sorted((one for one in commits if one.committed >= since), key=lambda one: one.committed)
    if len(mine) > MOST:
        problems.append(f"{len(mine)} commits were made, of which the last {MOST} count")
    return Taken(commits=tuple(mine[-MOST:]), problems=tuple(problems), packs=tuple(packs))


def bring(repository: Path, own: OwnRepository, commit: str) -> list[str]:
    """Copy a commit with all that it needs into herdr's own repository; says why when that cannot be done.

    Args:
        repository: a run's repository, which has it.
        own: where it is copied to.
        commit: its full id.
    """
    return [] if existing(own, [commit]) else _bring(repository, own, [commit], own_pins(own))[0]


def existing(own: OwnRepository, shas: Iterable[str]) -> list[str]:
    """Those of these commits that herdr's own repository has, in their order.

    Args:
        own: the repository.
        shas: full ids.
    """
    return [sha for sha, kind in _there(own, shas).items() if kind == "commit"]


def own_pins(own: OwnRepository) -> list[str]:
    """The commits that herdr's own repository keeps, of this home's projects in the person's repository.

    Args:
        own: the project's repository of herdr's own.
    """
    return own.run("for-each-ref", "--format=%(objectname)", "refs/piloop").text.split()


def pin(
    own: OwnRepository, pins: Mapping[str, str], known: Sequence[str] | None = None, *, packs: Sequence[str] = ()
) -> None:
    """Keep commits, in the person's repository and in herdr's own, each under a ref; doing it again is fine.

    The person's repository gets the objects that it lacks, and these refs: no tags, no FETCH_HEAD, no
    maintenance, and no program that its configuration names.

    Args:
        own: the project's repository of herdr's own; it has the commits.
        pins: full names of refs, and the full ids of their commits.
        known: commits whose history the person's repository is likely to have; all other pins by default.
        packs: packs of herdr's own repository that hold all that a repository lacks which has the known commits.

    Raises:
        HerdrError: the person's repository cannot be written.
    """
    if not pins:
        return
    wanted = list(dict.fromkeys(pins.values()))
    lent = own.common / "objects"
    env = {**CLOSED, **NO_FETCH, "GIT_DIR": str(own.lookout), "GIT_OBJECT_DIRECTORY": str(lent)}
    bases = own_pins(own) if known is None else known
    there = _kinds(own, [*wanted, *bases], env)
    if missing := [sha for sha in wanted if sha not in there]:
        whole = bool(packs) and all(sha in there for sha in bases)
        if not (whole and _link_packs(own.path, lent, packs)):
            source = Side(folder=own.path, env={**CLOSED, **NO_FETCH, "GIT_DIR": str(own.path)})
            target = Side(folder=own.lookout, env=env)
            send(source, target, missing, list(there), time.monotonic() + DEADLINE)
    bring_media(own.path, own.common, own.snapshot)
    lines = "".join(f"update {name} {commit}\n" for name, commit in pins.items()).encode()
    # The person's first: a pin of herdr's own says that it is in both.
    own.run_in_persons("update-ref", "--stdin", input=lines)
    own.run("update-ref", "--stdin", input=lines)


def _link_packs(repository: Path, objects: Path, names: Sequence[str]) -> bool:
    """Share packs of herdr's own, whose objects were checked when they came; whether that could be done."""
    source, target = repository / "objects/pack", objects / "pack"
    try:
        for name in names:
            # The index comes last: git looks for nothing in a pack without one.
            for suffix in (".pack", ".idx"):
                if not (target / f"{name}{suffix}").exists():
                    os.link(source / f"{name}{suffix}", target / f"{name}{suffix}")
    except OSError:
        # Another file system, for instance.
        return False
    return True


def _there(own: OwnRepository, shas: Iterable[str]) -> dict[str, str]:
    """The kinds of those of these objects that herdr's own repository has."""
    return _kinds(own, shas, NO_FETCH)


def _kinds(own: OwnRepository, shas: Iterable[str], env: Mapping[str, str]) -> dict[str, str]:
    asked = list(dict.fromkeys(shas))
    if not asked:
        return {}
    lines = "".join(f"{sha}\n" for sha in asked).encode()
    said = own.run("cat-file", "--batch-check=%(objecttype)", input=lines, env=env).text.splitlines()
    return {sha: kind for sha, kind in zip(asked, said, strict=True) if kind in ("commit", "tag")}


def _bring(
    repository: Path, own: OwnRepository, commits: Sequence[str], known: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Copy commits; gives what could not be copied, a sentence each, and the packs that they came in."""
    packs: list[str] = []
    with own.throw_away() as name:
        folder = Path(name)
        write_bare(folder, own.common / "objects", own.snapshot)
        try:
            lend(repository / "objects", folder / "objects")
        except (LendError, OSError) as error:
            return [f"{len(commits)} commits could not be taken over: {error}"], []
        source = Side(folder=folder, env={**CLOSED, **NO_FETCH, "GIT_DIR": str(folder)})
        target = Side(folder=own.path, env={**CLOSED, **NO_FETCH, "GIT_DIR": str(own.path)})
        looks = EACH if own.snapshot.promisor else WHOLE
        deadline = time.monotonic() + DEADLINE

        def each(some: Sequence[str]) -> dict[str, str]:
            """Send commits together, and where that fails by halves: a broken one must not cost the others."""
            try:
                packs.extend(filter(None, [send(source, target, some, known, deadline, looks=[looks])]))
            except LendError as error:
                if len(some) == 1 or time.monotonic() > deadline:
                    return dict.fromkeys(some, str(error))
                half = len(some) // 2
                return each(some[:half]) | each(some[half:])
            return {}

        said = each(commits)
    problems = [f"commit {sha[:12]} could not be taken over: {why}" for sha, why in said.items()]
    if len(problems) > NAMED:
        problems[NAMED:] = [f"{len(problems) - NAMED} more commits could not be taken over"]
    return problems + bring_media(repository, own.path, own.snapshot), packs
