"""All that the author of a plugin imports: `hookimpl`, the structs hooks receive, and what a harness is.

The names here are the stable surface of herdr. Everything else may move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import msgspec
import pluggy

from herdr.errors import HerdrError

if TYPE_CHECKING:
    from herdr.harness.files import json_lines
    from herdr.harness.program import check_program
    from herdr.harness.template import CommandHarness
    from herdr.home import Home

__all__ = [
    "AgentInfo",
    "AgentState",
    "BriefContext",
    "BriefSection",
    "CandidateInfo",
    "Cause",
    "ClaimAnswer",
    "CommandHarness",
    "CommentInfo",
    "DoctorCheck",
    "DoctorResult",
    "Escalation",
    "EvaluationRequest",
    "EvaluationResult",
    "Harness",
    "HarnessStatus",
    "HerdrError",
    "Home",
    "IdeaInfo",
    "Launch",
    "LaunchContext",
    "MeasurementInfo",
    "OutsideIdea",
    "ProjectInfo",
    "RunInfo",
    "ScreenRules",
    "Seed",
    "SeedInfo",
    "SendRules",
    "SweepInfo",
    "Usage",
    "check_program",
    "hookimpl",
    "json_lines",
]

hookimpl = pluggy.HookimplMarker("herdr")

AgentState = Literal["starting", "idle", "busy", "blocked", "failed_turn", "ended", "unknown"]
Cause = Literal[
    "not_found", "exited", "auth", "quota", "rate_limited", "overloaded", "unreachable", "model", "context",
    "permission", "trust", "onboarding", "api_key", "hooks", "update", "draft", "config", "crashed", "unknown",
]  # fmt: skip


class Struct(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every struct that crosses the plugin boundary: frozen, built by keyword."""


# --- what hooks receive -------------------------------------------------------------------------------------


class ProjectInfo(Struct, frozen=True, kw_only=True):
    """A registered project; `settings` is the plugin's own table of `[plugins.<name>]` in piloop.toml."""

    id: int
    name: str
    path: Path
    settings: Mapping[str, object] = {}


class IdeaInfo(Struct, frozen=True, kw_only=True):
    """One thing to test; `key` names it where it came from, for ideas a plugin collected."""

    id: int
    project_id: int
    title: str
    hypothesis: str
    plan: str | None
    status: str
    priority: int
    source: str
    family: str | None = None
    key: str | None = None


class RunInfo(Struct, frozen=True, kw_only=True):
    """One attempt at an idea."""

    id: int
    project_id: int
    idea_id: int
    number: int
    state: str
    harness: str
    model: str | None
    branch: str | None
    worktree: Path | None
    end: str | None = None
    end_detail: str | None = None


class AgentInfo(Struct, frozen=True, kw_only=True):
    """One launched harness process. Times are ISO 8601 in UTC."""

    id: int
    name: str
    project_id: int
    run_id: int | None
    role: str
    harness: str
    state: str
    cause: str | None
    started_at: str | None
    ended_at: str | None


class CandidateInfo(Struct, frozen=True, kw_only=True):
    """A distinct state of the code; `tree` and `commit` are git object ids."""

    id: int
    project_id: int
    run_id: int | None
    commit: str
    tree: str
    subject: str
    origin: str
    verdict: str | None
    reason: str | None


class MeasurementInfo(Struct, frozen=True, kw_only=True):
    """One scoring of a candidate; `error` is set when it crashed, and `metrics` then holds what was printed."""

    id: int
    candidate_id: int
    evaluator_id: int
    metrics: Mapping[str, float]
    error: str | None
    seconds: float | None


class CommentInfo(Struct, frozen=True, kw_only=True):
    """Something somebody said; `author` is an actor such as `human` or `worker#12`."""

    id: int
    target: str
    kind: str
    author: str
    body: str
    created_at: str


class Escalation(Struct, frozen=True, kw_only=True):
    """Something a person must look at: what happened, the evidence, and the one command that helps."""

    id: int
    project_id: int | None
    target: str
    body: str
    priority: int


class OutsideIdea(Struct, frozen=True, kw_only=True):
    """An idea from outside; `key` is unique where it comes from and makes collecting idempotent."""

    key: str
    title: str
    hypothesis: str
    plan: str | None = None
    priority: int = 2
    source: str = "forge"


class ClaimAnswer(Struct, frozen=True, kw_only=True):
    """Whether a run may start, and why not."""

    allowed: bool
    reason: str = ""


class EvaluationRequest(Struct, frozen=True, kw_only=True):
    """One scoring to do: `argv` in `worktree`, whose protected files are already the evaluator's own."""

    candidate_id: int
    project: ProjectInfo
    worktree: Path
    argv: Sequence[str]
    env: Mapping[str, str]
    timeout: float
    log_dir: Path
    metrics: Sequence[str]


