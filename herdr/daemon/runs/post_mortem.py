"""What an agent that has ended leaves: its last screen, its tokens, its commits, its uncommitted work."""

from __future__ import annotations

from functools import partial

import anyio
import anyio.to_thread
import msgspec

from herdr.contract.harness import Usage
from herdr.daemon.app_context import AppContext, Fleet
from herdr.daemon.runs.folders import folder_of_run
from herdr.daemon.runs.launcher import Launched
from herdr.home import atomic_write
from herdr.repo.isolated import Fault, NotOursError
from herdr.repo.run_folder import RECOVERED, RunFolder
from herdr.store.rows import Agent, Run
from herdr.times import parse_timestamp

SCREEN_FILE = "screen.txt"


class PostMortem(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `commits` are the agents' own, `recovered` says whether there is one that herdr made.

    `problems` says what could not be taken over; `fault` is set when the run's folder is not the one that herdr
    made.
    """

    commits: int = 0
    recovered: bool = False
    problems: tuple[str, ...] = ()
    fault: Fault | None = None
    usage: Usage | None = None
    last_line: str | None = None

    @property
    def tokens(self) -> int | None:
        """All tokens, or None when the harness does not count them."""
        return self.usage.total if self.usage is not None else None


async def examine(app: AppContext, fleet: Fleet, run: Run, agent: Agent, launched: Launched | None) -> PostMortem:
    """Save and count what an ended worker left, and commit its uncommitted work separately.

    Args:
        app: the daemon.
        fleet: the project.
        run: whose agent it is.
        agent: the agent.
        launched: what is needed to look at it; None when it could not be launched.
    """
    used = await examine_use(fleet, launched)
    work = partial(_commits, folder_of_run(app, fleet, run), agent, since_of(run))
    return msgspec.structs.replace(
        await anyio.to_thread.run_sync(work), usage=used.usage, last_line=used.last_line
    )


def since_of(run: Run) -> int:
    """When a run started, in seconds since the epoch: what was committed before is not its own."""
    return int(parse_timestamp(run.started_at or run.queued_at).timestamp())


async def examine_use(fleet: Fleet, launched: Launched | None) -> PostMortem:
    """Save an ended agent's last screen and count its tokens; its commits are not looked at."""
    if launched is None:
        return PostMortem()
    last_line = await _save_screen(fleet, launched)
    usage = await anyio.to_thread.run_sync(launched.harness.usage, launched.context)
    return PostMortem(usage=usage, last_line=last_line)


async def _save_screen(fleet: Fleet, launched: Launched) -> str | None:
    screen = await fleet.runtime.screen(launched.place)
    if screen is None:
        return None
    folder = launched.context.state_dir
    await anyio.to_thread.run_sync(partial(atomic_write, folder / SCREEN_FILE, screen.text))
    lines = [line.strip() for line in screen.text.splitlines() if line.strip()]
    # The last line is tmux's own word that the pane is dead.
    said = [line for line in lines if not line.startswith("Pane is dead")]
    return said[-1][:200] if said else None


def _commits(folder: RunFolder, agent: Agent, since: int) -> PostMortem:
    """What the agents of a run have committed, and what herdr committed for them."""
    problems, fault = folder.collect(since), None
    try:
        left = folder.recover(agent.name)
    except NotOursError as error:
        problems.append(error.message)
        fault = error.fault
    else:
        problems += left.problems
        if left.interrupted is not None:
            problems.append(f"a {left.interrupted} was begun and not finished")
    commits = folder.commits()
    own = [commit for commit in commits if not commit.trailer(RECOVERED)]
    return PostMortem(commits=len(own), recovered=len(own) < len(commits), problems=tuple(problems), fault=fault)
