"""The daemon's process: the lock, the log, what the last one left, and the tasks of one anyio loop."""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import signal
import sys
import threading
import time
from functools import partial

import anyio
import anyio.abc
import anyio.to_thread

from herdr import __version__
from herdr.daemon.app_context import ACTOR, AppContext, log
from herdr.daemon.change_watcher import ChangeWatcher
from herdr.daemon.fleets import take_in
from herdr.daemon.io.collecting import Collecting
from herdr.daemon.io.mailbox import Mailboxes
from herdr.daemon.io.outbox import Outbox
from herdr.daemon.io.steering import Steering
from herdr.daemon.lock import KEEP_AGENTS, KILL_AGENTS, beat, daemon_lock
from herdr.daemon.runs.launcher import write_shim
from herdr.daemon.scheduling.scheduler import Scheduler
from herdr.daemon.scheduling.spending import Spending
from herdr.daemon.scoring.lanes import Lanes
from herdr.daemon.scoring.rejudging import Rejudging
from herdr.errors import HerdrError
from herdr.harness.registry import Harnesses
from herdr.home import Home
from herdr.plugins import PluginHost
from herdr.store.connection import Store, open_store
from herdr.store.queries import count_live_agents

#: Seconds that agents have to end when the daemon was told to end them.
END_LIMIT = 30.0
#: Seconds between signs of life, and since the scheduler's last pass after which there are none.
BEAT, BEAT_LIMIT = 10.0, 60.0
#: Seconds from being told to stop, in which way, until the process leaves whatever it still waits for.
LEAVE_AFTER = {KEEP_AGENTS: 15.0, KILL_AGENTS: END_LIMIT + 15.0, signal.SIGINT: 15.0}


def main() -> int:
    """Run the daemon of this environment's home until it is told to stop; the process's exit status."""
    home = Home.from_environ(os.environ)
    try:
        home.ensure()
        with daemon_lock(home):
            _log_to(home)
            anyio.run(serve, home)
    except HerdrError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.fix:
            print(f"fix: {error.fix}", file=sys.stderr)
        return error.exit_code
    return 0


async def serve(home: Home) -> None:
    """Open the store, take up what an earlier daemon left, and run until a signal says to stop."""
    store = open_store(home.database, mode="daemon", actor=ACTOR)
    try:
        host = PluginHost(environ=os.environ)
        app = AppContext(home, store, host, gather_harnesses(host))
        write_shim(home.bin)
        give_back(store)
        await _run(app)
        app.emit("daemon.stopped", pid=os.getpid())
    finally:
        store.close()


async def _run(app: AppContext) -> None:
    """Run every part side by side until a signal says to stop, then let go of tmux."""
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_signals, app, tasks)
            # Who reads this may send a signal at once.
            app.emit("daemon.started", pid=os.getpid(), version=__version__)
            for part in (
                ChangeWatcher(app).run,
                Scheduler(app, tasks).run,
                Lanes(app, tasks).run,
                Steering(app).run,
                Spending(app).run,
                Rejudging(app).run,
                Mailboxes(app, tasks).run,
                Collecting(app).run,
                Outbox(app.store, app.host, app.changes).run,
                partial(_beat, app),
            ):
                tasks.start_soon(part)
            await take_in(app)
    finally:
        with anyio.CancelScope(shield=True):
            for fleet in app.fleets.values():
                await fleet.runtime.aclose()


def gather_harnesses(host: PluginHost) -> Harnesses:
    """The harnesses that all plugins register."""
    harnesses = Harnesses()
    host.setup("herdr_register_harnesses", harnesses.registrar)
    return harnesses


def give_back(store: Store) -> None:
    """Queue again the scorings that a killed daemon left in the middle."""
    store.execute(
        "UPDATE measurements SET state = 'queued', started_at = NULL, actor = ? WHERE state = 'running'", (ACTOR,)
    )


async def _beat(app: AppContext) -> None:
    """Show that the daemon works: its loop turns, threads can be had, and the scheduler makes its passes."""
    while True:
        if time.monotonic() - app.passed_at < BEAT_LIMIT:
            await anyio.to_thread.run_sync(beat, app.home)
        await anyio.sleep(BEAT)


async def _signals(
    app: AppContext, tasks: anyio.abc.TaskGroup, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(*LEAVE_AFTER) as received:
        leave_in_time()
        task_status.started()
        async for number in received:
            log.info("stopping: %s", signal.Signals(number).name)
            app.stopping = True
            if number == KILL_AGENTS:
                app.ending = True
                app.changes.notify()
                with anyio.move_on_after(END_LIMIT):
                    while count_live_agents(app.store):
                        await app.changes.wait(0.2)
            tasks.cancel_scope.cancel()
            return


def leave_in_time() -> None:
    """See to it that the process ends some seconds after it is told to, whatever it still waits for.

    All that it knows is in the store, so the next daemon goes on as after a `kill -9`.
    """

    def told(number: int, _: object) -> None:
        timer = threading.Timer(LEAVE_AFTER[signal.Signals(number)], leave)
        timer.daemon = True
        timer.start()

    def leave() -> None:
        log.error("something did not end in time; what each thread does stands here")
        with contextlib.suppress(OSError, ValueError):
            faulthandler.dump_traceback(logging.getLogger().handlers[0].stream)  # type: ignore[attr-defined]
        os._exit(0)

    for number in LEAVE_AFTER:
        # The loop learns of signals by a file descriptor, so it still gets them.
        signal.signal(number, told)


def _log_to(home: Home) -> None:
    logging.basicConfig(
        filename=home.log,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
