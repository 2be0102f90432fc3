"""`piloop.toml` as frozen structs: every key, its type, range and default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from herdr.config import checks
from herdr.config.protect import default_patterns
from herdr.contract.harness import Cause
from herdr.contract.words import Direction, MetricRole, ResearchTrigger, RuntimeName, WatchdogTrigger
from herdr.errors import UsageError

Seconds = Annotated[float, Meta(gt=0)]
Interval = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]
CountOrZero = Annotated[int, Meta(ge=0)]
Dollars = Annotated[float, Meta(gt=0)]
Word = Annotated[str, Meta(extra={"check": checks.text})]
Argv = Annotated[tuple[Word, ...], Meta(extra={"check": checks.argv})]
HeadlessArgv = Annotated[tuple[Word, ...], Meta(extra={"check": checks.headless_argv})]
Name = Annotated[str, Meta(min_length=1, extra={"check": checks.text})]
ProjectName = Annotated[str, Meta(extra={"check": checks.project_name})]
MetricName = Annotated[str, Meta(extra={"check": checks.metric_name})]
SocketName = Annotated[str, Meta(extra={"check": checks.socket_name})]
Pattern = Annotated[str, Meta(extra={"check": checks.pattern})]
RepoPath = Annotated[str, Meta(extra={"check": checks.relative_path})]
Regex = Annotated[str, Meta(extra={"check": checks.regex})]
ComposerRegex = Annotated[str, Meta(extra={"check": checks.composer})]
ReceivedRegex = Annotated[str, Meta(extra={"check": checks.received})]
CausedRegex = tuple[Regex, Cause]
#: Name -> `"pattern"`, whose cause is the name where it is one; or `["pattern", "cause"]`, as in a `screen.toml`.
RegexTable = dict[str, Regex | CausedRegex]
Variable = Annotated[str, Meta(extra={"check": checks.variable})]
Environment = Annotated[dict[str, Word], Meta(extra={"check": checks.variables})]
Names = Annotated[tuple[Name, ...], Meta(min_length=1)]
Dialog = tuple[Name, tuple[Name, ...]]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A number that the evaluator prints. `margin` and `floor` are in the metric's own unit."""

    name: MetricName
    direction: Direction
    role: Annotated[MetricRole, Meta(extra={"words": get_args(MetricRole)})] = "watch"
    track: Name | None = None
    margin: Annotated[float, Meta(ge=0)] | None = None
    floor: float | None = None


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """One of several primary metrics, with its share of the worker slots."""

    share: Annotated[float, Meta(ge=0, le=1)] = 1.0
    addendum: RepoPath | None = None


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """What every role has. `timeout` is in seconds, from launch to kill; `addendum` joins the role's brief.

    From `Config.role`, `harnesses` and `model` are those of the project where the role has none of its own;
    `harnesses` is still None where neither says: then the built-in ones found on the machine.
    """

    harnesses: Names | None = None
    model: dict[str, Name] = {}
    timeout: Seconds = 1800.0
    max_concurrent: Count = 1
    addendum: RepoPath | None = None
    mcp: tuple[Name, ...] = ()


class WorkerRole(Role, frozen=True, kw_only=True):
    """Tries ideas. `explore_every`: at least 1 run in so many starts from a pinned base; 0 is off."""

    max_concurrent: Count = 4
    explore_every: CountOrZero = 4


class WatchdogRole(Role, frozen=True, kw_only=True):
    """Looks into what went wrong. `interval`: seconds between reviews; 0 is off. `triggers`: what starts one."""

    timeout: Seconds = 600.0
    interval: Interval = 1800.0
    triggers: tuple[WatchdogTrigger, ...] = get_args(WatchdogTrigger)


class Scout(msgspec.Struct, frozen=True, kw_only=True):
    """A research sweep outside the repo, every `interval` seconds, for at most `seeds` seeds."""

    interval: Seconds
    seeds: Count = 3


