"""The runtime `herdr`: every agent in a tmux window of its own."""

from __future__ import annotations

import asyncio
import logging
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import anyio
import anyio.to_thread
import msgspec

from herdr.contract.harness import ScreenRules, SendRules
from herdr.errors import HerdrError
from herdr.mux.capture import capture_many
from herdr.mux.control import ControlClient
from herdr.mux.errors import ServerGone, TmuxError
from herdr.mux.keystrokes import resume_submit, submit
from herdr.mux.screen import Delivery, Screen
from herdr.mux.server import TmuxServer
from herdr.mux.windows import PaneInfo, kill_window, list_panes, open_window, prune_ended, set_title
from herdr.runtime.api import LaunchRequest, Place, Runtime
from herdr.runtime.ending import end_agent
from herdr.runtime.launchfile import read_process, revoke_launch, wrapper_argv, write_launch
from herdr.runtime.processes import MARK

log = logging.getLogger("herdr.runtime")

#: tmux dates a pane's output in whole seconds and tells when the date changes, so more can follow unannounced for
#: this long, in seconds, with some room for a busy machine.
ACTIVITY_STEP = 1.5

T = TypeVar("T")


class PaneEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that tmux told: a pane's program ended, titled itself or printed; or the server was lost.

    `value` is the title. For `lost`, `pane` is "" and no place that was given out before is good any more. tmux
    looks once a second, so a program's end is known earlier from `ending.wait_end`.
    """

    kind: Literal["dead", "title", "activity", "lost"]
    pane: str = ""
    value: str = ""


class PaneRuntime(Runtime):
    """One project's agents in one tmux session.

    A place is good after `launch` or `find` gave it, and as long as the tmux server lives: a new server gives the
    same ids to other panes. So a daemon that starts calls `find` for the agents that it knows.
    """

    mode: Literal["interactive", "headless"] = "interactive"

    def __init__(
        self, server: TmuxServer, project: str, cwd: Path, *, width: int = 200, height: int = 50
    ) -> None:
        """Name the session; `open` makes it.

        Args:
            server: the tmux server; started when it does not run.
            project: the project's name, which tells its session from others.
            cwd: where the shell in the session's first window starts.
            width: columns of each agent's window.
            height: rows of each agent's window.
        """
        self._server, self._project, self._cwd = server, project, cwd
        self._width, self._height = width, height
        self._client: ControlClient | None = None
        self._connecting = anyio.Lock()
        self._reconnect: asyncio.Task[None] | None = None
        self._born = ""
        self._known: dict[str, _Seen] = {}
        self._listeners: list[Callable[[PaneEvent], None]] = []

    @classmethod
    async def open(
        cls, server: TmuxServer, project: str, cwd: Path, *, width: int = 200, height: int = 50
    ) -> PaneRuntime:
        """Connect to the project's session; starts the server and makes the session where they are missing.

        Args:
            server: the tmux server; started when it does not run.
            project: the project's name, which tells its session from others.
            cwd: where the shell in the session's first window starts.
            width: columns of each agent's window.
            height: rows of each agent's window.

        Raises:
            HerdrError: tmux is missing, too old, or does not start.
        """
        runtime = cls(server, project, cwd, width=width, height=height)
        await runtime._connected()
        return runtime

    async def aclose(self) -> None:
        """Let go of tmux; session and agents live on. Before a server is killed, or it would be started again."""
        if self._reconnect is not None:
            self._reconnect.cancel()
            await asyncio.wait([self._reconnect])
        if self._client is not None:
            await self._client.aclose()

    async def session(self) -> str:
        """The session's `$id`, to attach to."""
        return (await self._connected()).session

    def on_event(self, listener: Callable[[PaneEvent], None]) -> None:
        """Call `listener(change)` from the event loop for whatever tmux tells; it must be short."""
        self._listeners.append(listener)

    async def launch(self, request: LaunchRequest) -> Place:
        """Open a window and start the wrapper in it; returns once tmux has it, not once the agent is ready.

        Raises:
            HerdrError: it could not be started; nothing of it runs, and nothing will.
        """
        await anyio.to_thread.run_sync(write_launch, request)
        try:
            client = await self._connected()
            window, pane = await open_window(
                client, request.name, request.cwd, wrapper_argv(request), width=self._width, height=self._height
            )
        except HerdrError:
            # tmux may have begun before it failed.
            await end_agent(request.env.get(MARK, ""), request.state_dir)
            raise
        except BaseException:
            # The wrapper has the launch file by now and can be found again, or it never gets it.
            revoke_launch(request.state_dir)
            raise
        self._known[pane] = _Seen()
        try:
            await set_title(client, pane, request.title)
            await prune_ended(client)
        except TmuxError as error:
            log.warning("agent %s runs, but its window is not as it should be: %s", request.agent_id, error)
        return Place(session=client.session, window=window, pane=pane)

    async def find(self, agent_id: int, state_dir: Path) -> Place | None:
        """Where an agent is that an earlier daemon started, also one that has ended; None when it is gone."""
        for pane in await self._again(list_panes):
            if _is_agent(pane, agent_id, state_dir):
                self._known.setdefault(pane.pane, _Seen())
                return Place(session=pane.session, window=pane.window, pane=pane.pane)
        return None

    async def exists(self, place: Place) -> bool:
        """Whether the window is still there, with a program that runs in it or has ended."""
        panes = await self._again(list_panes)
        return place.pane in self._known and any(pane.pane == place.pane for pane in panes)

    def changed(self, place: Place) -> bool:
        """Whether reading the pane could show something new since it was last read."""
        seen = self._known.get(place.pane)
        return seen is None or seen.stale()

    async def screen(self, place: Place) -> Screen | None:
        """Read the pane, or None when it is gone."""
        return (await self.screens([place]))[0]

    async def screens(self, places: Sequence[Place]) -> list[Screen | None]:
        """Read many panes in one go; None for each that is gone."""
        return await self._again(partial(self._read, places))

    async def _read(self, places: Sequence[Place], client: ControlClient) -> list[Screen | None]:
        panes = [place.pane for place in places if place.pane in self._known]
        for pane in panes:
            self._known[pane].read_at = time.monotonic()
        found = dict(zip(panes, await capture_many(client, panes), strict=True)) if panes else {}
        # tmux scrolls a dead program's screen up by a line to write below it. Where the program printed one line
        # only, that line is above the screen now, so it is read with some history.
        dead = [pane for pane, screen in found.items() if screen is not None and screen.dead]
        if dead:
            found.update(zip(dead, await capture_many(client, dead, self._height), strict=True))
        return [found.get(place.pane) for place in places]

    async def send(
        self,
        place: Place,
        text: str,
        *,
        screen: ScreenRules,
        send: SendRules,
        typing: Callable[[], None],
        evidence: Callable[[], bool | None],
    ) -> Delivery:
        """Type a text and confirm it, by the rules of the harness; see `runtime.api.Runtime.send`."""
        client = await self._connected()
        if place.pane not in self._known:
            return Delivery(state="failed", detail="its window is gone")
        return await submit(
            client, place.pane, text, screen=screen, send=send, typing=typing, evidence=_in_thread(evidence)
        )

    async def resume_send(
        self,
        place: Place,
        text: str,
        *,
        screen: ScreenRules,
        send: SendRules,
        evidence: Callable[[], bool | None],
    ) -> Delivery:
        """Find out what became of a text typed before a crash: at most the Enter is pressed, never the text."""
        client = await self._connected()
        if place.pane not in self._known:
            return Delivery(state="unconfirmed", detail="its window is gone")
        return await resume_submit(
            client, place.pane, text, screen=screen, send=send, evidence=_in_thread(evidence)
        )

    async def close(self, place: Place) -> None:
        """Close the window; the process must have ended before. One that is gone already is no error."""
        client = await self._connected()
        if place.pane in self._known:
            del self._known[place.pane]
            await kill_window(client, place.window)

    async def _again(self, ask: Callable[[ControlClient], Awaitable[T]]) -> T:
        """Ask, and once more when the connection was lost meanwhile; only for what changes nothing."""
        try:
            return await ask(await self._connected())
        except ServerGone:
            return await ask(await self._connected())

    async def _connected(self) -> ControlClient:
        """The control client; a new one when the server died or somebody detached ours."""
        async with self._connecting:
            if self._client is not None and not self._client.gone:
                return self._client
            if self._client is not None:
                await self._client.aclose()
            self._client = client = await self._connect()
            client.on_gone(self._lost)
            return client

    async def _connect(self) -> ControlClient:
        await anyio.to_thread.run_sync(self._server.ensure)
        session = await anyio.to_thread.run_sync(
            self._server.ensure_session, self._project, self._cwd, self._width, self._height
        )
        client = await ControlClient.open(self._server.argv, session.id, self._server.environ)
        try:
            await self._greet(client)
        except BaseException:
            await client.aclose()
            raise
        return client

    async def _greet(self, client: ControlClient) -> None:
        """Find out whether this is the server and session of before, and have changes told."""
        (born,) = await client.run("display-message", "-p", "#{pid} #{start_time} #{session_id}")
        if born != self._born:
            first, self._born = not self._born, born
            self._known.clear()
            if not first:
                self._tell(PaneEvent(kind="lost"))
        await client.subscribe("dead", "%*", "#{pane_dead}", self._on_dead)
        await client.subscribe("title", "%*", "#{pane_title}", self._on_title)
        await client.subscribe("activity", "%*", "#{window_activity}", self._on_activity)

    def _lost(self) -> None:
        """Connect anew at once, so that changes go on being told."""
        self._reconnect = asyncio.ensure_future(self._try_to_connect())

    async def _try_to_connect(self) -> None:
        try:
            await self._connected()
        except HerdrError as error:
            log.warning("tmux is lost, and does not come back yet: %s", error)
            self._known.clear()
            self._tell(PaneEvent(kind="lost"))

    def _on_dead(self, pane: str, value: str) -> None:
        if value == "1":
            self._tell(PaneEvent(kind="dead", pane=pane))

    def _on_title(self, pane: str, value: str) -> None:
        self._tell(PaneEvent(kind="title", pane=pane, value=value))

    def _on_activity(self, pane: str, value: str) -> None:  # noqa: ARG002 - the second in which it printed last
        self._tell(PaneEvent(kind="activity", pane=pane))

    def _tell(self, change: PaneEvent) -> None:
        if change.pane:
            seen = self._known.get(change.pane)
            if seen is None:
                return
            seen.changed_at = time.monotonic()
        for listener in self._listeners:
            listener(change)


class _Seen:
    """When a pane was last read, and when tmux last told of a change in it."""

    def __init__(self) -> None:
        self.read_at = 0.0
        self.changed_at = time.monotonic()

    def stale(self) -> bool:
        return self.read_at <= self.changed_at + ACTIVITY_STEP


def _in_thread(evidence: Callable[[], bool | None]) -> Callable[[], Awaitable[bool | None]]:
    async def ask() -> bool | None:
        return await anyio.to_thread.run_sync(evidence, abandon_on_cancel=True)

    return ask


def _is_agent(pane: PaneInfo, agent_id: int, state_dir: Path) -> bool:
    """Whether this pane was opened for this agent: by words of its argv, and its pid where that is recorded."""
    try:
        words = shlex.split(pane.start_command)
    except ValueError:
        return False
    process = read_process(state_dir)
    if words[-4:] != ["--agent", str(agent_id), "--dir", str(state_dir)]:
        return False
    return process is None or process.wrapper.pid == pane.pid
