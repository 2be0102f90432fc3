"""`herdr demo`: a whole campaign from the first commit to `piloop apply`, in a folder and a home of its own."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType

from herdr.daemon.lock import daemon_pid
from herdr.errors import HerdrError
from herdr.mux.server import check_tmux
from herdr.ops.client import Client, DirectClient
from herdr.ops.idea.filing import AddIdea
from herdr.setup import set_up

from .closing import close
from .create import create_project
from .ideas import IDEAS
from .keeper import Keeper
from .scene import Scene, look
from .show import Show, open_show
from .stage import Stage, set_stage
from .steer import Steer

INTERRUPTED = 130
#: Seconds between two looks at the campaign.
LOOK = 0.25
#: Seconds after which a campaign that has not ended is given up; with two quiet cores it takes less than 60.
LIMIT = 420.0
#: Seconds for the daemon to be there.
START_LIMIT = 60.0


class Interrupt:
    """Breaks off what the demo does when a signal asks it to stop, once.

    While `held` it only takes note.
    """

    NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.asked = False
        self.held = False

    def __enter__(self) -> Interrupt:
        self._before = {number: signal.signal(number, self._take) for number in self.NUMBERS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        first, self.asked = not self.asked, True
        if first and not self.held:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Break off if the signal came where an exception is swallowed, such as in a callback of SQLite."""
        if self.asked and not self.held:
            raise KeyboardInterrupt


def main(directory: Path | None) -> int:
    """Run the demo to its end, or until a signal says to stop; nothing of it is left running.

    Args:
        directory: a new or an empty folder; None makes one among the temporary files. Its files are kept.

    Returns:
        The exit status: 0 when the campaign did what it has to, 1 when not, 130 when it was interrupted.

    Raises:
        HerdrError: git, tmux or the folder is not as needed.
    """
    with Interrupt() as interrupt:
        stage = None
        try:
            check_tmux(os.environ)
            stage = set_stage(directory, os.environ)
            return _perform(stage, interrupt)
        except (Exception, KeyboardInterrupt):
            if not interrupt.asked:
                raise
            # The terminal may be gone as well.
            with suppress(OSError):
                where = f"; its files are in {stage.folder}" if stage is not None else ""
                print(f"\nstopped, and nothing of it runs any more{where}", file=sys.stderr, flush=True)
            return INTERRUPTED


def _perform(stage: Stage, interrupt: Interrupt) -> int:
    client = DirectClient(stage.home, stage.root)
    try:
        with Keeper(stage.environ, stage.output) as keeper:
            try:
                last = _play(stage, keeper, client, interrupt)
            finally:
                # The keeper ends everything, and is waited for.
                interrupt.held = True
        interrupt.held = False
        interrupt.check()
        return close(stage, client, last)
    finally:
        client.close()


def _play(stage: Stage, keeper: Keeper, client: Client, interrupt: Interrupt) -> Scene:
    """Everything from the first commit to the last verdict."""
    print(f"a small campaign in {stage.folder}", flush=True)
    create_project(stage.root)
    set_up(stage.home, stage.root, stage.environ, actor="human", tell=lambda line: print(f"  {line}", flush=True))
    interrupt.check()
    add_ideas(client)
    keeper.start_daemon()
    with open_show(stage, client) as show:
        return _watch(stage, client, show, interrupt)


def add_ideas(client: Client) -> None:
    """File the ideas of the demo, in order."""
    refs: dict[str, str] = {}
    for idea in IDEAS:
        filed = client.ask(
            AddIdea(
                title=idea.title,
                hypothesis=idea.hypothesis,
                plan=idea.plan,
                priority=idea.priority,
                after=tuple(refs[key] for key in idea.after),
            )
        )
        refs[idea.key] = filed.ref


def _watch(stage: Stage, client: Client, show: Show, interrupt: Interrupt) -> Scene:
    """Show what happens, and steer, until nothing more will happen."""
    steering = Steer(client, show.say)
    started, seen_daemon, seen = time.monotonic(), False, 0
    while True:
        interrupt.check()
        scene = look(client, seen)
        seen = max([seen, *(event.id for event in scene.events)])
        show.show(scene)
        if scene.over:
            return scene
        steering.look(scene)
        running = daemon_pid(stage.home) is not None
        waited = time.monotonic() - started
        if not running and (seen_daemon or waited > START_LIMIT):
            raise HerdrError("the demo's daemon has ended", fix=f"see {stage.home.log} and {stage.output}")
        seen_daemon = seen_daemon or running
        if waited > LIMIT:
            show.say(f"given up after {LIMIT:.0f} s")
            return scene
        time.sleep(LOOK)
