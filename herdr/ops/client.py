"""How a command gets an operation done: on the database for a person, by mailbox for an agent."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from herdr.errors import HerdrError, UsageError
from herdr.home import Home, disk_error
from herdr.ops.caller import refuse_agent, refuse_place
from herdr.ops.core import OPERATIONS, A, Context, Reply, Request, run
from herdr.store.connection import Store, open_store
from herdr.store.failures import store_errors

MAILBOX, TOKEN = "HERDR_MAILBOX", "HERDR_TOKEN"
#: What a statement in SQL begins with that changes nothing.
READING = frozenset({"SELECT", "EXPLAIN", "VALUES", "PRAGMA"})
#: The person's checkout, for programs that an agent calls and that act for the person there.
CHECKOUT = "HERDR_CHECKOUT"
#: Seconds that the daemon has to answer.
PATIENCE = 60.0
#: Seconds between two looks for the answer.
LOOK = 0.02
#: Seconds more for an answer to a request that the daemon is just carrying out.
LAST_PATIENCE = 30.0


class NoAnswerError(HerdrError):
    """The daemon did not answer a request."""


class Client(Protocol):
    """Asks for operations."""

    @property
    def agent(self) -> bool:
        """Whether an agent asks."""

    def ask(self, request: Request[A]) -> A:
        """Run an operation and return its answer; raises HerdrError when it is refused."""

    def close(self) -> None:
        """Let go of what was opened."""


def connect(environ: Mapping[str, str], cwd: Path, *, as_person: bool = False) -> Client:
    """The way to the campaign from here; nothing is opened yet.

    Args:
        environ: with the variables of an agent's shell, it is the agent that asks; with a token and no mailbox,
            the orchestrator.
        cwd: where the command was typed.
        as_person: the asker says that a person asks, wherever that person stands.

    Raises:
        RefusedError: a process of an agent asks that has no token.
    """
    if environ.get(MAILBOX):
        return MailboxClient(Path(environ[MAILBOX]), environ.get(TOKEN, ""), cwd)
    token = environ.get(TOKEN, "")
    if not token:
        refuse_agent(environ, "piloop")
    return DirectClient(Home.from_environ(environ), cwd, token, as_person=as_person or bool(token))


class DirectClient:
    """A person's way: the database itself, opened when first needed.

    With a token it is the orchestrator's way: every change is signed by it, and a wrong token is refused.
    """

    agent = False

    def __init__(self, home: Home, cwd: Path, token: str = "", *, as_person: bool = True) -> None:
        self.home = home
        self._cwd = cwd
        self._token = token
        self._anywhere = as_person
        self._store: Store | None = None

    def ask(self, request: Request[A]) -> A:
        """Run an operation as a person, or as the orchestrator."""
        if not self._anywhere and _acts(request):
            refuse_place(self.home, self._cwd, request.operation)
            self._anywhere = True
        store = self._opened()
        context = Context(conn=store, home=self.home, actor=store.actor, cwd=self._cwd)
        with store_errors(self.home.database):
            return run(context, request)

    def close(self) -> None:
        """Close the database."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _opened(self) -> Store:
        if self._store is None:
            refuse_without_database(self.home)
            self._store = open_store(self.home.database, mode="person", actor="human")
            if self._token:
                from herdr.ops.orchestrator import check_token

                check_token(self._store, self._token)
                self._store.actor = "orchestrator"
        return self._store


def _acts(request: Request[A]) -> bool:
    """Whether a request may change something; of a statement in SQL its first word says so."""
    statement = getattr(request, "statement", "").split(maxsplit=1) if request.operation == "sql.run" else []
    return OPERATIONS[request.operation].writes or bool(statement and statement[0].upper() not in READING)


def refuse_without_database(home: Home) -> None:
    """Say what is missing before anything is made.

    Raises:
        HerdrError: the home is no folder, or cannot be read.
        UsageError: nothing was ever registered here.
    """
    try:
        found = list(os.scandir(home.root))
    except FileNotFoundError:
        found = []
    except OSError as error:
        raise disk_error(error, home.root) from error
    if not any(entry.name == home.database.name for entry in found):
        raise UsageError(f"no project is registered in {home.root}", fix="run `herdr init` inside a git repo")


class MailboxClient:
    """An agent's way: a request file that the daemon answers; see docs/security.md."""

    agent = True

    def __init__(self, mailbox: Path, token: str, cwd: Path, *, patience: float = PATIENCE) -> None:
        self._mailbox = mailbox
        self._token = token
        self._cwd = cwd
        self._patience = patience

    def ask(self, request: Request[A]) -> A:
        """Ask the daemon to run an operation.

        Raises:
            NoAnswerError: nobody answers.
            HerdrError: the daemon refuses it.
        """
        identity = uuid.uuid4().hex
        path = self._mailbox / "requests" / f"{identity}.json"
        self._write(path, {"id": identity, "operation": request.operation, "arguments": request})
        reply = self._await(path, self._mailbox / "answers" / f"{identity}.json")
        if reply.error is not None:
            raise _as_error(reply.error, reply)
        try:
            return msgspec.json.decode(reply.result, type=request.answer_type())
        except msgspec.MsgspecError as error:
            problem = f"the daemon's answer is not what this piloop expects: {error}"
            raise HerdrError(problem, fix="both must be of one version: herdr down, then herdr up") from error

    def close(self) -> None:
        """There is nothing to close."""

    def _write(self, path: Path, request: dict[str, object]) -> None:
        content = msgspec.json.encode({**request, "token": self._token, "cwd": str(self._cwd)})
        draft = path.with_name(f".{path.name}")
        try:
            # Whoever tidied up in the worktree may have deleted it.
            for folder in (self._mailbox.parent, self._mailbox, path.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            draft.write_bytes(content)
            draft.rename(path)
        except OSError as error:
            problem = f"cannot write a request to {path.parent}: {error.strerror}"
            raise HerdrError(problem, fix="call piloop from the agent's own shell") from error

    def _await(self, request: Path, answer: Path) -> Reply:
        deadline = time.monotonic() + self._patience
        withdrawn = False
        while True:
            try:
                content = answer.read_bytes()
            except FileNotFoundError:
                content = b""
            if content:
                answer.unlink(missing_ok=True)
                return msgspec.json.decode(content, type=Reply)
            if time.monotonic() > deadline:
                if withdrawn or _withdraw(request):
                    raise NoAnswerError(
                        f"the daemon does not answer (waited {self._patience:.0f} s)",
                        fix="go on without piloop, and try again before you end",
                    )
                # It was taken just now, so its answer is on its way.
                withdrawn, deadline = True, time.monotonic() + LAST_PATIENCE
            time.sleep(LOOK)


def _withdraw(request: Path) -> bool:
    """Take a request back, so that nobody carries it out later; False when it was taken already."""
    try:
        request.unlink()
    except FileNotFoundError:
        return False
    return True


def _as_error(message: str, reply: Reply) -> HerdrError:
    error = HerdrError(message, fix=reply.fix)
    error.exit_code = reply.exit_code
    return error
