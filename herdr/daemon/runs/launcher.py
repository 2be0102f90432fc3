"""Starts an agent of a run or a sweep: the claim, the worktree, the brief, the seeds, the window."""

from __future__ import annotations

import secrets
import shlex
import threading
import uuid
from collections import defaultdict
from functools import partial
from pathlib import Path

import msgspec

from herdr.contract.facts import ClaimAnswer
from herdr.contract.harness import Cause, Harness, Launch, LaunchContext
from herdr.daemon.app_context import ACTOR, AppContext, Fleet, Work, base_environment
from herdr.daemon.runs.briefing import compose_brief
from herdr.daemon.runs.environment import agent_environment
from herdr.daemon.runs.folders import folder_of_run, folder_of_sweep
from herdr.daemon.runs.readiness import make_ready
from herdr.daemon.runs.steps import StepFailedError, in_time
from herdr.errors import HerdrError
from herdr.files import Folder
from herdr.harness.seeds import write_seeds
from herdr.home import atomic_write
from herdr.python import module_argv
from herdr.repo.furnish import furnish, make_agent_folder
from herdr.repo.run_folder import RunFolder
from herdr.runtime.api import LaunchRequest, Place
from herdr.runtime.processes import MARK, mark
from herdr.store.columns import NewMessage
from herdr.store.connection import Store
from herdr.store.facts import idea_info, project_info, run_info
from herdr.store.rows import Agent, Candidate, Comment, Idea, Message, Run, Sweep, find, get
from herdr.tokens import token_hash

#: What an agent must not inherit: it would think that it runs inside another tmux or another agent.
CLEARED = (
    "TMUX", "TMUX_PANE", "STY", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION", "CODEX_SANDBOX", "CODEX_THREAD_ID", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
    "VIRTUAL_ENV",
)  # fmt: skip

#: Held while the seeds of a start are made and written, one for each profile.
_SEEDING: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)


#: Seconds for making a folder (git's own deadline for a checkout comes first), for removing one, and for a
#: harness to say how an agent is started.
PREPARE_LIMIT, REMOVE_LIMIT, LAUNCH_LIMIT = 2400.0, 600.0, 120.0


class StartFailedError(HerdrError):
    """An agent could not be launched; `cause` says why in one word."""

    def __init__(self, message: str, cause: Cause) -> None:
        super().__init__(message)
        self.cause = cause


class RefusedByPluginError(HerdrError):
    """A plugin says that the run may not start, for example because another node holds the claim."""


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """A launched agent with what is needed to watch it."""

    agent: Agent
    harness: Harness
    context: LaunchContext
    place: Place


async def claim(app: AppContext, fleet: Fleet, run: Run) -> None:
    """Ask the plugins whether the run may start.

    Raises:
        RefusedByPluginError: one of them refuses.
        HerdrError: one of them failed; the run is tried again later.
    """
    idea = get(app.store, Idea, run.idea_id)
    answers = await app.host.call_all(
        "herdr_claim",
        project=project_info(app.project(run.project_id), fleet.config.plugins),
        idea=idea_info(idea),
        run=run_info(run),
    )
    for answer in answers:
        if answer.error is not None:
            # Another node may have claimed the idea, so the run waits until the plugin can answer.
            raise HerdrError(f"plugin {answer.plugin} cannot say whether the run may start: {answer.error}")
        if isinstance(answer.value, ClaimAnswer) and not answer.value.allowed:
            raise RefusedByPluginError(f"{answer.plugin}: {answer.value.reason}")


async def prepare_worktree(app: AppContext, fleet: Fleet, run: Run) -> list[str]:
    """Make the run's folder and furnish it, or verify the one that an earlier start left; says what it lacks.

    Args:
        app: the daemon.
        fleet: the project.
        run: the run.

    Raises:
        NotOursError: something else is in the folder's place.
        HerdrError: it cannot be made.
    """
    folder = folder_of_run(app, fleet, run)
    do = partial(_prepare, app, fleet, folder)
    lacks = await in_time(app, run, "its folder could not be made", do, PREPARE_LIMIT)
    await make_ready(app, fleet, run, folder)
    with app.transaction() as store:
        Run.update(store, run.id, worktree=str(folder.place.worktree), branch=folder.branch, actor=ACTOR)
    return lacks