class EvaluationResult(Struct, frozen=True, kw_only=True):
    """What a scoring gave; `error` is None when every metric is there and finite. Time in seconds."""

    metrics: Mapping[str, float]
    error: str | None
    seconds: float


class BriefSection(Struct, frozen=True, kw_only=True):
    """A titled part of a brief, in Markdown."""

    title: str
    body: str


class SeedInfo(Struct, frozen=True, kw_only=True):
    """A seed with what it points to."""

    id: int
    title: str
    hunch: str
    pointers: str
    source: str


class SweepInfo(Struct, frozen=True, kw_only=True):
    """What an agent without a run is there for: research on seeds or for new ideas, or a watchdog's look.

    `trigger` is `seed`, `low_water`, `incident`, `interval` or `closing`; `ideas` is how many ideas of its own a
    research agent may file. `incidents` is what the watchdog is told of, one line each, oldest first.
    """

    id: int
    project_id: int
    role: str
    trigger: str
    ideas: int = 0
    seeds: Sequence[SeedInfo] = ()
    incidents: Sequence[str] = ()


class BriefContext(Struct, frozen=True, kw_only=True):
    """All that a brief is composed from; `comments` are oldest first, `recent` newest first.

    An agent has a run with its idea, or else a sweep; `pack` is what a sweep reads of the campaign so far, as
    Markdown in which nothing but herdr's own words stands unquoted.
    """

    project: ProjectInfo
    agent: str
    role: str
    run: RunInfo | None = None
    idea: IdeaInfo | None = None
    sweep: SweepInfo | None = None
    pack: str = ""
    worktree: Path
    workspace: Path | None
    base: CandidateInfo
    base_metrics: Mapping[str, float]
    bar: CandidateInfo
    metrics: Sequence[tuple[str, str, str]]
    """(name, direction, role) of each metric, the primary first."""
    recent: Sequence[tuple[CandidateInfo, Mapping[str, float]]]
    comments: Sequence[CommentInfo]
    protected: Sequence[str]
    repo_brief: str
    addendum: str
    timeout: float
    max_bytes: int = 120_000


class DoctorResult(Struct, frozen=True, kw_only=True):
    """The outcome of one check; `fix` is a command or a sentence when `status` is not ok."""

    status: Literal["ok", "warning", "error"]
    message: str
    fix: str = ""


class DoctorCheck(Struct, frozen=True, kw_only=True):
    """A named check of `herdr doctor`; `run` is called with the project root, or None outside a project."""

    name: str
    run: Callable[[Path | None], Sequence[DoctorResult]]


# --- what a harness is --------------------------------------------------------------------------------------


class ScreenRules(Struct, frozen=True, kw_only=True):
    r"""How to read an agent's screen: regular expressions, searched MULTILINE in the bottom lines without blanks.

    Blocked beats failed beats busy beats idle; when nothing matches the state is `unknown`, never `idle`. Of a
    failure and a sign of work on one screen the lower one is the newer, and counts. A pattern may see one blank
    at the end of each line. `composer` has a group `text` that holds what stands in the input line, or this is
    its only group, or without a group what follows the match on its line; `placeholder` matches what a TUI
    shows there for a paste it folded, such as `[Pasted text #1 +30 lines]`.
    """

    ready: str | None = None
    """Matches a harness that waits for input; without it, one whose composer is seen."""
    busy: str | None = None
    composer: str | None = None
    placeholder: str | None = None
    hint: str | None = None
    """Matches the whole of a composer's text that is only a grey suggestion, so an empty composer."""
    block: str | None = None
    """Opens a piece of the conversation; but for dialogs and exits, what stands above the last one is history."""
    dialogs: Mapping[str, tuple[str, Cause]] = {}
    """Name -> (pattern, cause) of dialogs that block until a person or a seed file answers them."""
    failures: Mapping[str, tuple[str, Cause]] = {}
    """Name -> (pattern, cause) of a turn that failed."""
    retries: Mapping[str, tuple[str, Cause]] = {}
    """Name -> (pattern, cause) of a harness that retries by itself: busy, and not well."""
    notices: Mapping[str, tuple[str, Cause]] = {}
    """Name -> (pattern, cause) of what an idle harness complains of, such as that nobody is logged in."""
    exits: Mapping[str, tuple[str, Cause]] = {}
    """Name -> (pattern, cause) of what a program leaves on the screen when it has to end."""
    output: Mapping[str, tuple[str, Cause]] = {}
    """Name -> (pattern, cause) of what a headless program prints when something is wrong; it has no others."""
    ended: str | None = None
    """Matches what it leaves there when somebody ended it as one does."""
    title_busy: str | None = None
    title_dialog: str | None = None
    """Match the pane's title while the harness works, or asks for a permission."""
    lines: int = 20
    """How many of the bottom non-blank lines the rules look at."""


