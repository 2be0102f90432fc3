"""Watches one live agent from its first process to its last: ready, briefed, steered, warned, ended."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec

from herdr.campaign.supervision import at_rest, is_to_be_warned, last_call, stuck, time_is_up, warning_at
from herdr.contract.harness import AgentState, Cause
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.daemon.io.delivery import deliver_next, has_waiting
from herdr.daemon.runs.launcher import Launched
from herdr.daemon.runs.taking_over import take_over_at_work
from herdr.harness.screen import ScreenReading, read_output, read_screen
from herdr.mux.screen import Screen
from herdr.runtime.api import AgentProcess, Exit, Process
from herdr.runtime.ending import end_agent, end_tree_in_thread, wait_end
from herdr.runtime.launchfile import read_exit, read_process
from herdr.runtime.loss import lost_how
from herdr.runtime.processes import alive, belongs, mark, snapshot
from herdr.store.rows import Agent, Message, find, get
from herdr.times import parse_timestamp

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from herdr.store.columns import AgentChanges

#: Seconds until a launched wrapper must have recorded its process.
PROCESS_TIMEOUT = 30.0
#: Seconds between looks at an agent that nothing is heard of, and while something is expected of it.
QUIET, SECOND, EAGER = 15.0, 1.0, 0.25
#: Seconds that a watch has to end by itself.
INSIST = 10.0
#: Seconds an agent has to end by itself once it is told to.
GRACE = 5.0


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent ended. `exit` is how it ended by itself; the flags say what herdr did, or what happened to it.

    `cause` is why herdr gave it up; `hint` is what the last screen of one that ended by itself says.
    """

    exit: Exit | None = None
    launched: bool = True
    timed_out: bool = False
    cancelled: bool = False
    stopped: bool = False
    lost: bool = False
    blocked: bool = False
    cause: Cause | None = None
    hint: Cause | None = None
    detail: str = ""


