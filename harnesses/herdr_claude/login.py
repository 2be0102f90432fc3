"""Where Claude Code finds the user's login."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

#: Any of these in the environment is a login; the last two are those of cloud providers.
VARIABLES = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
)


def home(environ: Mapping[str, str]) -> Path:
    """The user's home in this environment."""
    return Path(environ.get("HOME") or Path.home())


def user_folder(environ: Mapping[str, str]) -> Path:
    """The user's own configuration folder."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home(environ) / ".claude")


def user_state(environ: Mapping[str, str]) -> Path:
    """The file with the user's onboarding, trust and account: beside the folder, or in one that was named."""
    folder = environ.get("CLAUDE_CONFIG_DIR")
    return Path(folder) / ".claude.json" if folder else home(environ) / ".claude.json"


def credentials(environ: Mapping[str, str]) -> Path:
    """The file that `/login` writes on Linux."""
    return user_folder(environ) / ".credentials.json"


def logged_in(environ: Mapping[str, str]) -> bool | None:
    """Whether there is a login; None on macOS, where it may be in the keychain that only Claude Code may read."""
    if any(environ.get(name) for name in VARIABLES) or credentials(environ).is_file():
        return True
    return None if sys.platform == "darwin" else False
