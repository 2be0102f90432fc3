"""A launch context with everything in a folder of the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from herdr.api import LaunchContext


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., LaunchContext]:
    """`context(model="x")` is a context of agent worker#7 that differs from the usual one in its model."""

    def make(**changes: Any) -> LaunchContext:
        folders = {name: tmp_path / name for name in ("worktree", "repo", "state", "profile")}
        for folder in folders.values():
            folder.mkdir(exist_ok=True)
        usual: dict[str, Any] = {
            "agent": "worker#7",
            "role": "worker",
            "cwd": folders["worktree"],
            "repo_root": folders["repo"],
            "state_dir": folders["state"],
            "profile_dir": folders["profile"],
            "brief": folders["worktree"] / ".herdr" / "brief.md",
            "prompt": "Read .herdr/brief.md and do what it says.",
            "model": None,
            "session_id": "11111111-1111-4111-8111-111111111111",
        }
        return LaunchContext(**{**usual, **changes})

    return make


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """`program("codex", "echo 1.2")` is a folder for PATH with this shell script in it."""

    def make(name: str, script: str = "exit 0") -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
        return folder

    return make
