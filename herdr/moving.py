"""What tells where a project's agents are, and when an edit may change it: never while that loses one of them."""

from __future__ import annotations

from herdr.config import FILE_NAME, Config
from herdr.errors import RefusedError
from herdr.store.connection import Store
from herdr.store.queries import live_agents
from herdr.store.rows import Project

WHEN = "takes effect once no agent of the project runs"
HOW = "put it back; or `herdr down --kill-agents`, then `herdr up`"


def refuse_move(store: Store, project: Project, old: Config, new: Config) -> None:
    """Make sure that the daemon and every command go on finding the agents that live.

    Args:
        store: in the transaction that stores the edit, so that no agent comes between.
        project: as it is in force.
        old: the configuration in force.
        new: the edited one.

    Raises:
        RefusedError: agents live, and would be looked for in another place.
    """
    moved = changed_place(old, new)
    if moved is not None and has_live_agent(store, project.id):
        raise RefusedError(f"the edited {moved} of {project.name} {WHEN}", fix=HOW)


def changed_place(old: Config, new: Config) -> str | None:
    """The key of piloop.toml whose change moves the agents, or None.

    Args:
        old: the configuration in force.
        new: the edited one.
    """
    if old.runtime != new.runtime:
        return f'runtime = "{new.runtime}"'
    if new.runtime == "herdr" and old.tmux.socket != new.tmux.socket:
        return "[tmux] socket"
    return None


def has_live_agent(store: Store, project_id: int) -> bool:
    """Whether an agent of the project has not ended."""
    return bool(live_agents(store, project_id))


def refuse_rename(store: Store, project: Project, name: str) -> None:
    """Make sure that a new name leaves nothing behind: session, pins and workspace go by the name.

    Args:
        store: in the transaction that writes the name, so that no run or agent comes between.
        project: as it is in force.
        name: the name that it is to have; its own changes nothing.

    Raises:
        RefusedError: runs are open, or agents live.
    """
    if name == project.name:
        return
    query = "SELECT count(*) FROM runs WHERE project_id = ? AND settled_at IS NULL"
    count: int = store.execute(query, (project.id,)).fetchone()[0]
    if count or has_live_agent(store, project.id):
        what = f"{count} run{'s' if count > 1 else ''} of it {'are' if count > 1 else 'is'} open"
        raise RefusedError(
            f"{project.name} cannot be renamed to {name} while {what if count else 'agents of it live'}",
            fix=f'put name = "{project.name}" back in {FILE_NAME}; or `piloop pause`, let the runs end or cancel'
            " them (`piloop run list`), then `herdr init` again",
        )
