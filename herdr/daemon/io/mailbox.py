"""The mailbox of a run: an agent's `piloop` writes a request file there, the daemon checks, acts and answers.

Agents never open the database, so one that may write only its worktree works as well, and one place decides who
may do what. A request that was carried out is never carried out again: its answer is kept with its id.
"""

from __future__ import annotations

import hmac
import os
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread
import msgspec

from herdr.daemon.app_context import AppContext, log
from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.home import atomic_write
from herdr.ops.core import Context, Reply, check, look_up, perform, read_request
from herdr.store.connection import open_store, transaction
from herdr.store.rows import Agent, get_or_none
from herdr.tokens import token_hash

#: Bytes of one request, which is a command line with a comment: far more than anybody needs.
SIZE_LIMIT = 1024 * 1024
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
        database: the home's database file.
        app: the daemon, for its home.
        agent_id: whose mailbox.
        folder: the mailbox.
    """
    requests = sorted(_requests(folder / "requests"), key=lambda path: path.stat().st_mtime_ns)
    if not requests:
        return
    store = open_store(database, mode="person", actor="daemon")
    try:
        agent = get_or_none(store, Agent, agent_id)
        assert agent is not None
        store.actor = agent.name
        context = Context(conn=store, home=app.home, actor=agent.name, cwd=folder.parent.parent, agent=agent)
        for path in requests:
            answer = _answer(context, agent, path)
            atomic_write(folder / "answers" / path.name, msgspec.json.encode(answer))
            path.unlink(missing_ok=True)
    finally:
        store.close()


def _answer(context: Context, agent: Agent, path: Path) -> Reply:
    try:
        envelope = _open(path)
        if not hmac.compare_digest(token_hash(envelope.token), agent.token_hash):
            raise RefusedError(
                "the token is not the one of this agent", fix="call piloop from the agent's own shell"
            )
        return Reply(result=msgspec.Raw(_once(context, agent, envelope)))
    except HerdrError as error:
        return _failure(error)
    except Exception as error:
        log.exception("the request %s failed", path)
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


def _open(path: Path) -> Envelope:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        content = file.read(SIZE_LIMIT + 1)
    if len(content) > SIZE_LIMIT:
        raise UsageError(f"a request may hold at most {SIZE_LIMIT} bytes")
    try:
        return msgspec.json.decode(content, type=Envelope)
    except msgspec.MsgspecError as error:
        raise UsageError(f"this is no request: {error}") from error


def _requests(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix == ".json" and not path.name.startswith(".")]
    except OSError:
        return []


def _changed(folder: str) -> int:
    try:
        # A Path for each agent at each look costs an idle daemon several times the stat itself.
        return os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return 0
