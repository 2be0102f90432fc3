"""The `[setup]` command: makes a fresh worktree ready at its own path, an agent's as well as a scoring's.

What it makes is never kept between worktrees, since environments name the folder where they were made; what its
tools have downloaded is, in their own caches below HOME.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from herdr.config.protect import escape, named_files
from herdr.config.structs import SetUp as Settings
from herdr.errors import HerdrError
from herdr.runtime.command import run_marked
from herdr.runtime.ending import end_tree_in_thread
from herdr.scoring.output import Capture

#: What set-up commands read, by the name of the file, wherever it is: manifests, lock files, versions of tools.
MANIFESTS = (
    "pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "constraints*.txt", "MANIFEST.in", "uv.lock",
    "uv.toml", "poetry.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "environment.yml", "environment.yaml",
    ".python-version", "package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml",
    "pnpm-workspace.yaml", "bun.lock", "bun.lockb", ".npmrc", ".yarnrc*", ".nvmrc", ".node-version", "Cargo.toml",
    "Cargo.lock", "rust-toolchain", "rust-toolchain.toml", "build.rs", "go.mod", "go.sum", "go.work", "Gemfile",
    "Gemfile.lock", "*.gemspec", "composer.json", "composer.lock", "pom.xml", "build.gradle*", "settings.gradle*",
    "Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "meson.build", "configure", "configure.ac",
    "justfile", ".tool-versions", "mise.toml", "flake.nix", "flake.lock",
)  # fmt: skip
#: How many of the last lines that it printed are said, and characters of each.
SAID, WIDTH = 3, 300
#: Bytes of its output that a person can look at.
SHOWN = 64 * 1024


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A set-up to run.

    Attributes:
        argv: the command.
        timeout: how many seconds it may take.
        env: its whole environment: that of the evaluate command.
        mark: tells its processes from all others, see `runtime.processes`.
    """

    argv: Sequence[str]
    timeout: float
    env: Mapping[str, str]
    mark: str


class SetUpError(HerdrError):
    """The set-up failed; `output` is the end of what it printed."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message, fix="run it in a fresh clone, and look at [setup] in piloop.toml")
        self.output = output


def what_it_reads(settings: Settings | None, root: Path, argv: Sequence[str]) -> tuple[str, ...]:
    """Gitignore patterns of what a set-up command reads: `reads`, else what such commands usually do.

    Args:
        settings: `[setup]` as it is now.
        root: the checkout, where words of the command are looked up as files.
        argv: the command.
    """
    if settings is not None and settings.reads is not None:
        return settings.reads
    return (*MANIFESTS, *(f"/{escape(path)}" for path in named_files(root, argv)))


def command_for(
    settings: Settings | None, argv: Sequence[str], env: Mapping[str, str], mark: str
) -> Command | None:
    """The set-up of a worktree; None where there is nothing to do.

    Args:
        settings: `[setup]` as it is now, which says how long it may take.
        argv: the command, as the evaluator's definition or the configuration has it.
        env: the environment of the evaluate command.
        mark: tells the set-up's processes from all others.
    """
    if not argv:
        return None
    timeout = settings.timeout if settings is not None else Settings(command=tuple(argv)).timeout
    return Command(argv=argv, timeout=timeout, env=env, mark=mark)


async def set_up(command: Command, worktree: Path) -> float:
    """Run a set-up command in a worktree; how many seconds it took.

    It and all that it started are killed when it has ended, when it is too slow, and when this is cancelled.

    Args:
        command: what to run.
        worktree: a furnished worktree.

    Raises:
        SetUpError: it cannot be run, took too long, or did not exit with 0.
    """
    await end_tree_in_thread(command.mark, grace=0)
    folder = Path(tempfile.mkdtemp(prefix="herdr-setup-"))
    begin = time.monotonic()
    try:
        capture = Capture(folder)
        out, err = capture.writers
        try:
            code = await run_marked(
                command.argv,
                cwd=worktree,
                env=command.env,
                mark=command.mark,
                timeout=command.timeout,
                stdout=out,
                stderr=err,
            )
        except OSError as error:
            raise SetUpError(f"[setup] cannot run {command.argv[0]}: {error.strerror}") from error
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(capture.finish)
        if code != 0:
            raise _failure(command, code, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return time.monotonic() - begin


def _failure(command: Command, code: int | None, folder: Path) -> SetUpError:
    output = "".join(_end_of(folder / name) for name in ("stdout.txt", "stderr.txt"))
    lines = [line.strip()[:WIDTH] for line in output.splitlines() if line.strip()]
    if code is None:
        how = f"ran longer than {command.timeout:g} s"
    else:
        how = f"exited with status {code}" if code >= 0 else f"was killed by signal {-code}"
    said = " | ".join(lines[-SAID:]) or "it printed nothing"
    return SetUpError(f"[setup] {' '.join(command.argv)} {how}: {said}", output)


def _end_of(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - SHOWN))
        return file.read().decode("utf-8", "replace")
