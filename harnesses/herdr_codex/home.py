"""The CODEX_HOME of an agent: nothing in it is left to ask, and the user's login is in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from herdr.api import HerdrError, LaunchContext, Seed

#: What of the user's own config says which model answers, and where.
MODEL_KEYS = ("model", "model_provider", "model_providers", "model_reasoning_effort", "openai_base_url")
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")


def folder(context: LaunchContext) -> Path:
    """The agent's CODEX_HOME."""
    return context.state_dir / "codex"


def user_folder(environ: Mapping[str, str]) -> Path:
    """The user's own CODEX_HOME."""
    return Path(environ.get("CODEX_HOME") or Path(environ.get("HOME") or Path.home()) / ".codex")


def login_problem(environ: Mapping[str, str]) -> str:
    """Why Codex could not log in, or nothing."""
    config = _user_config(environ)
    provider = config.get("model_providers", {}).get(config.get("model_provider"))
    if isinstance(provider, dict) and not provider.get("requires_openai_auth"):
        variable = provider.get("env_key")
        unset = variable and not environ.get(variable)
        return f"${variable}, which its provider {config['model_provider']} needs, is not set" if unset else ""
    login = user_folder(environ) / "auth.json"
    if login.is_file() or environ.get("OPENAI_API_KEY"):
        return ""
    return f"not logged in: there is no {login} and no OPENAI_API_KEY"


def seeds(context: LaunchContext) -> tuple[Seed, ...]:
    """The configuration, and the login: a link to the user's, or the key of the environment.

    Codex does not take the key from the environment by itself.
    """
    mine = folder(context)
    made = [Seed(path=mine / "config.toml", content=tomli_w.dumps(config(context)))]
    login, key = user_folder(context.environ) / "auth.json", context.environ.get("OPENAI_API_KEY")
    if login.is_file():
        made.append(Seed(path=mine / "auth.json", link=login.absolute()))
    elif key:
        content = msgspec.json.encode({"OPENAI_API_KEY": key}).decode()
        made.append(Seed(path=mine / "auth.json", content=content))
    return tuple(made)


def config(context: LaunchContext) -> dict[str, Any]:
    """The user's model and provider, no question ever, and a sandbox in which a worktree can be committed.

    Raises:
        HerdrError: `[plugins.codex] sandbox` is none that Codex has.
    """
    sandbox = context.settings.get("sandbox", "workspace-write")
    if sandbox not in SANDBOXES:
        raise HerdrError(
            f"[plugins.codex] sandbox = {sandbox!r}: Codex has no such sandbox",
            fix=f"choose one of {', '.join(SANDBOXES)}",
        )
    user = _user_config(context.environ)
    model = {key: user[key] for key in MODEL_KEYS if key in user}
    if context.environ.get("OPENAI_BASE_URL"):
        model.setdefault("openai_base_url", context.environ["OPENAI_BASE_URL"])
    # Of trust in its repository, or in a folder above, Codex takes no notice.
    trusted = {str(context.cwd), str(context.cwd.resolve())}
    return {
        **model,
        "approval_policy": "never",
        "check_for_update_on_startup": False,
        "sandbox_mode": sandbox,
        "features": {"memories": False},
        "projects": {folder: {"trust_level": "trusted"} for folder in sorted(trusted)},
        "sandbox_workspace_write": {"writable_roots": writable_roots(context)},
        # It would hide every variable with TOKEN in its name from the agent's shell, and `piloop` needs one.
        "shell_environment_policy": {"inherit": "all", "ignore_default_excludes": True},
        "tui": {"screen_reader_detection_done": True},
    }


def writable_roots(context: LaunchContext) -> list[str]:
    """What a commit writes outside of the worktree: the run's repository, which is nobody else's.

    The worktree's folder in it is named by itself, because Codex protects it even inside a writable root. Nothing
    is read from the worktree's `.git`: an agent that wrote it would choose what its next start may write.

    Args:
        context: the agent's.
    """
    return [str(path) for path in (context.git_dir, context.git_admin) if path is not None]


def _user_config(environ: Mapping[str, str]) -> dict[str, Any]:
    try:
        loaded: dict[str, Any] = msgspec.toml.decode((user_folder(environ) / "config.toml").read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return loaded
