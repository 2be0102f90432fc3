"""The live screen of the demo: every idea with its agent, the newest candidates, and what was said last."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from herdr.campaign.text import first_line
from herdr.errors import HerdrError
from herdr.mux.server import TmuxServer
from herdr.ops.client import Client
from herdr.ops.sql import RunStatement
from herdr.ops.views import IdeaView
from herdr.printing.things import verdict_of
from herdr.printing.values import number

from .closing import STYLES
from .scene import Scene
from .stage import Stage
from .terminal import PROMPT, WORKING

#: Rows that are left to the newest candidates where there is room for more.
CANDIDATES = 12
#: What was said last, in lines.
SAID = 2
#: Panes hold their conversations' ends, and those of agents that ended must not be asked for.
PANES = "SELECT role || '#' || id, pane FROM agents WHERE state <> 'ended' AND pane IS NOT NULL"


class LiveShow:
    """Draws the campaign on the alternate screen, anew at each look, as large as the terminal is then."""

    def __init__(self, stage: Stage, client: Client, attach: str) -> None:
        self._server = TmuxServer(stage.home.socket_name, stage.home.tmux_conf, stage.environ)
        self._client = client
        self._attach = attach
        self._started = time.monotonic()
        self._said: list[str] = []
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._live = Live(console=self._console, screen=True, auto_refresh=False)

    def __enter__(self) -> LiveShow:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        for line in self._said:
            self._console.print(line, soft_wrap=True)

    def say(self, line: str) -> None:
        """Show a line at the bottom, and leave it behind when the screen is put away."""
        self._said.append(f"{time.monotonic() - self._started:4.0f} s  {line}")

    def show(self, scene: Scene) -> None:
        """Draw the campaign as it is now."""
        picture = draw(
            scene,
            seconds=time.monotonic() - self._started,
            attach=self._attach,
            said=self._said[-SAID:],
            last_lines=self._last_lines(),
            height=self._console.height,
        )
        self._live.update(picture, refresh=True)

    def _last_lines(self) -> dict[str, str]:
        """By agent, the last line in its pane that is not its input line."""
        panes = self._client.ask(RunStatement(statement=PANES)).rows
        return {agent: line for agent, pane in panes if (line := self._last_line(pane))}

    def _last_line(self, pane: str) -> str:
        try:
            shown = self._server.command("capture-pane", "-p", "-t", pane)
        except HerdrError:
            # It was closed meanwhile.
            return ""
        lines = [
            line for line in map(first_line, shown) if line and not line.startswith((PROMPT.strip(), WORKING))
        ]
        return lines[-1] if lines else ""


def draw(
    scene: Scene,
    *,
    seconds: float,
    attach: str,
    said: list[str],
    last_lines: dict[str, str],
    height: int,
) -> Group:
    """Compose the screen.

    Args:
        scene: the campaign.
        seconds: since the demo started.
        attach: the command that shows the agents.
        said: the lines that were said last.
        last_lines: by agent, the last line of its pane.
        height: rows of the terminal.
    """
    head = scene.head
    gain = f", {head.share:.1%} better than the baseline" if head.share else ""
    top = Text.assemble(
        (f"herdr demo · {seconds:.0f} s · ", "bold"),
        f"{head.metric} {number(head.value)}{gain}",
    )
    how = Text(f"{attach}  shows the agents; Ctrl-C stops all", style="dim")
    ideas = _ideas(scene, last_lines)
    # Other rows: the two lines on top, a blank line and a heading for each table, and what was said.
    room = height - len(scene.ideas) - 2 - 2 - 2 - SAID
    parts: list[RenderableType] = [_line(top), _line(how), Text(), ideas]
    if room > 0:
        parts += [Text(), _candidates(scene, min(room, CANDIDATES))]
    return Group(*parts, *(_line(Text(line, style="cyan")) for line in said))


def _ideas(scene: Scene, last_lines: dict[str, str]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", expand=True)
    table.add_column("IDEA", no_wrap=True)
    table.add_column("", no_wrap=True, ratio=4, overflow="ellipsis")
    table.add_column("STATUS", no_wrap=True)
    table.add_column("", no_wrap=True, ratio=5, overflow="ellipsis")
    for idea in scene.ideas:
        status, what = _state_of(scene, idea, last_lines)
        table.add_row(idea.ref.partition("#")[2], Text(idea.title), status, what)
    return table


def _state_of(scene: Scene, idea: IdeaView, last_lines: dict[str, str]) -> tuple[Text, Text]:
    agent = scene.agent_at_work(idea.ref)
    if agent is not None:
        line = last_lines.get(agent.ref, "")
        return Text(agent.state, style="bold cyan"), Text(f"{agent.ref} {line}")
    if idea.status == "ready":
        waits = f"after {', '.join(idea.blocked_by)}" if idea.blocked_by else ""
        return Text("ready", style="dim"), Text(waits, style="dim")
    candidates = scene.candidates_of(idea.ref)
    kept = [one for one in candidates if one.verdict == "keep"]
    if idea.status == "scheduled":
        return Text("judging" if candidates else "starting", style="cyan"), Text("")
    for one in (kept or candidates)[-1:]:
        verdict = verdict_of(one)
        return Text(verdict, style=STYLES.get(verdict, "")), Text(one.reason or "")
    runs = scene.runs_of(idea.ref)
    return Text(idea.status), Text(runs[-1].detail or "" if runs else "", style="dim")


def _candidates(scene: Scene, rows: int) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", expand=True)
    table.add_column("CANDIDATE", no_wrap=True)
    table.add_column("VERDICT", no_wrap=True)
    table.add_column(scene.head.metric.upper(), no_wrap=True)
    table.add_column("", no_wrap=True, ratio=1, overflow="ellipsis")
    for one in scene.candidates[-rows:]:
        verdict = verdict_of(one)
        shown = Text(verdict, style=STYLES.get(verdict, ""))
        mark = "*" if one.is_head else ""
        table.add_row(one.ref + mark, shown, number(one.value), Text(one.subject))
    return table


def _line(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
