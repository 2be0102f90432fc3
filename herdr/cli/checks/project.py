"""The project around: its piloop.toml, and the harnesses that it would use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from herdr.api import DoctorCheck, DoctorResult
from herdr.cli.checks import Results, error, ok
from herdr.config import FILE_NAME, LATER_KEYS, Config, ConfigError, Mistake, later_keys, read_config, read_data
from herdr.config.mistakes import printable
from herdr.harness.registry import Harnesses

if TYPE_CHECKING:
    from herdr.plugins import PluginHost


def checks(host: PluginHost, environ: Mapping[str, str]) -> list[DoctorCheck]:
    """The checks of a project, and of the harnesses there are without one."""
    return [
        DoctorCheck(name=FILE_NAME, run=partial(config, environ)),
        DoctorCheck(name="harnesses", run=partial(harnesses, host, environ)),
    ]


def config(environ: Mapping[str, str], root: Path | None) -> Results:
    """Whether the file is right, and which of its keys have no effect yet."""
    if root is None:
        return ok("you are in no project")
    if not (root / FILE_NAME).exists():
        return ok(f"{root} has none: `herdr init` writes one")
    try:
        found = read_config(root, environ)
    except ConfigError as wrong:
        return [
            DoctorResult(status="error", message=f"{printable(at(mistake))}: {mistake.problem}", fix=mistake.fix)
            for mistake in wrong.mistakes
        ]
    results = [
        DoctorResult(
            status="warning", message=f"{key} has no effect yet ({LATER_KEYS[key]})", fix="leave it, or not"
        )
        for key in later_keys(read_data(root))
    ]
    if found.runtime != "herdr":
        problem = f'runtime = "{found.runtime}" cannot run agents yet'
        results.append(DoctorResult(status="error", message=problem, fix='set runtime = "herdr"'))
    return results or ok(f"{root / FILE_NAME} is right")


def at(mistake: Mistake) -> str:
    """Where a mistake is, with the wrong value."""
    return mistake.path if mistake.value is None else f"{mistake.path} = {mistake.value}"


def harnesses(host: PluginHost, environ: Mapping[str, str], root: Path | None) -> Results:
    """Whether the harnesses that workers would run on are there."""
    known = registered(host)
    named: tuple[str, ...] = ()
    if root is not None and (settings := _config_of(root, environ)) is not None:
        known = known.configured(settings.harness)
        named = settings.role("worker").harnesses or ()
    if not named:
        found = known.available(environ)
        if not found:
            return error("none is installed", "install one (`herdr harness list`), or define [harness.<name>]")
        return ok(f"found {', '.join(found)}")
    return [_state(known, name, environ) for name in named]


def _state(known: Harnesses, name: str, environ: Mapping[str, str]) -> DoctorResult:
    status = known.get(name).check(environ)
    if not status.found:
        return DoctorResult(status="error", message=f"{name}: {status.problem or 'not found'}", fix=status.fix)
    if status.logged_in is False or status.problem:
        problem = status.problem or "nobody is logged in"
        return DoctorResult(status="error", message=f"{name}: {problem}", fix=status.fix)
    return DoctorResult(status="ok", message=" ".join(filter(None, (name, status.version, status.path))))


def _config_of(root: Path, environ: Mapping[str, str]) -> Config | None:
    try:
        return read_config(root, environ)
    except ConfigError:
        return None


def registered(host: PluginHost) -> Harnesses:
    """The harnesses that all plugins register."""
    found = Harnesses()
    host.setup("herdr_register_harnesses", found.registrar)
    return found
