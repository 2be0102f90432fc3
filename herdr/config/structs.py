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

# `unit` and each field's docstring are for `docs/configuration.md`, which `make docs` writes.
Seconds = Annotated[float, Meta(gt=0, extra={"unit": "seconds"})]
Interval = Annotated[float, Meta(ge=0, extra={"unit": "seconds"})]
Hours = Annotated[float, Meta(gt=0, extra={"unit": "hours"})]
Count = Annotated[int, Meta(ge=1)]
Agents = Annotated[int, Meta(ge=1, extra={"unit": "agents"})]
Runs = Annotated[int, Meta(ge=1, extra={"unit": "runs"})]
RunsOrZero = Annotated[int, Meta(ge=0, extra={"unit": "runs"})]
Tokens = Annotated[int, Meta(ge=1, extra={"unit": "tokens"})]
Ideas = Annotated[int, Meta(ge=0, extra={"unit": "ideas"})]
Seeds = Annotated[int, Meta(ge=1, extra={"unit": "seeds"})]
Dollars = Annotated[float, Meta(gt=0, extra={"unit": "US dollars"})]
Margin = Annotated[float, Meta(ge=0, extra={"unit": "the metric's own"})]
Level = Annotated[float, Meta(extra={"unit": "the metric's own"})]
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
    """A number that the evaluator prints. One is primary: it has to beat the best so far."""

    name: MetricName
    """What stands before the `=` in the line `METRIC name=value`."""
    direction: Direction
    """Which way is better."""
    role: Annotated[MetricRole, Meta(extra={"words": get_args(MetricRole)})] = "watch"
    """`primary` decides, `guardrail` may not pass `margin` or `floor`, `watch` is only recorded."""
    track: Name | None = None
    """Which of `[tracks]` it is the primary metric of."""
    margin: Margin | None = None
    """How much worse than the best so far a guardrail may get; a guardrail needs it."""
    floor: Level | None = None
    """The value that a guardrail may never pass."""


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """One of several primary metrics."""

    share: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """Its part of the worker slots."""
    addendum: RepoPath | None = None
    """A file that joins the briefs of the track's workers."""


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """What every role has.

    From `Config.role`, `harnesses` and `model` are those of the project where the role has none of its own;
    `harnesses` is still None where neither says: then the built-in ones found on the machine.
    """

    harnesses: Names | None = None
    """The harnesses of this role, taken in turn, in place of the project's."""
    model: dict[str, Name] = {}
    """Harness -> model of this role, before the project's."""
    timeout: Seconds = 1800.0
    """From an agent's launch until it is ended."""
    max_concurrent: Agents = 1
    """How many agents of this role work at the same time."""
    addendum: RepoPath | None = None
    """A file that joins the brief of this role."""
    mcp: tuple[Name, ...] = ()
    """Which of the servers in `[mcp]` its agents get."""


class WorkerRole(Role, frozen=True, kw_only=True):
    """Tries ideas."""

    max_concurrent: Agents = 4
    explore_every: RunsOrZero = 4
    """At least one run in so many starts from a pinned base; 0: none has to."""


class WatchdogRole(Role, frozen=True, kw_only=True):
    """Looks into what went wrong, and at the progress."""

    timeout: Seconds = 600.0
    interval: Interval = 1800.0
    """Between two looks at the progress; 0: none."""
    triggers: tuple[WatchdogTrigger, ...] = get_args(WatchdogTrigger)
    """What starts a sweep: something went wrong, the interval is over, the campaign stopped; `[]`: nothing."""


class Scout(msgspec.Struct, frozen=True, kw_only=True):
    """A research sweep outside the repo."""

    interval: Seconds
    """Between two such sweeps."""
    seeds: Seeds = 3
    """How many seeds a sweep may file."""


