"""What an agent that has ended leaves: its last screen, its tokens, its commits, its uncommitted work.

Each step has a deadline, so that whatever an agent left behind, the end of its run comes.
"""

from __future__ import annotations

import os
from functools import partial

import anyio
import msgspec

from herdr.contract.harness import Usage
from herdr.daemon.app_context import AppContext, Fleet, Work
from herdr.daemon.runs.folders import folder_of_run
from herdr.daemon.runs.launcher import Launched
from herdr.daemon.runs.steps import TRIES, StepFailedError, in_time
from herdr.errors import HerdrError
from herdr.home import atomic_write
from herdr.mux.screen import Screen
from herdr.repo.isolated import NotOursError
from herdr.repo.run_folder import RECOVERED, RunFolder
from herdr.store.rows import Agent, Run
from herdr.times import parse_timestamp

SCREEN_FILE = "screen.txt"
#: Seconds for an agent's last screen, and for its tokens.
SCREEN_LIMIT, USAGE_LIMIT = 10.0, 60.0
#: Seconds for taking over a run's commits, and for committing what was not: git's own deadlines come first.
COLLECT_LIMIT, RECOVER_LIMIT = 400.0, 900.0


class PostMortem(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `commits` are the agents' own, `recovered` says whether there is one that herdr made.

    `problems` says what could not be looked at or taken over. `lost` says what was found in place of the run's
    folder when that is not the one that herdr made. `failed` says which step could not be done, when the run's
    commits or its uncommitted work depend on it.
    """

    commits: int = 0
    recovered: bool = False
    problems: tuple[str, ...] = ()
    lost: str = ""
    failed: str = ""
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
    used = await examine_use(app, fleet, run, launched)
    folder = folder_of_run(app, fleet, run)
    problems, failed = await collect(app, run, folder)
    left, failed_too, lost = await _recover(app, run, folder, agent)
    own, recovered, uncounted = await _count(app, run, folder)
    return msgspec.structs.replace(
        used,
        commits=own,
        recovered=recovered,
        problems=(*used.problems, *problems, *left),
        lost=lost,
        failed=failed or failed_too or uncounted,
    )


def since_of(run: Run) -> int:
    """When a run started, in seconds since the epoch: what was committed before is not its own."""
    return int(parse_timestamp(run.started_at or run.queued_at).timestamp())


async def collect(app: AppContext, run: Run, folder: RunFolder) -> tuple[list[str], str]:
    """Take over what a run has committed so far; gives what could not be taken over, and why all of it could not.

    Args:
        app: the daemon.
        run: the run.
        folder: its folder.
    """
    do = partial(folder.collect, since_of(run))
    try:
        return await in_time(app, run, "its commits could not be taken over", do, COLLECT_LIMIT, tries=TRIES), ""
    except HerdrError as error:
        return [], error.message


async def _recover(
    app: AppContext, run: Run, folder: RunFolder, agent: Agent
) -> tuple[tuple[str, ...], str, str]:
    """What could not be committed of the uncommitted work, what failed, and what is in the folder's place."""
    do = partial(folder.recover, agent.name)
    try:
        left = await in_time(
            app, run, "its uncommitted work could not be committed", do, RECOVER_LIMIT, tries=TRIES
        )
    except NotOursError as error:
        # One that the agent deleted is made again for the next start.
        there = error.fault == "foreign" or os.path.lexists(folder.place.worktree)
        return (error.message,), "", error.message if there else ""
    except StepFailedError as error:
        return (), error.message, ""
    unfinished = (f"a {left.interrupted} was begun and not finished",) if left.interrupted is not None else ()
    return (*left.problems, *unfinished), "", ""


async def _count(app: AppContext, run: Run, folder: RunFolder) -> tuple[int, bool, str]:
    try:
        commits = await in_time(
            app, run, "its commits could not be counted", folder.commits, COLLECT_LIMIT, tries=TRIES
        )
    except HerdrError as error:
        return 0, False, error.message
    own = [commit for commit in commits if not commit.trailer(RECOVERED)]
    return len(own), len(own) < len(commits), ""


async def examine_use(app: AppContext, fleet: Fleet, work: Work, launched: Launched | None) -> PostMortem:
    """Save an ended agent's last screen and count its tokens; its commits are not looked at.

    Args:
        app: the daemon.
        fleet: the project.
        work: the agent's run or sweep.
        launched: what is needed to look at it; None when it could not be launched.
    """
    if launched is None:
        return PostMortem()
    problems: list[str] = []
    last_line, usage = None, None
    try:
        last_line = await _save_screen(app, fleet, work, launched)
    except (HerdrError, OSError) as error:
        problems.append(f"{launched.agent.name}'s last screen could not be saved: {error}")
    try:
        do = partial(launched.harness.usage, launched.context)
        what = f"the tokens of {launched.agent.name} could not be counted"
        usage = await in_time(app, work, what, do, USAGE_LIMIT)
    except HerdrError as error:
        problems.append(error.message)
    return PostMortem(usage=usage, last_line=last_line, problems=tuple(problems))


async def _save_screen(app: AppContext, fleet: Fleet, work: Work, launched: Launched) -> str | None:
    screen: Screen | None = None
    with anyio.move_on_after(SCREEN_LIMIT):
        screen = await fleet.runtime.screen(launched.place)
    if screen is None:
        return None
    path = launched.context.state_dir / SCREEN_FILE
    await in_time(app, work, "writing", partial(atomic_write, path, screen.text), SCREEN_LIMIT)
    lines = [line.strip() for line in screen.text.splitlines() if line.strip()]
    # The last line is tmux's own word that the pane is dead.
    said = [line for line in lines if not line.startswith("Pane is dead")]
    return said[-1][:200] if said else None