class Supervisor:
    """Watches one agent. After a restart, all that it knows is found again in the row, in files and in tmux."""

    def __init__(self, app: AppContext, fleet: Fleet, launched: Launched) -> None:
        self._app = app
        self._fleet = fleet
        self._agent = launched.agent
        self._run_id = launched.agent.run_id
        self._harness = launched.harness
        self._context = launched.context
        self._place = launched.place
        self._headless = fleet.runtime.mode == "headless"
        self._mark = mark(app.home, launched.agent.id)
        self._processes: AgentProcess | None = None
        self._at_ready: frozenset[Process] = frozenset()
        self._reading = ScreenReading(state=launched.agent.state)
        self._screen: Screen | None = None
        self._since = app.now()
        self._worked = False
        self._over = anyio.Event()
        self._seen_alive = False
        self._insisted: Ending | None = None

    async def watch(self) -> Ending:
        """Watch until the agent has ended, by itself or by us; its processes are gone then."""
        ending = await self._started() or await self._run()
        await self._end_processes()
        return ending

    async def _run(self) -> Ending:
        assert self._processes is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._await_end, self._processes.wrapper)
            if self._run_id is not None:
                tasks.start_soon(take_over_at_work, self._app, self._fleet, self._run_id, self._over)
            tasks.start_soon(self._insist, tasks.cancel_scope)
            ending = await self._ready() or await self._attend()
            tasks.cancel_scope.cancel()
        return self._insisted or ending

    async def _insist(self, watch: anyio.CancelScope) -> None:
        """End the watch when it should have ended by itself: a look at the agent, or a text to it, may hang."""
        while not (self._over.is_set() or self._told_to_stop()):
            await anyio.sleep(SECOND)
        await anyio.sleep(INSIST)
        self._insisted = self._told_to_stop() or await self._exited(look=False)
        watch.cancel()

    # --- from the launch to ready ---------------------------------------------------------------------------

    async def _started(self) -> Ending | None:
        """Wait until the wrapper has recorded the harness's process."""
        folder = self._context.state_dir
        with anyio.move_on_after(PROCESS_TIMEOUT):
            while True:
                self._processes = read_process(folder)
                if self._processes is not None:
                    self._seen_alive = alive(self._processes.wrapper)
                    self._note_start(self._processes.child.pid)
                    return None
                left = read_exit(folder)
                if left is not None:
                    return _never_ran(left)
                if not await self._fleet.runtime.exists(self._place):
                    return Ending(lost=True, detail="its window or its wrapper is gone")
                await anyio.sleep(0.02)
        return Ending(launched=False, cause="unknown", detail="its wrapper recorded no process")

    def _note_start(self, pid: int) -> None:
        if self._agent.started_at is None:
            self._update(pid=pid, started_at=self._app.timestamp())

    async def _ready(self) -> Ending | None:
        """Wait until the screen shows that the harness takes input, or works; None then."""
        rules = self._harness.screen
        if self._headless or self._agent.ready_at is not None or not _readable(rules.ready, rules.composer):
            self._become_ready()
            return None
        limit = parse_timestamp(self._agent.started_at or "") + timedelta(seconds=self._harness.ready_timeout)
        while not self._over.is_set():
            stop = self._told_to_stop()
            if stop is not None:
                return stop
            await self._look()
            if self._reading.state in ("idle", "busy"):
                await self._note_processes()
                self._become_ready()
                return None
            if self._app.now() >= limit:
                return self._not_ready()
            await self._wait(EAGER)
        return await self._exited()

    def _not_ready(self) -> Ending:
        reading = self._reading
        shown = reading.evidence or "a screen that no rule of the harness knows"
        detail = f"not ready after {self._harness.ready_timeout:g} s: {shown}"
        return Ending(launched=False, cause=reading.cause or "unknown", detail=detail)

    def _become_ready(self) -> None:
        if self._agent.ready_at is None:
            self._update(ready_at=self._app.timestamp())

    # --- at work ----------------------------------------------------------------------------------------------

    async def _attend(self) -> Ending:
        """Look at the agent, deliver messages and warn it, again and again until it ends."""
        while not self._over.is_set():
            stop = self._told_to_stop() or self._out_of_time()
            if stop is not None:
                return stop
            await self._look()
            delivered = await deliver_next(
                self._app, self._fleet, self._agent, self._harness, self._context, self._place
            )
            stop = self._stuck() or await self._done()
            if stop is not None:
                return stop
            if not delivered:
                await self._wait(self._patience())
        return await self._exited()

    async def _look(self) -> None:
        """Read the pane if it changed, and note the state that it shows."""
        if self._screen is not None and not self._fleet.runtime.changed(self._place):
            return
        screen = await self._fleet.runtime.screen(self._place)
        if screen is None:
            return
        rules = self._harness.screen
        reading = (
            read_output(rules, screen.text) if self._headless else read_screen(rules, screen.text, screen.title)
        )
        if self._screen is None or screen.text != self._screen.text or reading.state != self._reading.state:
            self._since = self._app.now()
        self._screen, self._reading = screen, reading
        self._worked = self._worked or reading.state == "busy"
        state = self._shown_state(reading.state)
        if (state, reading.cause) != (self._agent.state, self._agent.cause):
            self._update(state=state, cause=reading.cause, cause_detail=reading.evidence or None)

    def _shown_state(self, state: AgentState) -> AgentState:
        rules = self._harness.screen
        if state == "unknown" and not _readable(rules.ready, rules.busy, rules.composer):
            # A program that ends by itself, and whose screen no rule can read, counts as busy until it has ended.
            return "unknown" if self._harness.ends_when_idle else "busy"
        return "unknown" if state == "ended" else state

    def _told_to_stop(self) -> Ending | None:
        if self._app.ending:
            return Ending(lost=True, detail="the daemon was told to end its agents")
        # Asked at every look, so only for this: the row holds the whole brief.
        table, number = ("sweeps", self._agent.sweep_id) if self._agent.sweep_id else ("runs", self._agent.run_id)
        sql = f"SELECT cancel_requested FROM {table} WHERE id = ?"  # noqa: S608 - one of two names
        (cancelled,) = self._app.store.execute(sql, (number,)).fetchone()
        return Ending(cancelled=True, detail="cancelled") if cancelled else None

    def _out_of_time(self) -> Ending | None:
        stop = self._last_call()
        if stop is not None and stop <= self._app.now():
            return Ending(stopped=True, detail="the campaign stopped, and its time to wrap up is over")
        left, timeout = self._left()
        if time_is_up(left):
            return Ending(timed_out=True, detail=f"ran longer than {timeout:g} s")
        warned = self._agent.warned_at is not None
        if not self._headless and is_to_be_warned(left, timeout, warned=warned):
            self._warn(left)
        return None

    def _left(self) -> tuple[float, float]:
        """Seconds that the agent may still run, and of how many."""
        timeout = self._fleet.config.role(self._agent.role).timeout
        ran = self._app.now() - parse_timestamp(self._agent.started_at or "")
        return timeout - ran.total_seconds(), timeout

    def _last_call(self) -> datetime | None:
        """When an agent that was at work as the campaign stopped is ended."""
        project = self._app.project(self._agent.project_id)
        stopped = project.stopped_at if project.state == "stopped" else None
        end = last_call(
            parse_timestamp(stopped).timestamp() if stopped is not None else None,
            parse_timestamp(self._agent.launched_at).timestamp(),
        )
        return datetime.fromtimestamp(end, timezone.utc) if end is not None else None

    def _warn(self, left: float) -> None:
        body = f"[piloop] {left:.0f} seconds are left. Commit what you have now, and leave your finding."
        self._update(warned_at=self._app.timestamp())
        with self._app.transaction() as store:
            Message.insert(store, agent_id=self._agent.id, kind="warning", body=body, actor=ACTOR)

    def _stuck(self) -> Ending | None:
        """A dialog that nobody answers, or a failed turn that nothing follows."""
        why = stuck(self._reading.state, self._still())
        if why is None:
            return None
        cause, detail = self._reading.cause or "unknown", self._reading.evidence
        return Ending(blocked=why == "blocked", cause=cause, detail=detail)

    async def _done(self) -> Ending | None:
        """Whether an agent that goes on waiting for input has done its work."""
        if not self._harness.ends_when_idle or not at_rest(
            self._reading.state,
            self._still(),
            worked=self._worked,
            briefed=self._briefed(),
            waiting=has_waiting(self._app.store, self._agent.id),
        ):
            return None
        alive = await anyio.to_thread.run_sync(self._own_processes)
        return Ending(detail="idle, with nothing running") if alive <= self._at_ready else None

    def _still(self) -> float:
        """For how many seconds the screen has shown what it shows."""
        return (self._app.now() - self._since).total_seconds()

    def _briefed(self) -> bool:
        brief = find(self._app.store, Message, "WHERE agent_id = ? AND kind = 'brief'", self._agent.id)
        return brief is not None and brief.state in ("received", "unconfirmed")

    # --- the end ----------------------------------------------------------------------------------------------

    async def _await_end(self, wrapper: Process) -> None:
        await wait_end(wrapper)
        self._over.set()
        self._app.changes.notify()

    async def _exited(self, *, look: bool = True) -> Ending:
        left = read_exit(self._context.state_dir)
        if left is None:
            seen_alive = self._headless and self._seen_alive
            how = await lost_how(self._context.state_dir, seen_alive=seen_alive)
            if how == "wrapper_killed":
                return Ending(lost=True, cause="killed", detail="its wrapper was killed")
        if left is None or (left.signal is not None and not await self._fleet.runtime.exists(self._place)):
            return Ending(lost=True, detail="its wrapper was killed, or tmux or its machine went away")
        if left.error is not None:
            return _never_ran(left)
        if look:
            await self._look()
        reading = self._reading
        # "Pane is dead", which tmux writes below the last screen, tells less than the exit record.
        tells = reading.cause is not None and reading.state != "ended"
        return Ending(exit=left, hint=reading.cause, detail=reading.evidence if tells else "")

    async def _end_processes(self) -> None:
        with anyio.CancelScope(shield=True):
            if self._processes is None:
                await end_tree_in_thread(self._mark, grace=GRACE)
            else:
                await end_agent(self._mark, self._context.state_dir, grace=GRACE)

    # --- small things -------------------------------------------------------------------------------------------

    def _own_processes(self) -> frozenset[Process]:
        roots = (self._processes.child,) if self._processes is not None else ()
        return frozenset(belongs(snapshot(), self._mark, roots))

    async def _note_processes(self) -> None:
        self._at_ready = await anyio.to_thread.run_sync(self._own_processes)

    async def _wait(self, seconds: float) -> None:
        await self._app.changes.wait(min(seconds, self._next_deadline()))

    def _patience(self) -> float:
        if has_waiting(self._app.store, self._agent.id):
            return EAGER
        # What was printed within the second of the last look is not announced again; and nothing announces that
        # a screen has stood still for long enough.
        resting = self._harness.ends_when_idle and self._reading.state in ("idle", "failed_turn")
        return SECOND if resting or self._fleet.runtime.changed(self._place) else QUIET

    def _next_deadline(self) -> float:
        left, timeout = self._left()
        moments = [left, left - warning_at(timeout)]
        if (stop := self._last_call()) is not None:
            moments.append((stop - self._app.now()).total_seconds())
        ahead = [seconds for seconds in moments if seconds > 0]
        return max(min(ahead, default=EAGER), 0.01)

    def _update(self, **values: Unpack[AgentChanges]) -> None:
        with self._app.transaction() as store:
            Agent.update(store, self._agent.id, **values, actor=ACTOR)
            self._agent = get(store, Agent, self._agent.id)


def _readable(*rules: str | None) -> bool:
    return any(rule is not None for rule in rules)


def _never_ran(left: Exit) -> Ending:
    causes: dict[str, Cause] = {
        "not_found": "not_found",
        "permission": "permission",
        "exec": "config",
        "cwd": "folder",
    }
    cause = causes.get(left.error or "", "unknown")
    return Ending(
        launched=False, exit=left, cause=cause, detail=f"could not be started: {left.error or 'unknown'}"
    )