class ResearchRole(Role, frozen=True, kw_only=True):
    """Develops seeds, and proposes ideas when few are ready."""

    timeout: Seconds = 900.0
    triggers: tuple[ResearchTrigger, ...] = get_args(ResearchTrigger)
    """What starts a sweep: a seed, or too few ready ideas; `[]`: nothing."""
    max_ideas: Ideas = 1
    """How many ideas of its own a sweep may file; 0: it only develops seeds."""
    context: tuple[RepoPath, ...] = ()
    """Files that its agents read first; globs are allowed."""
    buffer: Ideas = 2
    """How many ideas should be ready beyond one for each worker slot."""
    scout: Scout | None = None
    """A sweep outside the repo; left out: none."""


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """The roles that the daemon launches agents for."""

    worker: WorkerRole = WorkerRole()
    """Tries ideas."""
    watchdog: WatchdogRole = WatchdogRole()
    """Looks into what went wrong."""
    research: ResearchRole = ResearchRole()
    """Develops seeds and proposes ideas."""


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """When a campaign ends by itself: the first of these that is reached. Agents then have ten minutes."""

    target: Level | None = None
    """The primary metric has reached this value."""
    max_runs: Runs | None = None
    """So many runs are done."""
    max_hours: Hours | None = None
    """It has run for so long."""
    max_tokens: Tokens | None = None
    """Its agents have used so many tokens."""
    plateau: Runs | None = None
    """So many runs in a row brought no keep."""


class Linked(msgspec.Struct, frozen=True, kw_only=True):
    """One path of `link` with what is said of it."""

    path: RepoPath
    """The path, relative to the repo."""
    write: bool = False
    """Whether agents and evaluators share it and may write to it: a symlink to yours, such as a cache."""


class SetUp(msgspec.Struct, frozen=True, kw_only=True):
    """Makes each worktree ready at its own path, the scoring's too: `npm ci`, `uv sync --frozen`.

    It runs before each start of an agent, and before the evaluate command. What it makes has to be ignored by
    git. If it fails, an agent's start has failed; a scoring is tried again later, unless the candidate has
    changed what `reads` names: then the candidate is a crash.
    """

    command: Argv
    """The command; it runs at the root of the worktree, with the environment that the evaluate command gets."""
    timeout: Seconds = 600.0
    """After which it is ended, and has failed."""
    reads: tuple[Pattern, ...] | None = None
    """What it reads, as gitignore patterns; left out: manifests, lock files and what `command` names."""


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """A limit in money, told by a command of yours."""

    command: Argv
    """Prints what was spent so far."""
    limit: Dollars
    """The campaign stops when so much is spent."""
    notices: tuple[Dollars, ...] = ()
    """Amounts that the inbox is told of."""
    interval: Seconds = 300.0
    """Between two runs of the command."""


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
    """Where a server that runs already is reached."""
    headers_env: dict[str, Variable] = {}
    """HTTP header -> the environment variable that holds its value."""
    bearer_token_env: Variable | None = None
    """The environment variable that holds the token for the server."""
    command: Argv | Name | None = None
    """What starts a server."""
    env: tuple[Variable, ...] = ()
    """The environment variables that the server gets."""