class ResearchRole(Role, frozen=True, kw_only=True):
    """Develops seeds. `buffer`: ready ideas beyond one for each worker slot. `triggers`: what starts a sweep."""

    timeout: Seconds = 900.0
    triggers: tuple[ResearchTrigger, ...] = get_args(ResearchTrigger)
    max_ideas: CountOrZero = 1
    context: tuple[RepoPath, ...] = ()
    buffer: CountOrZero = 2
    scout: Scout | None = None


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """The roles that the daemon launches agents for."""

    worker: WorkerRole = WorkerRole()
    watchdog: WatchdogRole = WatchdogRole()
    research: ResearchRole = ResearchRole()


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """When a campaign ends by itself: the first of these that is reached."""

    target: float | None = None
    max_runs: Count | None = None
    max_hours: Annotated[float, Meta(gt=0)] | None = None
    max_tokens: Count | None = None
    plateau: Count | None = None


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """A command that prints what was spent so far in US dollars, run every `interval` seconds."""

    command: Argv
    limit: Dollars
    notices: tuple[Dollars, ...] = ()
    interval: Seconds = 300.0


class HarnessKeys(msgspec.Struct, frozen=True, kw_only=True):
    """`[harness.<name>]`: defines a harness without Python, or overrides keys of one that exists.

    A key that is left out is as the harness has it. The regular expressions read the bottom lines of the pane's
    screen. A table of them holds `name = "pattern"`, whose cause is the name where that is a cause, else
    `unknown`; or `name = ["pattern", "cause"]`. It is added to that of the harness, name by name.
    """

    executable: Word | None = None
    """The program, by name or path; it stands before the words of `interactive` and `headless`."""
    interactive: Argv | None = None
    """The command in a tmux window; it may hold {brief} {prompt} {model} {cwd} {session_id} {log_dir}."""
    headless: HeadlessArgv | None = None
    """The command of a background process, with {prompt} or {brief} among its words; it ends by itself."""
    env: Environment = {}
    """Variables added to the agent's environment; their values may hold what `interactive` may hold."""
    ready_timeout: Seconds | None = None
    """Seconds from launch until an agent that is not ready counts as a failed start."""
    ready: Regex | None = None
    """Matches a screen that waits for input; without it, one whose composer is seen."""
    busy: Regex | None = None
    """Matches a screen of an agent at work."""
    composer: ComposerRegex | None = None
    """Matches the input line; its group `text`, or its only group, is what stands there."""
    placeholder: Regex | None = None
    """Matches what the input line shows in place of a long paste."""
    hint: Regex | None = None
    """Matches the whole of an input line's text that is only a suggestion, so an empty line."""
    block: Regex | None = None
    """Matches the start of each prompt, answer and result: what stands above the last one is history."""
    dialogs: RegexTable = {}
    """Dialogs that block the agent until a person answers them."""
    failures: RegexTable = {}
    """What a turn that failed leaves on the screen."""
    retries: RegexTable = {}
    """What is shown by an agent that tries again by itself: busy, and not well."""
    notices: RegexTable = {}
    """What an idle agent complains of, such as that nobody is logged in."""
    exits: RegexTable = {}
    """What the program leaves on the screen when it has to end."""
    output: RegexTable = {}
    """What a headless program prints when something is wrong; of all these rules it has only this one."""
    ended: Regex | None = None
    """Matches what the program leaves on the screen when a person ended it."""
    title_busy: Regex | None = None
    """Matches the pane's title while the agent works."""
    title_dialog: Regex | None = None
    """Matches the pane's title while the agent asks for a permission."""
    lines: Count | None = None
    """How many of the bottom lines that are not blank the rules look at."""
    accepts: bool | None = None
    """Whether text may be typed into it; a program of your own accepts it if it has `received` or `composer`."""
    while_busy: bool | None = None
    """Whether text may be typed while it works, since it queues it by itself."""
    settle: Interval | None = None
    """Seconds for which the input line has to stay the same between a text and its Enter."""
    newline: Literal["keep", "space"] | None = None
    """What a line break in a text becomes."""
    disarm: Word | None = None
    """Leading characters that the agent would act on; a space is typed before them."""
    disarm_at: bool | None = None
    """Whether `@path` in a text makes the agent read a file, so that a space is typed after the @."""
    received: ReceivedRegex | None = None
    """Matches the screen once a text was taken; {text} in it stands for the text."""
    startup_dialogs: tuple[Dialog, ...] = ()
    """No effect yet: dialogs at the start, each with the keys that answer it."""
    entire_agent: Name | None = None
    """No effect yet: the agent's name in a tool that captures sessions."""
    session_id_pattern: Regex | None = None
    """No effect yet: finds the session's id in what a headless agent prints."""
    usage: dict[str, Any] | None = None
    """No effect yet: where the agent writes its tokens."""
    mcp: Name | None = None
    """No effect yet: how the agent is told of tool servers."""


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """A tool server for agents: a URL or a command. Only names of environment variables, never values."""

    url: Name | None = None
    headers_env: dict[str, Variable] = {}
    bearer_token_env: Variable | None = None
    command: Argv | Name | None = None
    env: tuple[Variable, ...] = ()


