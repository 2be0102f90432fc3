"""The mailbox of a run: an agent's `piloop` writes a request file there, the daemon checks, acts and answers.

Agents never open the database, so one that may write only its worktree works as well, and one place decides who
may do what. A request that was carried out is never carried out again: its answer is kept with its id.

The agent may have put anything in the place of the mailbox and of each part of it. So all of it is opened by
handles and through no link, see `herdr.files`; what is no request is passed over and named once.
"""

from __future__ import annotations

import hmac
import os
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread
import msgspec

from herdr.daemon.app_context import AppContext, log
from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.files import Folder, NotPlainError, open_below
from herdr.ops.core import Context, Reply, check, look_up, perform, read_request
from herdr.store.connection import Store, open_store, transaction
from herdr.store.rows import Agent, Comment, get_or_none
from herdr.tokens import token_hash

#: Bytes of one request, which is a command line with a comment: far more than anybody needs.
SIZE_LIMIT = 1024 * 1024
#: How many of the things that are no requests are named.
NAMED = 3
#: Seconds between looks at the mailboxes' folders: a stat each, the most that an idle daemon of many agents does.
LOOK = 0.2


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """One request as an agent's `piloop` writes it; `id` names its file, `cwd` is where it was typed."""

    id: str
    token: str
    operation: str
    arguments: dict[str, object]
    cwd: str = "."


class Mailboxes:
    """Looks into the mailbox of every live agent: its requests one by one, those of others side by side."""

    def __init__(self, app: AppContext, tasks: anyio.abc.TaskGroup) -> None:
        self._app = app
        self._tasks = tasks
        self._busy: set[int] = set()
        self._looked: dict[int, int] = {}
        self._folders: dict[int, str] = {}
        self._known_at = -1

    async def run(self) -> None:
        """Answer requests until cancelled."""
        while True:
            await self._app.guard("the mailboxes", self._look)
            await anyio.sleep(LOOK)

    async def _look(self) -> None:
        self._find_live()
        for agent_id, requests in self._folders.items():
            if agent_id in self._busy:
                continue
            changed = _changed(requests)
            if changed and changed != self._looked.get(agent_id):
                self._looked[agent_id] = changed
                self._busy.add(agent_id)
                self._tasks.start_soon(self._empty, agent_id, Path(requests).parent)

    def _find_live(self) -> None:
        """Find the live agents anew when the daemon has written something: nobody else writes what they are."""
        changes = self._app.store.total_changes
        if changes == self._known_at:
            return
        live = self._app.store.execute(
            "SELECT a.id, coalesce(r.worktree, s.worktree) FROM agents a"
            " LEFT JOIN runs r ON r.id = a.run_id LEFT JOIN sweeps s ON s.id = a.sweep_id "
            " WHERE a.state <> 'ended' AND coalesce(r.worktree, s.worktree) IS NOT NULL"
        )
        self._folders = {agent_id: f"{worktree}/.herdr/mailbox/requests" for agent_id, worktree in live}
        self._looked = {one: self._looked[one] for one in self._folders if one in self._looked}
        self._known_at = changes

    async def _empty(self, agent_id: int, folder: Path) -> None:
        work = partial(empty, self._app.home.database, self._app, agent_id, folder)
        try:
            await self._app.guard(f"the mailbox of agent {agent_id}", partial(anyio.to_thread.run_sync, work))
        finally:
            self._busy.discard(agent_id)


def empty(database: Path, app: AppContext, agent_id: int, folder: Path) -> None:
    """Answer every request in a mailbox, oldest first; runs in a worker thread, on a connection of its own.

    Args:
        database: the store's file.
        app: the daemon.
        agent_id: whose mailbox it is.
        folder: the mailbox, two steps down from the agent's worktree.
    """
    strange: list[str] = []
    try:
        with (
            Folder.open(folder.parent.parent) as worktree,
            open_below(worktree, folder.parent.name, folder.name) as mailbox,
            mailbox.inner("requests") as requests,
            mailbox.inner("answers", make=True) as answers,
        ):
            names = _names(requests, strange)
            if names:
                with closing(open_store(database, mode="person", actor="daemon")) as store:
                    _answer_all(store, app, agent_id, names, requests, answers, strange)
    except FileNotFoundError:
        # The agent has deleted it; its piloop makes it anew.
        return
    except NotPlainError as error:
        strange.append(error.message)
    if strange:
        with closing(open_store(database, mode="person", actor="daemon")) as store:
            _name_once(store, agent_id, strange)


