"""What a single value must be, beyond its type: each check says what is wrong and what to do, or nothing."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

#: The problem and its fix, or None for a good value.
Fault = tuple[str, str] | None
Check = Callable[..., Fault]

HARNESS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PROJECT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
METRIC_NAME = re.compile(r"[^\s=\x00]+")
#: The end of a pattern that takes the rest of its line.
TAKES_THE_LINE = re.compile(r"(?:(?<!\\)\$|\\Z|(?:(?<!\\)\.|\])[*+])\Z")
SOCKET_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")


def project_name(value: str) -> Fault:
    """Whether it can be a project's name, which is a part of git refs, branches and folder names."""
    if PROJECT_NAME.fullmatch(value) and ".." not in value and not value.endswith((".", ".lock")):
        return None
    return (
        "cannot be part of a git ref",
        f"use letters, digits, '-', '_' and single '.': {PROJECT_NAME.pattern}, not ending in '.' or '.lock'",
    )


def harness_name(value: str) -> Fault:
    """A harness has a folder of its own, and is named in piloop.toml and in commands."""
    if HARNESS_NAME.fullmatch(value):
        return None
    return "cannot be the name of a folder", f"use letters, digits, '-', '_' and '.': {HARNESS_NAME.pattern}"


def metric_name(value: str) -> Fault:
    """The evaluator prints `METRIC name=value`, so a name with a space or `=` could never be read back."""
    if METRIC_NAME.fullmatch(value):
        return None
    return "cannot be printed as METRIC name=value", "use a name without spaces and '='"


def socket_name(value: str) -> Fault:
    """`tmux -L` takes a file name, not a path."""
    if SOCKET_NAME.fullmatch(value):
        return None
    return "not a name for tmux -L", "use letters, digits, '-', '_' and '.', no folder"


def variable(value: str) -> Fault:
    """Only names of environment variables go into a config, which is committed; never their values."""
    if VARIABLE.fullmatch(value):
        return None
    return "not the name of an environment variable", "give the name only, such as MY_TOKEN, never its value"


def variables(value: dict[str, object]) -> Fault:
    """The keys of a table of environment variables."""
    bad = next((name for name in value if not VARIABLE.fullmatch(name)), None)
    if bad is None:
        return None
    return f"{bad!r} is not the name of an environment variable", "use letters, digits and '_' in the names"


def relative_path(value: str) -> Fault:
    """A path or glob inside the repo: nothing in a committed file may reach outside it."""
    path = PurePosixPath(value)
    if not path.parts:
        return "not a path inside the repo", "name a file or folder below the repo's root"
    if path.is_absolute() or value.startswith("~"):
        return "an absolute path", "give it relative to the repo's root"
    if ".." in path.parts:
        return "leads out of its folder with '..'", "give a path inside the repo"
    return text(value)


def pattern(value: str) -> Fault:
    """A gitignore pattern: a leading slash means the repo's root there."""
    return relative_path(value.removeprefix("/"))


def text(value: str) -> Fault:
    """No operating system call takes a NUL byte."""
    return ("holds a NUL character", "remove it") if "\x00" in value else None


def regex(value: str) -> Fault:
    """A rule that cannot be compiled would only fail once an agent runs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # With the flags that screens are read with, so that `re` has it in its cache when the first one is.
            re.compile(value, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        return f"not a regular expression: {' '.join(str(error).split())}", "correct it, or escape it with '\\'"
    return None


def composer(value: str) -> Fault:
    """A composer rule by which a draft cannot be seen would let every text be typed onto the last."""
    fault = regex(value)
    if fault:
        return fault
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rule = re.compile(value)
    if "text" not in rule.groupindex and (rule.groups > 1 or (not rule.groups and TAKES_THE_LINE.search(value))):
        problem = "has several groups, none named text" if rule.groups else "does not say what stands in the line"
        return problem, "name the group with what was typed, as in '^> ?(?P<text>.*)$'"
    return None


def received(value: str) -> Fault:
    """A rule without the text would take every message for the one that was typed."""
    if "{text}" not in value:
        return "does not say where the text stands", "write {text} in it, as in '^you: {text}'"
    return regex(value)


def argv(value: Sequence[str]) -> Fault:
    """A command needs a program to run."""
    return None if value and value[0] else ("no program to run", "put the program first")


def headless_argv(value: Sequence[str]) -> Fault:
    """A headless agent can be told what to do only by its argv."""
    if not any("{prompt}" in word or "{brief}" in word for word in value):
        return "does not say where the prompt goes", "add '{prompt}' as one of its words"
    return argv(value)
