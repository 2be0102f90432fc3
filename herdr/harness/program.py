"""Find the program of a harness on this machine and ask for its version, without waiting for it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping

from herdr.contract.harness import HarnessStatus

VERSION_SECONDS = 10.0


def check_program(
    executable: str, environ: Mapping[str, str], *, version: bool = True, fix: str = ""
) -> HarnessStatus:
    """Look for a program on the PATH that agents will have.

    Args:
        executable: its name, or a path.
        environ: the environment of agents; only its PATH is searched.
        version: whether to run it with `--version`, for at most 10 seconds; leave it out for programs of which
            nobody knows what they do then.
        fix: what to do when it is not there, often a command that installs it.
    """
    path = shutil.which(executable, path=environ.get("PATH", ""))
    if path is None:
        where = "not an executable file" if "/" in executable else "not on PATH"
        return HarnessStatus(found=False, problem=f"{executable}: {where}", fix=fix)
    return HarnessStatus(found=True, path=path, version=_version(path, environ) if version else None)


def _version(path: str, environ: Mapping[str, str]) -> str | None:
    """The first line that `--version` prints; None when it fails or does not end in time."""
    try:
        done = subprocess.run(
            [path, "--version"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), None)