def _answer_all(
    store: Store,
    app: AppContext,
    agent_id: int,
    names: list[str],
    requests: Folder,
    answers: Folder,
    strange: list[str],
) -> None:
    agent = get_or_none(store, Agent, agent_id)
    assert agent is not None
    store.actor = agent.name
    cwd = requests.path.parent.parent.parent
    context = Context(conn=store, home=app.home, actor=agent.name, cwd=cwd, agent=agent)
    for name in names:
        try:
            answers.replace(name, msgspec.json.encode(_answer(context, agent, requests, name)))
        except NotPlainError as error:
            strange.append(error.message)
        try:
            requests.remove(name)
        except NotPlainError as error:
            strange.append(error.message)


def _names(requests: Folder, strange: list[str]) -> list[str]:
    """The names of the requests, the oldest first; what has such a name and is no file is added to `strange`."""
    found: list[tuple[int, str]] = []
    for entry in requests.entries():
        if not entry.name.endswith(".json") or entry.name.startswith("."):
            continue
        if entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
        elif len(strange) <= NAMED:
            strange.append(f"{requests.path / entry.name} is no plain file")
    return [name for _, name in sorted(found)]


def _name_once(store: Store, agent_id: int, strange: list[str]) -> None:
    """Note on the agent's run that its mailbox holds what is no request, once for each agent."""
    agent = get_or_none(store, Agent, agent_id)
    assert agent is not None
    begin = f"the mailbox of {agent.name} is broken: "
    more = "; and more" if len(strange) > NAMED else ""
    known = "SELECT 1 FROM comments WHERE actor = 'daemon' AND substr(body, 1, ?) = ?"
    with transaction(store):
        if store.execute(known, (len(begin), begin)).fetchone() is None:
            Comment.insert(
                store,
                project_id=agent.project_id,
                target_kind="agent" if agent.run_id is None else "run",
                target_id=agent.id if agent.run_id is None else agent.run_id,
                kind="note",
                body=_storable(f"{begin}{'; '.join(strange[:NAMED])}{more}"),
                actor="daemon",
            )


def _storable(text: str) -> str:
    """A file's name may hold bytes that are no text."""
    return text.encode("utf-8", "replace").decode()


def _answer(context: Context, agent: Agent, requests: Folder, name: str) -> Reply:
    try:
        envelope = _open(requests, name)
        if not hmac.compare_digest(token_hash(envelope.token), agent.token_hash):
            raise RefusedError(
                "the token is not the one of this agent", fix="call piloop from the agent's own shell"
            )
        return Reply(result=msgspec.Raw(_once(context, agent, envelope)))
    except HerdrError as error:
        return _failure(error)
    except Exception as error:
        log.exception("the request %s failed", requests.path / name)
        return _failure(HerdrError(f"the daemon could not do this: {type(error).__name__}: {error}"))


def _failure(error: HerdrError) -> Reply:
    return Reply(error=error.message, fix=error.fix, exit_code=error.exit_code)


def _once(context: Context, agent: Agent, envelope: Envelope) -> bytes:
    """Carry a request out, or give the answer that it was given before a crash; as JSON."""
    known = context.conn.execute(
        "SELECT answer FROM requests WHERE id = ? AND agent_id = ?", (envelope.id, agent.id)
    ).fetchone()
    if known is not None:
        return str(known[0]).encode()
    here = msgspec.structs.replace(context, cwd=Path(envelope.cwd))
    operation = look_up(envelope.operation)
    check(here, operation)
    request = read_request(operation, envelope.arguments)
    if not operation.writes:
        return msgspec.json.encode(perform(here, request))
    with transaction(context.conn):
        answer = msgspec.json.encode(perform(here, request))
        context.conn.execute(
            "INSERT INTO requests (id, agent_id, answer) VALUES (?, ?, ?)",
            (envelope.id, agent.id, answer.decode()),
        )
    return answer


def _open(requests: Folder, name: str) -> Envelope:
    try:
        return msgspec.json.decode(requests.read(name, SIZE_LIMIT), type=Envelope)
    except FileNotFoundError as error:
        raise UsageError("the request was taken back") from error
    except msgspec.MsgspecError as error:
        raise UsageError(f"this is no request: {error}") from error


def _changed(folder: str) -> int:
    try:
        # A Path for each agent at each look costs an idle daemon several times the stat itself.
        return os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return 0