class SendRules(Struct, frozen=True, kw_only=True):
    """How this harness takes typed text."""

    accepts: bool = True
    """False for a program that never reads its terminal: herdr then refuses to type into it."""
    while_busy: bool = False
    """Whether text typed during a turn is queued by the harness itself, in order, unharmed."""
    settle: float = 0.3
    """Seconds of unchanged composer between the paste and the Enter."""
    newline: Literal["keep", "space"] = "space"
    disarm: str = "!/#"
    """Leading characters that the harness would act on; a space is put before them."""
    disarm_at: bool = False
    """Whether `@path` makes the harness read a file, so that it is disarmed too."""
    received: str | None = None
    """A regular expression with `{text}` in it that the screen shows once the text was taken."""


class Seed(Struct, frozen=True, kw_only=True):
    """A file to write, or a link to make, before the launch; never over one that exists unless `replace`."""

    path: Path
    content: str = ""
    link: Path | None = None
    """The file that the link points to: a login of the user's that is shared, not copied."""
    mode: int = 0o600
    replace: bool = True


class LaunchContext(Struct, frozen=True, kw_only=True):
    """What a harness needs to know to start an agent. `state_dir` is the agent's own, kept after it ends."""

    agent: str
    role: str
    cwd: Path
    repo_root: Path
    state_dir: Path
    profile_dir: Path
    """A directory of herdr's own for this project and harness, kept between agents."""
    brief: Path
    prompt: str
    """The one line that points the agent to its brief."""
    model: str | None
    session_id: str
    mode: Literal["interactive", "headless"] = "interactive"
    environ: Mapping[str, str] = {}
    """The environment that the agent will get, before the harness's own additions."""
    evaluate: Sequence[str] = ()
    """The evaluate command, which an agent runs to check its own work."""
    settings: Mapping[str, object] = {}


class Launch(Struct, frozen=True, kw_only=True):
    """How to start an agent: argv, additions to its environment, names to clear, files to seed."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = {}
    clear: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] = ()
    prompt_in_argv: bool = False
    """True when argv already carries the prompt, so that nothing has to be typed at the start."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens an agent used so far, as its harness counts them; cost in US dollars where known."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float | None = None

    @property
    def total(self) -> int:
        """All tokens, cached ones included."""
        return self.input + self.output + self.cached


class HarnessStatus(Struct, frozen=True, kw_only=True):
    """What `herdr harness check` found. `problem` says why it cannot be used, `fix` what to type."""

    found: bool
    path: str | None = None
    version: str | None = None
    logged_in: bool | None = None
    problem: str = ""
    fix: str = ""


@runtime_checkable
class Harness(Protocol):
    """One coding agent: how to start it, read it, feed it, and count its tokens."""

    @property
    def name(self) -> str:
        """The word used in `harnesses = […]`."""

    @property
    def screen(self) -> ScreenRules:
        """How to read its screen."""

    @property
    def send(self) -> SendRules:
        """How it takes text."""

    @property
    def ready_timeout(self) -> float:
        """Seconds from launch until an agent that is not ready counts as a failed start."""

    @property
    def needs_model(self) -> bool:
        """True when it has no default model of its own."""

    @property
    def ends_when_idle(self) -> bool:
        """True for a program that goes on waiting for input after its work is done."""

    def check(self, environ: Mapping[str, str]) -> HarnessStatus:
        """Look for the program on this machine, quickly and without a network."""

    def launch(self, context: LaunchContext) -> Launch:
        """Say how to start an agent; called again, with another context, for each start."""

    def usage(self, context: LaunchContext) -> Usage | None:
        """Read the tokens used so far from the harness's own files; None when it keeps none."""

    def received(self, context: LaunchContext, text: str) -> bool | None:
        """Whether the harness's own files show that `text` was taken; None when they cannot tell."""


# --- what the host offers to plugins -------------------------------------------------------------------------

_OFFERED = {
    "CommandHarness": "herdr.harness.template",
    "Home": "herdr.home",
    "check_program": "herdr.harness.program",
    "json_lines": "herdr.harness.files",
}


def __getattr__(name: str) -> Any:
    """Load an offered helper when it is first asked for: the structs above must import fast."""
    if name not in _OFFERED:
        raise AttributeError(f"module 'herdr.api' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_OFFERED[name]), name)
