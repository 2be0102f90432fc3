"""The end of the demo: what was tried and why it was kept or not, the plot, the branch, and what to type next."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from herdr.home import disk_error
from herdr.ops.apply import FindCommit
from herdr.ops.client import Client
from herdr.ops.run import ShowRun
from herdr.plot import Point, svg_plot, text_plot
from herdr.printing.values import number
from herdr.repo.export import make_branch

from .promises import Promise, promises
from .scene import Scene
from .stage import Stage

#: Columns where there is no terminal to measure.
WIDTH = 110
STYLES: dict[str, str] = {"keep": "green", "interesting": "yellow", "discard": "bright_black", "crash": "red"}


def close(stage: Stage, client: Client, last: Scene) -> int:
    """Print what came of the campaign, and hand its head over as a branch.

    Args:
        stage: where.
        client: asks for operations.
        last: the campaign when it was over.

    Returns:
        0 when all that the demo promises holds, else 1.

    Raises:
        HerdrError: the plot or the branch cannot be made.
    """
    console = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else WIDTH)
    shown = {run.ref: client.ask(ShowRun(run=run.ref)) for run in last.runs}
    found = promises(last, shown)
    console.print(candidate_table(last), "", sep="\n")
    console.print(promise_table(found), "", sep="\n")
    _plot(stage, console, last)
    branch = _apply(client, console)
    _say_next(stage, console, branch)
    broken = [promise for promise in found if not promise.kept]
    for promise in broken:
        console.print(f"did not hold: {promise.what}. {promise.evidence}", style="bold red")
    return 1 if broken else 0


def candidate_table(scene: Scene) -> Table:
    """Every candidate with its metric, its verdict, and why."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("candidate", "verdict", scene.head.metric):
        table.add_column(name.upper(), no_wrap=True)
    table.add_column("WHAT, AND WHY", overflow="fold")
    for one in scene.candidates:
        verdict = one.verdict or "not judged"
        table.add_row(
            one.ref + ("*" if one.is_head else ""),
            Text(verdict, style=STYLES.get(verdict, "")),
            number(one.value),
            Text.assemble(one.subject, "\n", (one.reason or one.error or "", "dim")),
        )
    return table


def promise_table(found: Sequence[Promise]) -> Table:
    """What the demo promises, and the evidence."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(ratio=2)
    table.add_column(ratio=3, overflow="fold")
    for promise in found:
        sign = Text("✓", style="green") if promise.kept else Text("✗", style="bold red")
        table.add_row(sign, promise.what, Text(promise.evidence, style="dim"))
    return table


def _plot(stage: Stage, console: Console, scene: Scene) -> None:
    points = [
        Point(
            number=int(one.ref.partition("#")[2]),
            value=one.value,
            verdict=one.verdict,
            title=one.subject,
        )
        for one in scene.candidates
    ]
    metric, direction = scene.head.metric, scene.head.direction
    try:
        stage.plot.write_text(svg_plot(points, metric=metric, direction=direction), encoding="utf-8")
    except OSError as error:
        raise disk_error(error, stage.plot) from error
    drawn = text_plot(points, metric=metric, direction=direction, width=min(console.width, WIDTH))
    console.print(drawn, end="", soft_wrap=True)
    console.print(f"as a picture: {stage.plot}\n", soft_wrap=True)


def _apply(client: Client, console: Console) -> str:
    """What `piloop apply` does."""
    found = client.ask(FindCommit())
    branch = f"herdr/{found.project}/{found.candidate.replace('#', '-')}"
    make_branch(Path(found.root), branch, found.commit)
    console.print("$ piloop apply", style="bold")
    console.print(f"{found.candidate}, the head, is now the branch {branch} of {found.root}\n", soft_wrap=True)
    return branch


def _say_next(stage: Stage, console: Console, branch: str) -> None:
    git = f"git -C {shlex.quote(str(stage.root))}"
    home = f"PILOOP_HOME={shlex.quote(str(stage.home.root))}"
    herdr, piloop = _program("herdr"), _program("piloop")
    console.print("what to type next", style="bold")
    for command, what in (
        (f"{git} diff --stat main...{branch}", "what the campaign found"),
        (f"{home} {piloop} status", "how it stands; also: candidate list, run show run#1, events"),
        (f"cd your-repo && {herdr} init", "a campaign of your own: register it, and measure its baseline"),
        (f'{piloop} idea add "what to try" && {herdr} up', "start the agents, and look at them"),
        (f"{herdr} attach", "look again later; Ctrl-b d leaves, and the agents go on"),
    ):
        console.print(f"  {command}", soft_wrap=True)
        console.print(f"      {what}", style="dim", soft_wrap=True)


def _program(name: str) -> str:
    """How to call a program of this installation from the user's shell."""
    ours = Path(sys.executable).with_name(name)
    on_path = shutil.which(name)
    if on_path is not None and Path(on_path).resolve() == ours.resolve():
        return name
    return shlex.quote(str(ours)) if ours.exists() else name
