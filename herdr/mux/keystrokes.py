"""Typing a text into an agent so that it arrives at most once, whole, and never where it does harm.

The steps: look, and do nothing when something is in the way; paste; wait until the text is
seen and has settled; press a lone Enter; wait for evidence. The text itself is never typed twice. Only the Enter
is repeated, and only while the input line still holds our text.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable

import anyio
import msgspec

from herdr.contract.harness import ScreenRules, SendRules
from herdr.harness.screen import ScreenReading, read_screen
from herdr.mux.capture import capture
from herdr.mux.composer import input_line_is, obstacle, refused, shows, takes_keys, times_received
from herdr.mux.control import ControlClient
from herdr.mux.errors import TmuxError
from herdr.mux.quote import clean
from herdr.mux.screen import Delivery, Screen

#: Whether the harness's own files show that the text was taken; None when they cannot tell.
Evidence = Callable[[], Awaitable[bool | None]]

#: Lines above the screen in which a `received` line is looked for.
HISTORY = 500

_buffers = itertools.count(1)


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long typing waits, in seconds, and how often Enter is pressed at most."""

    look: float = 0.05
    """Between two looks at the screen."""
    seen: float = 10.0
    """From the paste until the text has settled in the input line."""
    again: float = 1.0
    """From an Enter to the next one."""
    taken: float = 10.0
    """From the first Enter until there is evidence."""
    proof: float = 2.0
    """From an empty input line until it has to do as evidence, where the harness's files can give better."""
    enters: int = 3