async def prepare_sweep(app: AppContext, fleet: Fleet, sweep: Sweep) -> Sweep:
    """Make the sweep's folder, at the head and on no branch, anew for each start: nothing in it is kept.

    Args:
        app: the daemon.
        fleet: the project.
        sweep: the sweep.

    Raises:
        HerdrError: it cannot be made.
    """
    base = get(app.store, Candidate, app.project(sweep.project_id).head_id or sweep.base_id)
    folder = msgspec.structs.replace(folder_of_sweep(app, fleet, sweep), base=base.commit_sha)
    await in_time(app, sweep, "its folder could not be removed", folder.remove, REMOVE_LIMIT)
    do = partial(_prepare, app, fleet, folder)
    await in_time(app, sweep, "its folder could not be made", do, PREPARE_LIMIT)
    await make_ready(app, fleet, sweep, folder)
    with app.transaction() as store:
        Sweep.update(store, sweep.id, worktree=str(folder.place.worktree), base_id=base.id, actor=ACTOR)
    return get(app.store, Sweep, sweep.id)


def _prepare(app: AppContext, fleet: Fleet, folder: RunFolder) -> list[str]:
    lacks = folder.make()
    config, workspace = fleet.config, app.home.workspace(fleet.name)
    lacks += furnish(folder.place, fleet.own, link=config.linked, shared=config.shared, workspace=workspace)
    make_agent_folder(folder.place, fleet.own)
    return lacks


async def launch(app: AppContext, fleet: Fleet, work: Work) -> Launched:
    """Start one more agent of a run or a sweep whose worktree is ready.

    Raises:
        StartFailedError: it could not be started; its row says so.
    """
    token = secrets.token_hex(16)
    agent = enter_agent(app, fleet, work, token)
    try:
        harness = fleet.harnesses.get(work.harness)
        context = context_for(app, fleet, work, agent, harness)
        brief = await compose_brief(app, fleet, work, agent)
        said = partial(_write_brief, context, brief)
        await in_time(app, work, "its brief could not be written", said, LAUNCH_LIMIT)
        what = f"harness {harness.name} could not say how to start it"
        start = await in_time(app, work, what, partial(_seed, harness, context), LAUNCH_LIMIT)
        request = _request(app, work, agent, context, start, token)
        place = await fleet.runtime.launch(request)
    except Exception as error:
        known = isinstance(error.__cause__ if isinstance(error, StepFailedError) else error, HerdrError)
        cause: Cause = "config" if known else "unknown"
        raise StartFailedError(f"{error}" or type(error).__name__, cause) from error
    with app.transaction() as store:
        Agent.update(store, agent.id, session=place.session, window=place.window, pane=place.pane, actor=ACTOR)
        type(work).update(store, work.id, brief=brief, actor=ACTOR)
        _enter_brief(store, agent, context.prompt, in_argv=start.prompt_in_argv, stamp=app.timestamp())
    return Launched(agent=get(app.store, Agent, agent.id), harness=harness, context=context, place=place)


def _seed(harness: Harness, context: LaunchContext) -> Launch:
    """Ask the harness how to start, and write what it wants to find at its start."""
    # Two that start at once add to one file of their profile: the last would take the other's trust away.
    with _SEEDING[context.profile_dir]:
        start = harness.launch(context)
        _check_told(harness, context, start)
        write_seeds(start.seeds)
    return start


def _write_brief(context: LaunchContext, brief: str) -> None:
    """Write the brief, through no link: an agent may have put one in the place of any part of its path."""
    with Folder.open(context.cwd) as worktree, worktree.inner(context.brief.parent.name) as folder:
        folder.replace(context.brief.name, brief.encode("utf-8", "replace"))


def _check_told(harness: Harness, context: LaunchContext, start: Launch) -> None:
    """Refuse a headless launch without the prompt in its argv: there is no terminal to type it into later."""
    if context.mode == "headless" and not start.prompt_in_argv:
        raise HerdrError(
            f'harness {harness.name} takes its prompt only by typing, which runtime = "subprocess" cannot do',
            fix=f'name {{prompt}} or {{brief}} in [harness.{harness.name}] headless, or set runtime = "herdr"',
        )


