"""The screen: four panels, the detail of the selected row, and the keys."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Coroutine
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.worker import Worker

from herdr.daemon.lock import daemon_pid
from herdr.errors import HerdrError
from herdr.home import Home

from .bar import Bar
from .feed import Feed, Part
from .header import header
from .keys import BINDINGS, KeysPage, hints, wanted
from .page import Page
from .panel import Panel
from .panels import PANELS
from .panels.agents import AgentsPanel
from .panels.candidates import CandidatesPanel

if TYPE_CHECKING:
    from herdr.mux.attach import Attach
    from herdr.ops.status_snapshot import LiveSnapshot

#: Seconds between two looks at the database's version; one costs some microseconds.
LOOK = 0.2

Work = Callable[[], Coroutine[Any, Any, None]]


def utc_now() -> datetime:
    """The time."""
    return datetime.now(timezone.utc)


class Watch(App[None]):
    """The campaign of one project, live.

    Args:
        feed: where everything comes from.
        home: where the daemon is.
        clock: gives the time that ages are counted to.
    """

    CSS_PATH = "watch.tcss"
    BINDINGS: ClassVar[list[BindingType]] = BINDINGS
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, feed: Feed, home: Home, *, clock: Callable[[], datetime] = utc_now) -> None:
        super().__init__()
        self.feed = feed
        self.home = home
        self._clock = clock
        self._part: Part = "ideas"
        self._drawn: tuple[str, Content] | None = None
        self._one_at_a_time = asyncio.Lock()

    @property
    def main(self) -> Screen[Any]:
        """The screen itself, also while the page of keys is in front of it."""
        return self.screen_stack[0]

    def compose(self) -> ComposeResult:
        """The header, the panels beside the detail, what was said, and the hints."""
        yield Static(id="head")
        with Horizontal(id="body"):
            with Vertical(id="panels"):
                for panel in PANELS:
                    yield panel()
            with VerticalScroll(id="detail"):
                yield Static(id="text")
        yield Bar()
        yield Static(id="hints")

    async def on_mount(self) -> None:
        """Show everything once, then follow what changes."""
        self.theme = "ansi-dark"
        self.action_panel(self._part)
        self.run_worker(self._follow(), group="follow")

    # What is shown

    async def _follow(self) -> None:
        failed = False
        while True:
            worked = await self._tell(self._show_changes)
            if worked and failed:
                self.say("")
            failed = not worked
            await asyncio.sleep(LOOK)

    async def _show_changes(self) -> None:
        await self._show(await self.feed.changed())

    async def _show(self, parts: frozenset[Part]) -> None:
        for part in parts:
            await self._panel(part).read(self.feed)
        if "agents" in parts:
            self._show_snapshot()
            # Its rows say how long they wait.
            parts |= {"inbox"}
        for part in parts:
            self._panel(part).draw(self._clock())
        if parts:
            await self._show_detail()

    def _show_snapshot(self) -> None:
        """Show what the answer about the agents says of the whole campaign."""
        live = self._live
        if live is not None:
            self.main.query_one("#head", Static).update(header(live, daemon_pid(self.home) is not None))
            self.main.query_one(CandidatesPanel).show_trajectory(live.trajectory)

    @property
    def _live(self) -> LiveSnapshot | None:
        return self.main.query_one(AgentsPanel).answer

    async def _show_detail(self) -> None:
        """Show the detail of the selected row, if it still is when the answer comes."""
        part, panel = self._part, self._panel(self._part)
        row, page = panel.row, Page(self._clock())
        text = Content("")
        if row is not None:
            try:
                await panel.describe(row, page, self.feed)
                text = page.content()
            except HerdrError as error:
                text = Content(error.message)
        now = self._panel(self._part).row
        name = row.ref if row is not None else ""
        if (part, name) != (self._part, now.ref if now is not None else ""):
            return
        if self._drawn == (name, text):
            return
        box = self.main.query_one("#detail", VerticalScroll)
        if self._drawn is None or self._drawn[0] != name:
            box.scroll_home(animate=False)
        self._drawn = (name, text)
        box.border_title = Content(name or "Detail").markup
        self.main.query_one("#text", Static).update(text)

    def _panel(self, part: Part) -> Panel[Any, Any]:
        found: Panel[Any, Any] = self.main.query_one(f"#{part}", Panel)
        return found

    @on(OptionList.OptionHighlighted)
    def _selected(self, event: OptionList.OptionHighlighted) -> None:
        if isinstance(event.option_list, Panel) and event.option_list.part == self._part:
            self._run(self._show_detail, "detail", exclusive=True)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_open()

    def on_descendant_focus(self) -> None:
        """The panel that has the keys is the current one, and the larger one."""
        focused = self.main.focused
        if isinstance(focused, Panel):
            self._part = focused.part
            for panel in self.main.query(Panel):
                panel.set_class(panel is focused, "current")
            self.main.query_one("#hints", Static).update(hints(self._part))
            self._run(self._show_detail, "detail", exclusive=True)

    # What a deed works with

    def say(self, text: str, *, error: bool = False) -> None:
        """Say something in the line at the bottom; an `error` in red.

        Args:
            text: one line.
            error: whether something went wrong.
        """
        if self.is_running:
            self.main.query_one(Bar).say(text, error=error)

    async def question(self, text: str, *, hint: str = "") -> str | None:
        """Ask for a line; None when it is given up.

        Args:
            text: what is asked.
            hint: is shown where the line will be typed.
        """
        return await self.main.query_one(Bar).question(text, hint=hint)

    def agent_of(self, ref: str) -> str | None:
        """The live agent that is called `ref`, or that tries the idea of that name."""
        agents = self._live.agents if self._live is not None else []
        return next((one.agent.ref for one in agents if ref in (one.agent.ref, one.idea)), None)

    def later(self, sentence: Coroutine[Any, Any, str]) -> None:
        """Say a sentence when it is known."""

        async def wait() -> None:
            self.say(await sentence)

        self._run(wait, "later")

    def lend_terminal(self, plan: Attach) -> None:
        """Leave the terminal to a program until it ends."""
        with self.suspend():
            done = subprocess.run(plan.argv, env=dict(plan.environ), check=False)
        self.refresh(layout=True)
        if done.returncode:
            raise HerdrError(f"tmux ended with {done.returncode}", fix="herdr attach shows why")

    # Keys

    def action_panel(self, part: Part) -> None:
        """Go to a panel."""
        self.main.query_one("#body").remove_class("opened")
        # At once, because the next key may have been pressed already.
        self._part = part
        self.main.set_focus(self._panel(part))

    def action_detail(self) -> None:
        """Go to the detail."""
        self.main.set_focus(self.main.query_one("#detail"))

    def action_open(self) -> None:
        """Give the detail the whole screen."""
        self.main.query_one("#body").add_class("opened")
        self.action_detail()

    async def action_back(self) -> None:
        """Close a question, the detail or a filter, whichever there is."""
        if self.main.query_one(Bar).give_up():
            return
        if isinstance(self.focused, Panel):
            self.focused.narrow("")
        else:
            self.action_panel(self._part)

    def action_move(self, by: int) -> None:
        """Go down or up by a row."""
        focused = self.focused
        if isinstance(focused, Panel):
            focused.action_cursor_down() if by > 0 else focused.action_cursor_up()
        elif focused is not None:
            focused.scroll_relative(y=by, animate=False)

    def action_keys(self) -> None:
        """Show all keys."""
        self.push_screen(KeysPage())

    def action_filter(self) -> None:
        """Ask for a text, and show only the rows that hold it."""
        panel = self._panel(self._part)

        async def ask() -> None:
            before = panel.filter
            text = await self.main.query_one(Bar).question(
                f"{self._part} that hold:", value=before, typed=panel.narrow
            )
            panel.narrow(before if text is None else text)

        self._run(ask, "filter")

    def action_deed(self, name: str) -> None:
        """Do something to the selected row."""
        self._run(partial(self._do, name), "deed")

    async def _do(self, name: str) -> None:
        # A key that is pressed twice finds what the first press has changed.
        async with self._one_at_a_time:
            panel = self._panel(self._part)
            begun = panel.do(name, self)
            if begun is None:
                wrong = "nothing is selected" if panel.row is None else f"this key takes {wanted(name)}"
                self.say(wrong, error=True)
                return
            self.say(await begun)
            await self._show(await self.feed.news())

    # Failures

    def _run(self, work: Work, group: str, *, exclusive: bool = False) -> Worker[None]:
        async def told() -> None:
            await self._tell(work)

        return self.run_worker(told, group=group, exclusive=exclusive)

    async def _tell(self, work: Work) -> bool:
        """Do something that may go wrong; what does is said in a line, and everything is read again."""
        try:
            await work()
            return True
        except HerdrError as error:
            self.feed.forget()
            self.say(f"{error.message} ({error.fix})" if error.fix else error.message, error=True)
        except Exception as error:
            self.feed.forget()
            self.say(f"{type(error).__name__}: {error}", error=True)
        return False