class _View(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the pane."""

    screen: Screen | None
    reading: ScreenReading
    received: int


async def submit(
    client: ControlClient,
    pane: str,
    text: str,
    *,
    screen: ScreenRules,
    send: SendRules,
    typing: Callable[[], None] | None = None,
    evidence: Evidence | None = None,
    patience: Patience | None = None,
) -> Delivery:
    """Type a text and confirm it; one text at a time per pane.

    Args:
        client: the control client of the pane's session.
        pane: the `%pane`.
        text: what to say; it is cleaned by the harness's rules first.
        screen: how to read the harness's screen.
        send: how it takes text.
        typing: called right before the first byte is typed, to record that it must never be typed again.
        evidence: asks the harness's own files whether the text was taken, the best proof there is.
        patience: how long to wait for each step.

    Returns:
        `waiting` or `failed`: nothing was typed. `unconfirmed`: it was, and must never be typed again; the detail
        says what is known. `received`: there is evidence, named in the detail.

    Raises:
        ServerGone: tmux was lost before anything was typed.
    """
    async with client.pane_locks[pane]:
        typist = _Typist(client, pane, text, screen, send, evidence, patience or Patience())
        return await typist.submit(typing)


async def resume_submit(
    client: ControlClient,
    pane: str,
    text: str,
    *,
    screen: ScreenRules,
    send: SendRules,
    evidence: Evidence | None = None,
    patience: Patience | None = None,
) -> Delivery:
    """Finish a text that was typed before a crash and whose Enter may be missing; it is never typed again.

    Enter is pressed only if the input line holds exactly this text. A paste that the program shows only as a
    placeholder does not count here, because a person may have pasted it.

    Args:
        client: the control client of the pane's session.
        pane: the `%pane`.
        text: what was typed, before it was cleaned.
        screen: how to read the harness's screen.
        send: how it takes text.
        evidence: asks the harness's own files whether the text was taken.
        patience: how long to wait for each step.

    Returns:
        `received`, or `unconfirmed` with what is known.
    """
    async with client.pane_locks[pane]:
        return await _Typist(client, pane, text, screen, send, evidence, patience or Patience()).resume()


class _Typist:
    """One text on its way into one pane."""

    def __init__(
        self,
        client: ControlClient,
        pane: str,
        text: str,
        screen: ScreenRules,
        send: SendRules,
        evidence: Evidence | None,
        patience: Patience,
    ) -> None:
        self.client = client
        self.pane = pane
        self.text = clean(text, newline=send.newline, disarm=send.disarm, disarm_at=send.disarm_at)
        self.screen = screen
        self.send = send
        self.evidence = evidence
        #: What the harness's files said last; None when they cannot tell.
        self.told: bool | None = None
        self.patience = patience

    async def submit(self, typing: Callable[[], None] | None) -> Delivery:
        never = refused(self.text, self.screen, self.send)
        if never is not None:
            return never
        before, in_the_way = await self._still()
        if in_the_way is not None:
            return in_the_way
        if self.evidence is not None and await self.evidence():
            # The same text was taken before, so the files cannot tell when it is taken again.
            self.evidence = None
        buffer = f"herdr-{self.pane[1:]}-{next(_buffers)}"
        await self.client.run("set-buffer", "-b", buffer, "--", self.text)
        if typing is not None:
            typing()
        try:
            return await self._type(buffer, before)
        except TmuxError as error:
            return _unconfirmed(f"tmux failed while it was typed: {error}")

    async def resume(self) -> Delivery:
        try:
            return await self._resume()
        except TmuxError as error:
            return _unconfirmed(f"tmux failed before it was confirmed: {error}")

    async def _resume(self) -> Delivery:
        view = await self._look()
        if await self._proved(view, received_before=0):
            return _received("it had been taken already")
        if self.screen.composer is None or not self._ours(view, folded=False):
            return _unconfirmed("its input line does not hold the text any more")
        if not takes_keys(view.screen, view.reading):
            return _unconfirmed("the text stands in its input line, and Enter cannot be pressed now")
        return await self._confirm(view, folded=False)

    async def _type(self, buffer: str, before: _View) -> Delivery:
        """Paste, bracketed where the program asked for that and with line ends as they are; then Enter."""
        await self.client.run("paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", self.pane)
        if self.screen.composer is None:
            await self._echoed()
        elif not await self._settled():
            return _unconfirmed(await self._why_not_entered())
        return await self._confirm(before, folded=True)

    async def _look(self) -> _View:
        screen = await capture(self.client, self.pane)
        if screen is None:
            return _View(screen=None, reading=ScreenReading(state="ended"), received=0)
        reading = read_screen(self.screen, screen.text, screen.title)
        return _View(screen=screen, reading=reading, received=await self._times_received())

    async def _times_received(self) -> int:
        """Look for evidence further up too; for nothing else, because a dialog of the past may stand there."""
        if self.send.received is None:
            return 0
        past = await capture(self.client, self.pane, HISTORY)
        return 0 if past is None else times_received(self.send, past, self.text)

    async def _still(self) -> tuple[_View, Delivery | None]:
        """Look twice, so that a program that is still starting, or a person who types, is noticed."""
        view = await self._look()
        in_the_way = obstacle(view.screen, view.reading, self.screen, self.send)
        if in_the_way is None and self.screen.composer is not None:
            await anyio.sleep(self.send.settle)
            view = await self._look()
            in_the_way = obstacle(view.screen, view.reading, self.screen, self.send)
        return view, in_the_way

    async def _echoed(self) -> None:
        """Give a program without an input line of its own the time to echo the text."""
        with anyio.move_on_after(self.send.settle):
            while True:
                view = await self._look()
                if view.screen is None or shows(view.screen, self.text):
                    return
                await anyio.sleep(self.patience.look)

    async def _settled(self) -> bool:
        """Wait until the input line has held our text, unchanged and with no dialog open, for a while."""
        deadline = anyio.current_time() + self.patience.seen
        since, last = anyio.current_time(), ""
        while anyio.current_time() < deadline:
            view = await self._look()
            now = anyio.current_time()
            held = view.reading.composer or ""
            if not self._ours(view, folded=True) or not takes_keys(view.screen, view.reading) or held != last:
                since, last = now, held
            elif now - since >= self.send.settle:
                return True
            if view.screen is None or view.screen.dead:
                return False
            await anyio.sleep(self.patience.look)
        return False

    async def _why_not_entered(self) -> str:
        view = await self._look()
        in_the_way = obstacle(view.screen, view.reading, self.screen, self.send)
        if view.reading.composer and not self._ours(view, folded=True):
            return f"its input line holds something else than was typed: {view.reading.composer[:80]}"
        if in_the_way is not None:
            return f"it was typed, and Enter not pressed: {in_the_way.detail}"
        return "it was typed, and does not show in the input line"

    async def _confirm(self, before: _View, *, folded: bool) -> Delivery:
        """Press Enter and wait for evidence; press it again only while the input line still holds our text."""
        start = pressed = anyio.current_time()
        enters, emptied = 1, None
        await self._enter()
        while True:
            view = await self._look()
            now = anyio.current_time()
            if await self._proved(view, before.received):
                return _received("the harness shows it")
            emptied = (now if emptied is None else emptied) if self._left(view, before) else None
            if emptied is not None and now - emptied >= self._proof():
                return _received("its input line is empty again")
            due = enters < self.patience.enters and now - pressed >= self.patience.again
            if due and self._may_repeat(view, before, folded=folded):
                pressed, enters = now, enters + 1
                await self._enter()
            if now - start >= self.patience.taken or self._hopeless(view):
                return _unconfirmed(self._unproved(view, folded=folded))
            await anyio.sleep(self.patience.look)

    async def _enter(self) -> None:
        await self.client.run("send-keys", "-t", self.pane, "Enter")

    async def _proved(self, view: _View, received_before: int) -> bool:
        self.told = await self.evidence() if self.evidence is not None else None
        return bool(self.told) or view.received > received_before

    def _proof(self) -> float:
        """Seconds that the input line must stay empty: files that can tell have the time to tell better."""
        # An empty line that is seen only once may be a screen that the program is still drawing.
        return self.patience.look if self.told is None else self.patience.proof

    def _ours(self, view: _View, *, folded: bool) -> bool:
        if view.screen is None or view.reading.composer is None:
            return False
        return (folded and view.reading.folded) or input_line_is(
            view.reading, view.screen, self.screen, self.text
        )

    def _left(self, view: _View, before: _View) -> bool:
        """Whether the text has left the input line: that is empty, or gone because a turn has started."""
        if view.screen is None or view.screen.dead or self.screen.composer is None:
            return False
        if view.reading.composer is None:
            return view.reading.state == "busy" and before.reading.state != "busy"
        return not view.reading.composer and not view.reading.folded

    def _may_repeat(self, view: _View, before: _View, *, folded: bool) -> bool:
        """Whether Enter can have been lost; when a turn has started, what looks like our text is its echo."""
        if self.screen.composer is None or not takes_keys(view.screen, view.reading):
            return False
        started = view.reading.state == "busy" and before.reading.state != "busy"
        return not started and self._ours(view, folded=folded)

    def _hopeless(self, view: _View) -> bool:
        """Whether no evidence can come: the program has ended, or it has no way to show any."""
        ended = view.screen is None or view.screen.dead
        silent = self.screen.composer is None and self.send.received is None
        return self.evidence is None and (ended or silent)

    def _unproved(self, view: _View, *, folded: bool) -> str:
        if view.screen is None or view.screen.dead:
            return "its program ended after the Enter"
        if view.reading.state == "blocked":
            return f"a dialog opened after the Enter ({view.reading.rule})"
        if self._ours(view, folded=folded):
            return "the text still stands in its input line"
        return "nothing shows whether it was taken"


def _received(how: str) -> Delivery:
    return Delivery(state="received", detail=how)


def _unconfirmed(what: str) -> Delivery:
    return Delivery(state="unconfirmed", detail=what)