class Tmux(msgspec.Struct, frozen=True, kw_only=True):
    """The tmux server of the fleet."""

    socket: SocketName | None = None
    """The name of its socket, as in `tmux -L`; left out: one for each home."""
    width: Annotated[int, Meta(ge=40, le=10_000, extra={"unit": "characters"})] = 200
    """Of a window."""
    height: Annotated[int, Meta(ge=10, le=10_000, extra={"unit": "lines"})] = 50
    """Of a window."""
    history: Annotated[int, Meta(ge=0, le=10_000_000, extra={"unit": "lines"})] = 50_000
    """How much each window keeps of what has left its top."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """A project's configuration: all keys of its `piloop.toml`."""

    name: ProjectName
    """The project's name; it is part of git refs and folder names."""
    evaluate: Argv
    """The command that scores a commit in a clean worktree: it prints `METRIC name=value` lines and exits 0."""
    metrics: Annotated[tuple[Metric, ...], Meta(min_length=1)]
    """What the evaluator prints."""
    evaluate_timeout: Seconds = 600.0
    """A commit that takes longer counts as a crash."""
    evaluate_env: tuple[Variable, ...] = ()
    """The environment variables that the evaluator may see beside the usual ones."""
    max_evaluations: Annotated[int, Meta(ge=1, extra={"unit": "evaluations"})] = 1
    """How many commits are scored at the same time; more disturb each other's timings."""
    protect: tuple[Pattern, ...] | None = None
    """What no candidate may change; left out: what `evaluate` runs, piloop.toml, PREPARE.md, .polyresearch/."""
    attempts: Runs = 2
    """How many runs one idea gets before it is parked."""
    runtime: RuntimeName = "subprocess"
    """Where agents run: `herdr` in tmux windows, `subprocess` in the background."""
    harnesses: Names | None = None
    """The harnesses that agents are started with, in turn; left out: the built-in ones found on the machine."""
    model: dict[str, Name] = {}
    """Harness -> model; a harness that is not named has its own default."""
    max_concurrent: dict[str, Agents] = {}
    """Harness -> how many of its agents work at the same time."""
    link: tuple[RepoPath | Linked, ...] = ()
    """Ignored files and folders that every worktree needs, such as data: as a view that cannot write back."""
    setup: SetUp | None = None
    """A command that makes each worktree ready; left out: none."""
    hooks: bool = False
    """Whether the repo's git hooks run for the commits of agents, too."""
    remotes: bool = False
    """Whether the git of agents has the repo's remotes, to fetch from and to push to."""
    confidence: Annotated[float, Meta(gt=0.5, lt=1)] = 0.95
    """How sure a verdict has to be."""
    tracks: dict[str, Track] = {}
    """One for each primary metric, where there are several."""
    roles: Roles = Roles()
    """What agents are launched for."""
    stop: Stop = Stop()
    """When the campaign ends by itself."""
    spend: Spend | None = None
    """A limit in money; left out: none."""
    harness: dict[str, HarnessKeys] = {}
    """Harnesses of your own, and other settings for those that exist."""
    mcp: dict[str, McpServer] = {}
    """Tool servers for agents."""
    plugins: dict[str, Any] = {}
    """`block`, a list of plugins to turn off, and a table for each plugin that has settings of its own."""
    tmux: Tmux = Tmux()
    """The tmux server of the fleet."""

    @property
    def primary(self) -> Metric:
        """The metric that has to beat the bar; the first one where tracks have one each."""
        return next(metric for metric in self.metrics if metric.role == "primary")

    @property
    def guardrails(self) -> tuple[Metric, ...]:
        """The metrics that may not get worse than their margin and floor."""
        return tuple(metric for metric in self.metrics if metric.role == "guardrail")

    @property
    def linked(self) -> tuple[str, ...]:
        """Every path of `link`."""
        return tuple(one if isinstance(one, str) else one.path for one in self.link)

    @property
    def shared(self) -> tuple[str, ...]:
        """Those of `linked` that are meant to be written to."""
        return tuple(one.path for one in self.link if isinstance(one, Linked) and one.write)

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

    def protected_patterns(self, root: Path) -> tuple[str, ...]:
        """What a candidate may not change, as gitignore patterns: `protect`, else what `evaluate` runs.

        Args:
            root: the repo, where words of `evaluate` are looked up as files.
        """
        if self.protect is not None:
            return self.protect
        return default_patterns(root, self.evaluate, self.linked)

    def to_json(self) -> bytes:
        """What the daemon stores."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, stored: bytes | str) -> Config:
        """The inverse of `to_json`; keys that a newer herdr stored are ignored."""
        return msgspec.json.decode(stored, type=cls)
