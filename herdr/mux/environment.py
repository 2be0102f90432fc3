"""The environment of our tmux server and its clients: UTF-8, and nothing that is not needed there."""

from __future__ import annotations

import sys
from collections.abc import Mapping

#: What tmux and a person's shell in the `home` window need. All else stays out, secrets first of all: a program
#: in any pane can read the server's environment. Agents get theirs from their launch file.
KEPT = frozenset(
    (
        "HOME",
        "LANG",
        "LOGNAME",
        "PATH",
        "PILOOP_HOME",
        "SHELL",
        "TERM",
        "TERMINFO",
        "TMPDIR",
        "TMUX_TMPDIR",
        "TZ",
        "USER",
    )
)
KEPT_PREFIXES = ("LC_", "XDG_")

_UTF8 = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Keep what tmux needs, without `TMUX`, the marks of an outer agent or any secret, and force UTF-8.

    Without a UTF-8 locale tmux turns what is not ASCII into `_`.
    """
    kept = {name: value for name, value in environ.items() if name in KEPT or name.startswith(KEPT_PREFIXES)}
    locale = kept.get("LC_ALL") or kept.get("LC_CTYPE") or kept.get("LANG") or ""
    if "utf8" not in locale.lower().replace("-", ""):
        kept.pop("LC_ALL", None)
        kept["LC_CTYPE"] = _UTF8
    return kept