class Tmux(msgspec.Struct, frozen=True, kw_only=True):
    """The tmux server of the fleet: windows of `width` x `height` characters, `history` lines each."""

    socket: SocketName | None = None
    width: Annotated[int, Meta(ge=40, le=10_000)] = 200
    height: Annotated[int, Meta(ge=10, le=10_000)] = 50
    history: Annotated[int, Meta(ge=0, le=10_000_000)] = 50_000


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """A project's configuration: all keys of its `piloop.toml`. Times are in seconds.

    `harnesses` None: the built-in ones found on this machine. `protect` None: see `protected_patterns`.
    `evaluate_env` names variables that the evaluator may see; `attempts` is of one idea.
    `plugins` holds `block` and each plugin's own table.
    """

    name: ProjectName
    evaluate: Argv
    metrics: Annotated[tuple[Metric, ...], Meta(min_length=1)]
    evaluate_timeout: Seconds = 600.0
    evaluate_env: tuple[Variable, ...] = ()
    max_evaluations: Count = 1
    protect: tuple[Pattern, ...] | None = None
    attempts: Count = 2
    runtime: RuntimeName = "subprocess"
    harnesses: Names | None = None
    model: dict[str, Name] = {}
    max_concurrent: dict[str, Count] = {}
    link: tuple[RepoPath, ...] = ()
    confidence: Annotated[float, Meta(gt=0.5, lt=1)] = 0.95
    tracks: dict[str, Track] = {}
    roles: Roles = Roles()
    stop: Stop = Stop()
    spend: Spend | None = None
    harness: dict[str, HarnessKeys] = {}
    mcp: dict[str, McpServer] = {}
    plugins: dict[str, Any] = {}
    tmux: Tmux = Tmux()

    @property
    def primary(self) -> Metric:
        """The metric that has to beat the bar; the first one where tracks have one each."""
        return next(metric for metric in self.metrics if metric.role == "primary")

    @property
    def guardrails(self) -> tuple[Metric, ...]:
        """The metrics that may not get worse than their margin and floor."""
        return tuple(metric for metric in self.metrics if metric.role == "guardrail")

    @property
    def blocked_plugins(self) -> tuple[str, ...]:
        """The plugins that `[plugins] block` turns off."""
        return tuple(self.plugins.get("block", ()))

    def role(self, name: str) -> Role:
        """A role with the project's harnesses and models where it names none of its own.

        Args:
            name: `worker`, `watchdog` or `research`.

        Raises:
            UsageError: there is no such role.
        """
        own: Role | None = getattr(self.roles, name, None)
        if own is None:
            raise UsageError(
                f"no role is called {name!r}", fix=f"use one of {', '.join(Roles.__struct_fields__)}"
            )
        harnesses = own.harnesses or self.harnesses
        return msgspec.structs.replace(own, harnesses=harnesses, model={**self.model, **own.model})

    def model_for(self, role: str, harness: str) -> str | None:
        """The model that an agent of this role is launched with; None: the harness's own default."""
        return self.role(role).model.get(harness)

    def protected_patterns(self, root: Path) -> tuple[str, ...]:
        """What a candidate may not change, as gitignore patterns: `protect`, else what `evaluate` runs.

        Args:
            root: the repo, where words of `evaluate` are looked up as files.
        """
        if self.protect is not None:
            return self.protect
        return default_patterns(root, self.evaluate, self.link)

    def to_json(self) -> bytes:
        """What the daemon stores."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, stored: bytes | str) -> Config:
        """The inverse of `to_json`; keys that a newer herdr stored are ignored."""
        return msgspec.json.decode(stored, type=cls)
