"""The persistent control-mode client: tmux commands at 0.2 ms each, and changes told without polling."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio

from herdr.mux.errors import ServerGone, TmuxError
from herdr.mux.quote import quote
from herdr.mux.wire import Notification, Parser, Reply

#: The client neither gets the panes' output, which it would have to read, nor counts for the size of windows.
CLIENT_FLAGS = "no-output,ignore-size"

Subscriber = Callable[[str, str], None]
Listener = Callable[[str, str], None]


class ControlClient:
    """One `tmux -C attach-session` per session, for every command that must be quick.

    Open it with `ControlClient.open` and end it with `aclose`. Callbacks are plain functions, called in order
    from the event loop, never from inside the reader; they must be short. Use it from one event loop only.

    Attributes:
        session: the `$id` that it is attached to.
        pane_locks: one lock per pane, so that two texts are never typed into one input line.
    """

    def __init__(self, session: str) -> None:
        self.session = session
        self.pane_locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        self._waiting: deque[asyncio.Future[Reply]] = deque()
        self._subscribers: dict[str, Subscriber] = {}
        self._listeners: list[Listener] = []
        self._gone_callbacks: list[Callable[[], None]] = []
        self._loop = asyncio.get_running_loop()
        self._started: asyncio.Future[None] = self._loop.create_future()
        self._ended = asyncio.Event()
        self._reason = ""
        self._gone = False
        self._transport: asyncio.SubprocessTransport | None = None

    @classmethod
    async def open(cls, argv: Sequence[str], session: str, environ: Mapping[str, str]) -> ControlClient:
        """Attach to a session and return once tmux has answered.

        Args:
            argv: tmux with the options that name the server (`TmuxServer.argv`).
            session: the session's `$id`.
            environ: the environment of the client process, such as `TmuxServer.environ`.

        Raises:
            ServerGone: there is no such server or session.
        """
        client = cls(session)
        command = [*argv, "-C", "attach-session", "-f", CLIENT_FLAGS, "-t", session]
        transport, _ = await client._loop.subprocess_exec(
            lambda: _Pipes(client), *command, stderr=asyncio.subprocess.STDOUT, env=dict(environ)
        )
        client._transport = transport
        try:
            await client._started
        except BaseException:
            await client.aclose()
            raise
        return client

    @property
    def gone(self) -> bool:
        """Whether the server or the session is lost; every further command raises `ServerGone`."""
        return self._gone

    async def run(self, *words: str) -> list[str]:
        """Run one command; each word is quoted, so a value can hold anything but NUL.

        A value that tmux expands as a format needs `escape_format` before.

        Returns:
            The lines that it printed.

        Raises:
            TmuxError: tmux refused it; the message is tmux's.
            ServerGone: the answer never came.
        """
        (reply,) = await self.run_many([words])
        if isinstance(reply, TmuxError):
            raise reply
        return reply

    async def run_many(self, commands: Sequence[Sequence[str]]) -> list[list[str] | TmuxError]:
        """Run commands in order in one go; the answer of each is its lines, or the error it ended with.

        Raises:
            ServerGone: an answer never came.
        """
        if self._gone or self._transport is None:
            raise self._lost()
        lines = [" ".join([quote(word) for word in words]) + "\n" for words in commands]
        replies: list[asyncio.Future[Reply]] = [self._loop.create_future() for _ in lines]
        self._waiting.extend(replies)
        self._stdin().write("".join(lines).encode("ascii"))
        results: list[list[str] | TmuxError] = []
        for reply, words in zip(replies, commands, strict=True):
            answer = await reply
            results.append(answer.lines if answer.ok else TmuxError(f"tmux {words[0]}: {' '.join(answer.lines)}"))
        return results

    async def subscribe(self, name: str, target: str, fmt: str, callback: Subscriber) -> None:
        """Have tmux tell when a format's value changes, at most once a second and without polling.

        Args:
            name: what tells this subscription from others; letters and dashes.
            target: `%*` for every pane of the session, later ones too, `@*` for every window, a pane, or "".
            fmt: the format.
            callback: called with the pane (or window, or session) and the new value.
        """
        self._subscribers[name] = callback
        await self.run("refresh-client", "-B", f"{name}:{target}:{fmt}")

    def on_notification(self, listener: Listener) -> None:
        """Call `listener(name, rest)` for every notification, such as `window-close` with `@3`."""
        self._listeners.append(listener)

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Call `callback()` once when the server or session is lost, or the client was detached."""
        if self._gone:
            self._loop.call_soon(callback)
        else:
            self._gone_callbacks.append(callback)

    async def aclose(self) -> None:
        """Detach and wait until the client process has ended; the session and its agents live on."""
        self._gone_callbacks.clear()
        if self._transport is None:
            return
        with anyio.CancelScope(shield=True):
            self._stdin().close()
            try:
                with anyio.fail_after(5):
                    await self._ended.wait()
            except TimeoutError:
                self._transport.kill()
                await self._ended.wait()
            self._transport.close()

    def _received(self, events: Sequence[Reply | Notification]) -> None:
        """Take what the reader has parsed: resolve the oldest call for a reply, pass notifications on."""
        for event in events:
            if isinstance(event, Notification):
                self._notified(event)
            elif self._waiting:
                waiting = self._waiting.popleft()
                # A caller that was cancelled still has its reply here, so that later ones match.
                if not waiting.done():
                    waiting.set_result(event)

    def _fail(self) -> None:
        """Fail every waiting call: nothing will answer any more."""
        if self._gone:
            return
        self._gone = True
        unanswered: list[asyncio.Future[Any]] = [self._started, *self._waiting]
        for waiting in unanswered:
            if not waiting.done():
                waiting.set_exception(self._lost())
                # Asking for it keeps asyncio from warning about a failure that a cancelled caller never awaits.
                waiting.exception()
        self._waiting.clear()
        for callback in self._gone_callbacks:
            self._loop.call_soon(callback)

    def _process_ended(self) -> None:
        """Note that the client process is reaped."""
        self._fail()
        self._ended.set()

    def _notified(self, event: Notification) -> None:
        if event.name == "started" and not self._started.done():
            self._started.set_result(None)
        elif event.name in ("refused", "exit"):
            self._reason = self._reason or event.rest
        elif event.name == "subscription-changed":
            self._changed(event.rest)
        for listener in self._listeners:
            self._loop.call_soon(listener, event.name, event.rest)

    def _changed(self, rest: str) -> None:
        """Pass on `name $session @window index %pane : value`; what a subscription is not about is a `-`."""
        head, _, value = rest.partition(" : ")
        name, *places = head.split(" ")
        callback = self._subscribers.get(name)
        if callback is not None:
            of = [place for place in reversed(places) if place[:1] in ("%", "@", "$")]
            self._loop.call_soon(callback, of[0] if of else "", value)

    def _lost(self) -> ServerGone:
        detail = f" ({self._reason})" if self._reason else ""
        return ServerGone(f"the tmux session {self.session} is gone{detail}", fix="herdr up starts it again")

    def _stdin(self) -> asyncio.WriteTransport:
        assert self._transport is not None
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        return pipe


class _Pipes(asyncio.SubprocessProtocol):
    """Feeds the parser from the client's output; does nothing else, so that reading never stalls."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client
        self._parser = Parser()

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - asyncio's signature
        self._client._received(self._parser.feed(data))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if fd == 1:
            self._client._fail()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        # Not already at `process_exited`: what the client wrote last may still be unread then.
        self._client._process_ended()