def context_for(app: AppContext, fleet: Fleet, work: Work, agent: Agent, harness: Harness) -> LaunchContext:
    """What a harness needs to know of an agent: the same at its launch and when it is found again.

    Args:
        app: the daemon.
        fleet: the project.
        work: the run or the sweep, with its worktree.
        agent: its row.
        harness: the harness that it runs on.
    """
    folder = folder_of_run(app, fleet, work) if isinstance(work, Run) else folder_of_sweep(app, fleet, work)
    worktree, place = Path(work.worktree or fleet.root), folder.place
    brief = worktree / ".herdr" / "brief.md"
    return LaunchContext(
        agent=agent.name,
        role=agent.role,
        cwd=worktree,
        repo_root=fleet.root,
        state_dir=app.home.agent_dir(agent.id),
        profile_dir=app.home.profile_dir(fleet.name, harness.name),
        brief=brief,
        prompt=f"Read the whole of {brief} first: it is your brief. Then do what it says.",
        model=agent.model,
        session_id=agent.session_id,
        mode=fleet.runtime.mode,
        environ=agent_environment(base_environment(), fleet.root, worktree),
        settings=fleet.settings_for(harness.name),
        evaluate=fleet.config.evaluate,
        git_dir=place.repository,
        git_admin=place.admin,
    )


def enter_agent(app: AppContext, fleet: Fleet, work: Work, token: str) -> Agent:
    """Enter the row of an agent that is about to be launched; its work is running from now on.

    Args:
        app: the daemon.
        fleet: the project.
        work: the run or the sweep.
        token: what the agent will show in its requests; only its hash is stored.
    """
    with app.transaction() as store:
        agent_id = Agent.insert(
            store,
            project_id=work.project_id,
            run_id=work.id if isinstance(work, Run) else None,
            sweep_id=work.id if isinstance(work, Sweep) else None,
            role=work.role if isinstance(work, Sweep) else "worker",
            harness=work.harness,
            model=work.model,
            runtime=fleet.config.runtime,
            session_id=str(uuid.uuid4()),
            token_hash=token_hash(token),
            briefed_to=_last_comment(store),
            launched_at=app.timestamp(),
            actor=ACTOR,
        )
        started = work.started_at or app.timestamp()
        type(work).update(store, work.id, state="running", started_at=started, actor=ACTOR)
        return get(store, Agent, agent_id)


def _last_comment(store: Store) -> int:
    last = find(store, Comment, "ORDER BY id DESC")
    return last.id if last else 0


def _enter_brief(store: Store, agent: Agent, prompt: str, *, in_argv: bool, stamp: str) -> None:
    """The first prompt is a message like any other; one in argv has arrived with the launch."""
    values: NewMessage = {"agent_id": agent.id, "kind": "brief", "body": prompt}
    if in_argv:
        values |= {"state": "received", "detail": "as an argument", "typed_at": stamp, "received_at": stamp}
    Message.insert(store, **values, actor=ACTOR)


def _request(
    app: AppContext, work: Work, agent: Agent, context: LaunchContext, start: Launch, token: str
) -> LaunchRequest:
    mailbox = context.cwd / ".herdr" / "mailbox"
    env = {
        **context.environ,
        **start.env,
        MARK: mark(app.home, agent.id),
        "PILOOP_ACTOR": agent.name,
        "HERDR_MAILBOX": str(mailbox),
        "HERDR_TOKEN": token,
        "PATH": f"{app.home.bin}:{start.env.get('PATH', context.environ.get('PATH', '/usr/bin:/bin'))}",
    }
    return LaunchRequest(
        agent_id=agent.id,
        name=f"{agent.role}-{agent.id}",
        title=f"{agent.name} {_about(app.store, work)}",
        cwd=context.cwd,
        argv=start.argv,
        env=env,
        clear=(*CLEARED, *start.clear),
        state_dir=context.state_dir,
    )


def _about(store: Store, work: Work) -> str:
    if isinstance(work, Sweep):
        return f"{work.trigger.replace('_', ' ')} sweep#{work.id}"
    idea = get(store, Idea, work.idea_id)
    return f"idea#{idea.id} {idea.title}"


def write_shim(folder: Path) -> None:
    """Put a `piloop` first on every agent's PATH that is this very installation, whatever the repo brings."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    script = f'#!/bin/sh\nexec {shlex.join(module_argv("herdr.cli"))} "$@"\n'
    atomic_write(folder / "piloop", script, 0o700)
