"""What an agent that has ended leaves: its last screen, its tokens, its commits, its uncommitted work."""

from __future__ import annotations

from functools import partial

import anyio
import anyio.to_thread
import msgspec

from herdr.contract.harness import Usage
from herdr.daemon.app_context import AppContext, Fleet
from herdr.daemon.runs.launcher import Launched
from herdr.daemon.scoring.judging import RECOVERED, checkout_and_tip
from herdr.home import atomic_write
from herdr.repo.commits import commit_leftovers, new_commits
from herdr.store.rows import Agent, Candidate, Run, get

SCREEN_FILE = "screen.txt"


class PostMortem(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `commits` are the agents' own, `recovered` says whether there is one that herdr made."""

    commits: int = 0
    recovered: bool = False
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
        run: the worker's run.
        agent: the worker's row.
        launched: None for one that could not even be launched: it has no screen and no tokens.
    """
    used = await examine_use(fleet, launched)
    base = get(app.store, Candidate, run.base_id).commit_sha
    work = partial(_commits, fleet, run, base, agent)
    commits, recovered = await anyio.to_thread.run_sync(work)
    return msgspec.structs.replace(used, commits=commits, recovered=recovered)


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


def _commits(fleet: Fleet, run: Run, base: str, agent: Agent) -> tuple[int, bool]:
    """How many commits the agents of a run made, and whether there is one that herdr made for them."""
    where, tip = checkout_and_tip(fleet, run)
    commits = new_commits(where, base, tip)
    own = [commit for commit in commits if not commit.trailer(RECOVERED)]
    if where == fleet.root:
        return len(own), len(own) < len(commits)
    message = f"Uncommitted work of {agent.name}\n\n{RECOVERED}: {agent.name}"
    left = commit_leftovers(where, message, exclude=fleet.config.link)
    return len(own), left.commit is not None or len(own) < len(commits)
