"""What a harness is: how one coding agent is started, read, fed, and its tokens counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from herdr.contract import Struct

AgentState = Literal["starting", "idle", "busy", "blocked", "failed_turn", "ended", "unknown"]
Cause = Literal[
    "not_found", "exited", "auth", "quota", "rate_limited", "overloaded", "unreachable", "model", "context",
    "permission", "trust", "onboarding", "api_key", "hooks", "update", "draft", "config", "crashed", "unknown",
    "folder", "name_taken", "killed",
]  # fmt: skip


class ScreenRules(Struct, frozen=True, kw_only=True):
    r"""How to read an agent's screen: regular expressions, searched MULTILINE in the bottom lines without blanks.

    Blocked beats failed beats busy beats idle; when nothing matches the state is `unknown`, never `idle`. Of a
    failure and a sign of work on one screen the lower one is the newer, and counts. A pattern may see a blank at
    the end of each line. What stands in the input line is the group `text` of `composer`, or its only group, or
    without a group what follows the match on its line; `placeholder` matches what a TUI shows there for a paste
    that it folded, such as `[Pasted text #1 +30 lines]`.
    """

    ready: str | None = None
    """Matches a harness that waits for input; without it, one whose composer is seen."""
    busy: str | None = None
    """Matches a harness at work."""
    composer: str | None = None
    """Matches the input line, and what stands in it."""
    placeholder: str | None = None
    """Matches what the input line shows in place of a long paste."""
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
    """Matches the pane's title while the harness works."""
    title_dialog: str | None = None
    """Matches the pane's title while the harness asks for a permission."""
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
    """What a line break in a text becomes: some harnesses send the text at the first one."""
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
    """The worktree: the folder that the agent works in, and the one to trust."""
    repo_root: Path
    """The person's checkout. An agent that is told of it may work there, so name it only where need be."""
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
    git_dir: Path | None = None
    """The bare repository of the run's own that `cwd` is the worktree of; it is not the one of `repo_root`."""
    git_admin: Path | None = None
    """The worktree's own folder in it, with its HEAD and index: a commit writes in both."""


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
        """Whether the harness's own files show that `text` was taken; None when they cannot tell.

        Args:
            context: the one that the agent was launched with.
            text: as it was typed: cleaned by the harness's send rules.
        """


class HarnessBase:
    """What a plugin's harness inherits from: only `name` and `launch` have to be its own.

    A member that a later herdr adds to `Harness` gets a default here, so a harness that inherits goes on working.
    Each member may be replaced by a class attribute, an attribute set in `__init__`, or a `cached_property`.
    """

    name: str

    # Not plain attributes: type checkers refuse a property in place of one.
    @cached_property
    def screen(self) -> ScreenRules:
        """No rules, so its agents are ready as soon as they run."""
        return ScreenRules()

    @cached_property
    def ready_timeout(self) -> float:
        """A minute."""
        return 60.0

    @cached_property
    def needs_model(self) -> bool:
        """Not needed."""
        return False

    @cached_property
    def send(self) -> SendRules:
        """Typed text is accepted where the screen has an input line in which it can be seen."""
        return SendRules(accepts=self.screen.composer is not None)

    @cached_property
    def ends_when_idle(self) -> bool:
        """Only of a program that shows when it works can be seen that it has finished."""
        return self.screen.busy is not None

    def check(self, environ: Mapping[str, str]) -> HarnessStatus:
        """Look for a program that is called as the harness."""
        import shutil  # herdr.api must import fast

        path = shutil.which(self.name, path=environ.get("PATH", ""))
        if path is None:
            return HarnessStatus(found=False, problem=f"{self.name}: not on PATH", fix=f"install {self.name}")
        return HarnessStatus(found=True, path=path)

    def launch(self, context: LaunchContext) -> Launch:
        """Has no default; a harness without its own is refused when it registers."""
        raise NotImplementedError

    def usage(self, context: LaunchContext) -> Usage | None:  # noqa: ARG002
        """Unknown."""
        return None

    def received(self, context: LaunchContext, text: str) -> bool | None:  # noqa: ARG002
        """Only its screen can tell; `context` and `text` are as at `Harness.received`."""
        return None
