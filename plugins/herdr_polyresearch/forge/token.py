"""The token that GitHub is asked with: `GITHUB_TOKEN`, else the one `gh` keeps."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from herdr.api import HerdrError

GH_SECONDS = 15


def find_token(host: str, environ: Mapping[str, str]) -> str:
    """The token for this host.

    Args:
        host: such as github.com.
        environ: the environment, also of `gh`.

    Raises:
        HerdrError: there is none.
    """
    token = environ.get("GITHUB_TOKEN", "").strip()
    if token:
        return token
    try:
        done = subprocess.run(
            ["gh", "auth", "token", "--hostname", host],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=GH_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise no_token(host, "GITHUB_TOKEN is not set and there is no `gh` to ask") from None
    except subprocess.TimeoutExpired:
        raise no_token(
            host, f"GITHUB_TOKEN is not set and `gh auth token` gave no answer in {GH_SECONDS} s"
        ) from None
    if done.returncode or not done.stdout.strip():
        said = done.stderr.strip().splitlines()
        raise no_token(host, f"GITHUB_TOKEN is not set and gh has no token ({said[0] if said else 'no output'})")
    return done.stdout.strip()


def no_token(host: str, why: str) -> HerdrError:
    """The error of having no token.

    Args:
        host: such as github.com.
        why: what was looked for in vain.
    """
    return HerdrError(
        f"no GitHub token for {host}: {why}", fix=f"gh auth login --hostname {host}, or set GITHUB_TOKEN"
    )
