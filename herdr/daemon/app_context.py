"""What every part of the daemon shares: store, plugins, clock, change notifier, and each project's fleet."""

from __future__ import annotations

import logging
import math
import os
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timezone
from pathlib import Path

import anyio

from herdr.config import Config
from herdr.contract.words import EventKind
from herdr.daemon.change_notifier import ChangeNotifier
from herdr.harness.registry import Harnesses
from herdr.home import Home
from herdr.plugins import PluginHost
from herdr.repo.own import OwnRepository
from herdr.runtime.api import Runtime
from herdr.store.connection import Store, transaction
from herdr.store.rows import Project, Run, Sweep, emit, get
from herdr.times import timestamp

log = logging.getLogger("herdr.daemon")

ACTOR = "daemon"

#: What an agent works on.
Work = Run | Sweep


class Fleet:
    """One project as the daemon runs it: its configuration, its harnesses, where its agents run.

    `rotation` is what workers run on: the configured harnesses, else those found on this machine. `own` is
    herdr's own repository of the project: from there commits are read, merged and checked out.
    """

    def __init__(
        self, project: Project, config: Config, harnesses: Harnesses, runtime: Runtime, own: OwnRepository
    ) -> None:
        self.project_id = project.id
        self.name = project.name
        self.root = Path(project.path)
        self.config = config
        self.harnesses = harnesses
        self.runtime = runtime
        self.own = own
        self.rotation: tuple[str, ...] = ()

    def settings_for(self, harness: str) -> Mapping[str, object]:
        """The `[plugins.<name>]` table of the plugin that a harness came from."""
        table = self.config.plugins.get(self.harnesses.origin.get(harness, ""))
        return table if isinstance(table, Mapping) else {}


class CheckoutLooks:
    """When a project's checkout was last looked at, on the monotonic clock; one look at a time."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.began = -math.inf
        self.settings = -math.inf


class AppContext:
    """The daemon's shared state. All of it can be built again from the store and the machine."""

    def __init__(self, home: Home, store: Store, host: PluginHost, harnesses: Harnesses) -> None:
        self.home = home
        self.store = store
        self.host = host
        self.harnesses = harnesses
        self.changes = ChangeNotifier()
        self.fleets: dict[int, Fleet] = {}
        #: Which state of its piloop.toml each project was last read from.
        self.files_read: dict[int, tuple[int, int]] = {}
        #: Held while fleets are opened, so that no project is opened twice.
        self.taking_in = anyio.Lock()
        #: The looks at each project's checkout.
        self.checkout_looks: defaultdict[int, CheckoutLooks] = defaultdict(CheckoutLooks)
        #: Set when the agents are to be ended before the daemon stops.
        self.ending = False
        #: Set when the daemon was told to stop, with or without its agents.
        self.stopping = False
        #: When the scheduler has last looked at all projects, by the monotonic clock.
        self.passed_at = time.monotonic()

    def project(self, project_id: int) -> Project:
        """The project's row as it is now."""
        return get(self.store, Project, project_id)

    def transaction(self) -> AbstractContextManager[Store]:
        """A transaction on the daemon's own connection; there may be no await inside."""
        return transaction(self.store)

    def now(self) -> datetime:
        """The time, in UTC."""
        return datetime.fromtimestamp(time.time(), timezone.utc)

    def timestamp(self) -> str:
        """The time as the store writes it."""
        return timestamp(self.now())

    def emit(self, kind: EventKind, *, project_id: int | None = None, **facts: object) -> None:
        """Log an event that belongs to no row.

        Args:
            kind: which event.
            project_id: the project that it is about; None for the daemon itself.
            facts: the event's payload, as `store/events.py` lists it.
        """
        with self.transaction() as store:
            emit(store, kind, ACTOR, project_id=project_id, payload=facts)

    async def guard(self, what: str, work: Callable[[], Awaitable[None]], project_id: int | None = None) -> bool:
        """Run a piece of the daemon so that its failure ends it and nothing else; says whether it succeeded.

        Args:
            what: names the piece of work in the log and in the event of its failure.
            work: does it.
            project_id: the project that it is for; None for none in particular.
        """
        try:
            await work()
        except anyio.get_cancelled_exc_class():
            raise
        except Exception as error:
            log.exception("%s failed", what)
            self._tell(what, error, project_id)
            return False
        return True

    def _tell(self, what: str, error: Exception, project_id: int | None) -> None:
        try:
            self.emit("daemon.fault", project_id=project_id, what=what, error=f"{type(error).__name__}: {error}")
        except Exception:
            # A full disk fails the work and the telling alike; the log file has both.
            log.exception("cannot record that %s failed", what)


def base_environment() -> dict[str, str]:
    """The daemon's environment as an agent may inherit it, without what tmux or an outer agent left in it."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("HERDR_", "PILOOP_")) or k in _KEPT}


_KEPT = frozenset({"PILOOP_HOME", "HERDR_BLOCK_PLUGINS"})
