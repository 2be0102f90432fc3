"""What the daemon asks of a runtime, which is a way to run agents.

A runtime starts an agent's process behind the wrapper, finds it again after a crash, reads its screen, types into
it, and ends it with everything it started. It knows nothing of ideas, runs or scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from herdr.contract.harness import ScreenRules, SendRules
from herdr.mux.screen import Delivery, Screen

#: Why a text does not reach an agent that has no terminal (`docs/ideas-seeds-runs.md`, "Steer a running worker").
CANNOT_RECEIVE = (
    'with runtime = "subprocess" an agent runs in the background and cannot receive text;'
    " the brief of the idea's next run carries comments"
)


class LaunchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One agent to start.

    `state_dir` (0700) is where the launch file, the pid file, the exit file and the last screen go. `clear` names
    variables that the agent must not inherit. `title` is for people and may hold anything.
    """

    agent_id: int
    name: str
    title: str
    cwd: Path
    argv: Sequence[str]
    env: Mapping[str, str]
    clear: Sequence[str]
    state_dir: Path


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where one agent is: tmux ids (never names). Without tmux `pane` is its log file, and the rest is ""."""

    session: str
    window: str
    pane: str


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process, told from a later one of the same pid by when it started.

    `started` is only for comparing: seconds since boot on Linux, so that setting the clock does not make every
    agent look like another one; seconds since the epoch elsewhere.
    """

    pid: int
    started: float


class AgentProcess(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's two processes: the wrapper, which is the pane's, and its child, which is the harness.

    `group` is the folder of the control group that the harness is in, or None, see `runtime.cgroup`.
    """

    wrapper: Process
    child: Process
    group: str | None = None


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ended, `ended_at` in seconds since the epoch.

    `error` says why it was not even started: `not_found` (with status 127); `permission`, `exec` (not a program,
    or arguments too long), `cwd`, `launch` (no usable launch file; all with 126); `record` (74, its process could
    not be written down). `left` names what the harness left running, in words, and the wrapper had to end.
    """

    status: int | None = None
    signal: int | None = None
    error: str | None = None
    ended_at: float = 0.0
    left: Sequence[str] = ()


class Runtime(Protocol):
    """A way to run agents: in tmux, or in the background. No method blocks the loop.

    `mode` says how harnesses are launched there: `headless` where there is no terminal to read or to type into.
    """

    mode: Literal["interactive", "headless"]

    async def launch(self, request: LaunchRequest) -> Place:
        """Open a window and start the wrapper in it; returns once tmux has it, not once the agent is ready."""

    async def find(self, agent_id: int, state_dir: Path) -> Place | None:
        """Where an agent lives that an earlier daemon started, or None.

        Args:
            agent_id: the agent's id, which is in the argv of its wrapper.
            state_dir: the agent's state directory, the same as at its launch.
        """

    async def exists(self, place: Place) -> bool:
        """Whether the window is still there, with a program that runs in it or has ended."""

    def changed(self, place: Place) -> bool:
        """Whether reading the pane could show something new since it was last read."""

    async def screen(self, place: Place) -> Screen | None:
        """Read the pane, or None when it is gone."""

    async def send(
        self,
        place: Place,
        text: str,
        *,
        screen: ScreenRules,
        send: SendRules,
        typing: Callable[[], None],
        evidence: Callable[[], bool | None],
    ) -> Delivery:
        """Type a text and confirm it, by the rules of the harness.

        Args:
            place: where to type.
            text: what to type; cleaned by the rules before.
            screen: how to read the pane.
            send: how the harness takes text.
            typing: called right before the first byte is typed, so that the caller can record that from now on
                the text must never be typed again; not called when the answer is `waiting` or `failed`.
            evidence: whether the harness's own files show that the text was taken; None when they cannot tell.
        """

    async def resume_send(
        self,
        place: Place,
        text: str,
        *,
        screen: ScreenRules,
        send: SendRules,
        evidence: Callable[[], bool | None],
    ) -> Delivery:
        """Find out what became of a text typed before a crash: at most the Enter is pressed, never the text.

        Args:
            place: where it was typed.
            text: what was typed, before it was cleaned.
            screen: how to read the pane.
            send: how the harness takes text.
            evidence: whether the harness's own files show that the text was taken; None when they cannot tell.
        """

    async def close(self, place: Place) -> None:
        """Close the window; the process must have ended before."""

    async def aclose(self) -> None:
        """Close the runtime's own connections; its agents live on."""
