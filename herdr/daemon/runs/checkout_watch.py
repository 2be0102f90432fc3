"""Sees that the person's checkout, or its git settings, changed while agents lived, and tells a person once.

An agent that follows an absolute path out of its folder works in the checkout: without a wall nothing keeps it
from that. A person's own work is seen as well, so it is worded as a question, and nothing is undone.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import msgspec

from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.repo.checkout import CheckoutState, changes_between, read_state
from herdr.repo.files import read_file
from herdr.repo.own import OwnRepository
from herdr.repo.snapshot import Snapshot, take_snapshot
from herdr.store.checkouts import SeenCheckout, seen_checkout, write_seen
from herdr.store.connection import Store
from herdr.store.rows import Agent, Comment, fetch

T = TypeVar("T")
PRIORITY = 2
#: Seconds for a look with all that belongs to it; one that takes longer is given up.
LIMIT = 30.0
#: How many changes are named; a checkout of another branch changes thousands of files.
NAMED = 12
#: Seconds between two looks at git's settings.
SETTINGS_PAUSE = 10.0
#: What is read of the transcripts of one agent: entries of its folders, and bytes of the end of a file.
ENTRIES, BYTES = 2000, 4 * 1024 * 1024
#: How the files begin that herdr's own launch leaves there: they name the project.
OURS = "launch."


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen in one look; `settings` is None when they were not looked at."""

    state: CheckoutState
    in_force: Snapshot | None = None
    settings: Snapshot | None = None


async def watch_checkout(app: AppContext, fleet: Fleet, *, ended: bool = False) -> None:
    """Compare the checkout with how it was seen last; a failure of this keeps no run from going on.

    Args:
        app: the daemon.
        fleet: the project.
        ended: whether a run has ended: then git's settings are compared too.
    """
    look = partial(_watch, app, fleet, ended, time.monotonic())
    with anyio.move_on_after(LIMIT):
        await app.guard("looking at the checkout", look, fleet.project_id)


async def _watch(app: AppContext, fleet: Fleet, ended: bool, asked: float) -> None:
    looks = app.checkout_looks[fleet.project_id]
    async with looks.lock:
        now = time.monotonic()
        settings = ended and now - looks.settings > SETTINGS_PAUSE
        # Whoever waited for a look that began later than it asked has what it wanted.
        if looks.began > asked and not settings:
            return
        looks.began = now
        looks.settings = now if settings else looks.settings
        began = app.timestamp()
        seen = await _in_thread(partial(_look, fleet.own, settings=settings))
        before = seen_checkout(app.store, fleet.project_id)
        agents = _lived(app.store, fleet.project_id, before.looked_at) if before is not None else []
        said = await _in_thread(partial(_sentences, app, fleet, before, seen, agents))
        with app.transaction() as store:
            for body in said:
                _tell(store, fleet.project_id, body)
            _note_problem(store, fleet.project_id, seen.state.problem)
            write_seen(store, _row(fleet.project_id, began, before, seen))


async def _in_thread(work: Callable[[], T]) -> T:
    # A checkout on a disk that does not answer keeps the thread, and no run.
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def _look(own: OwnRepository, *, settings: bool) -> Look:
    state = read_state(own)
    if not settings:
        return Look(state=state)
    return Look(state=state, in_force=own.snapshot, settings=take_snapshot(own.root))


def _lived(store: Store, project_id: int, since: str) -> list[Agent]:
    """The agents that lived at any time since then."""
    which = "WHERE project_id = ? AND (ended_at IS NULL OR ended_at >= ?) ORDER BY id"
    return fetch(store, Agent, which, project_id, since)


def _row(project_id: int, began: str, before: SeenCheckout | None, seen: Look) -> SeenCheckout:
    state = seen.state
    if state.files is None and before is not None:
        # What was known of the files still is what the next look compares with.
        files = msgspec.json.decode(before.state, type=CheckoutState).files
        state = msgspec.structs.replace(state, files=files)
    said = _json(state)
    if seen.settings is None or seen.in_force is None:
        known = (before.in_force, before.settings) if before is not None else (None, None)
    else:
        known = (_hash(seen.in_force), _json(seen.settings))
    return SeenCheckout(project_id=project_id, looked_at=began, state=said, in_force=known[0], settings=known[1])


# --- what is said ----------------------------------------------------------------------------------------------


def _sentences(
    app: AppContext, fleet: Fleet, before: SeenCheckout | None, seen: Look, agents: Sequence[Agent]
) -> list[str]:
    said = []
    if before is not None and agents:
        changed = changes_between(msgspec.json.decode(before.state, type=CheckoutState), seen.state)
        if changed:
            said.append(_changed(changed, agents, _evidence(app, fleet, agents, changed)))
    if seen.settings is not None and seen.in_force is not None:
        fresh = _settings(before, seen.in_force, seen.settings)
        if fresh:
            said.append(
                f"git's settings of the checkout changed since `herdr up`: {_listed(fresh)}."
                " Agents and herdr go on with the ones of then; if you want the new ones: herdr up"
            )
    return said


def _changed(changed: Sequence[str], agents: Sequence[Agent], evidence: str | None) -> str:
    who = list(dict.fromkeys(f"run#{one.run_id}" if one.run_id is not None else one.name for one in agents))
    shown = f"{', '.join(who[:-1])} and {who[-1]}" if len(who) > 1 else who[0]
    return (
        f"Your checkout changed while {shown} ran: {_listed(changed)}. If that was not you, an agent has left its"
        f" folder; herdr has undone nothing." + (f" {evidence}" if evidence else "")
    )


def _listed(names: Sequence[str]) -> str:
    shown = [" ".join(name.split()) for name in names[:NAMED]]
    return ", ".join([*shown, *([f"and {len(names) - NAMED} more"] if len(names) > NAMED else ())])


def _settings(before: SeenCheckout | None, in_force: Snapshot, now: Snapshot) -> list[str]:
    """What is new in git's settings since somebody last looked, or since `herdr up` if that was later."""
    if now == in_force:
        return []
    if before is None or before.settings is None or before.in_force != _hash(in_force):
        return now.changes_since(in_force)
    return now.changes_since(msgspec.json.decode(before.settings, type=Snapshot))


def _tell(store: Store, project_id: int, body: str) -> None:
    Comment.insert(
        store,
        project_id=project_id,
        target_kind="project",
        target_id=project_id,
        kind="escalation",
        priority=PRIORITY,
        body=body,
        actor=ACTOR,
    )


def _note_problem(store: Store, project_id: int, problem: str | None) -> None:
    """Note once, where it asks for nothing, that changes of tracked files go unseen."""
    if problem is None:
        return
    start = "The tracked files of the checkout are not compared around runs"
    known = "SELECT 1 FROM comments WHERE project_id = ? AND actor = ? AND kind = 'note' AND instr(body, ?) = 1"
    if store.execute(known, (project_id, ACTOR, start)).fetchone() is None:
        Comment.insert(
            store,
            project_id=project_id,
            target_kind="project",
            target_id=project_id,
            kind="note",
            body=f"{start}: {problem}",
            actor=ACTOR,
        )


# --- what an agent's own files say -----------------------------------------------------------------------------


def _evidence(app: AppContext, fleet: Fleet, agents: Sequence[Agent], changed: Sequence[str]) -> str | None:
    """Which agent's transcript names a path of the checkout; one that names a changed file comes first.

    The path itself is not said: what is in the inbox comes into briefs, and agents are not to be led there.
    """
    # Its runs' folders are below it too.
    inside = re.compile(re.escape(str(fleet.root)) + r"/(?!\.worktrees\b)([\w./+@-]+)")
    found: list[str] = []
    for agent in agents:
        for path in _transcripts(app, fleet, agent):
            text = (read_file(path, limit=BYTES, end=True) or b"").decode(errors="replace")
            # A screen breaks a long path in two.
            text = f"{text}\n{text.replace(chr(10), '')}"
            named = [name.rstrip(".") for name in dict.fromkeys(inside.findall(text))]
            hits = [name for name in named if name in changed] or named
            if hits:
                said = f"{agent.name}'s transcript {path} names {_listed(hits[:3])} in the checkout."
                found.insert(0 if hits[0] in changed else len(found), said)
    return found[0] if found else None


def _transcripts(app: AppContext, fleet: Fleet, agent: Agent) -> Iterator[Path]:
    """The files that an agent or its harness wrote: in its own folder, and its session in the profile's."""
    yield from (path for path in _files(app.home.agent_dir(agent.id)) if not path.name.startswith(OURS))
    profile = app.home.profile_dir(fleet.name, agent.harness)
    yield from (path for path in _files(profile) if agent.session_id in path.name)


def _files(folder: Path) -> Iterator[Path]:
    left = ENTRIES
    for parent, _, names in os.walk(folder):
        for name in names[:left]:
            yield Path(parent, name)
        left -= len(names)
        if left <= 0:
            return


def _json(value: CheckoutState | Snapshot) -> str:
    return msgspec.json.encode(value).decode()


def _hash(snapshot: Snapshot) -> str:
    return hashlib.sha256(msgspec.json.encode(snapshot)).hexdigest()[:16]
