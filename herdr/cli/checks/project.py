"""The project around: its piloop.toml, and the harnesses that it would use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from herdr.cli.checks import Results, error, ok
from herdr.config import FILE_NAME, LATER_KEYS, ConfigError, Mistake, later_keys, read_config, read_data
from herdr.contract.facts import DoctorCheck, DoctorResult
from herdr.errors import HerdrError
from herdr.harness.naming import unknown_names
from herdr.harness.registry import Harnesses
from herdr.harness.template import CommandHarness
from herdr.home import Home
from herdr.repo.linked_advice import advice

if TYPE_CHECKING:
    from herdr.plugins import PluginHost


def checks(host: PluginHost, environ: Mapping[str, str]) -> list[DoctorCheck]:
    """The checks of a project, and of the harnesses there are without one.

    Args:
        host: the plugins, which bring the harnesses.
        environ: the variables of the shell.
    """
    return [
        DoctorCheck(name=FILE_NAME, run=partial(config, environ)),
        DoctorCheck(name="link", run=partial(linked, environ)),
        DoctorCheck(name="harnesses", run=partial(harnesses, host, environ)),
    ]


def config(environ: Mapping[str, str], root: Path | None) -> Results:
    """Whether the file is right, and which of its keys have no effect yet.

    Args:
        environ: the variables of the shell.
        root: the repo.
    """
    if root is None:
        return ok("you are in no project")
    if not (root / FILE_NAME).exists():
        return ok(f"{root} has none: `herdr init` writes one")
    try:
        found = read_config(root, environ)
    except ConfigError as wrong:
        return [_wrong(mistake) for mistake in wrong.mistakes]
    results = [
        DoctorResult(
            status="warning",
            message=f"{key} has no effect yet ({LATER_KEYS[key]})",
            fix="delete it, or keep it for later",
        )
        for key in later_keys(read_data(root))
    ]
    if found.runtime == "subprocess":
        said = 'runtime = "subprocess": agents run in the background, and `piloop prompt` cannot reach them'
        results.append(DoctorResult(status="ok", message=said))
    return results or ok(f"{root / FILE_NAME} is right")


def linked(environ: Mapping[str, str], root: Path | None) -> Results:
    """What agents get of each `link` path: a view, or what they can write to.

    Args:
        environ: herdr's own environment, which may override keys of the file.
        root: the project's checkout; None outside of any.
    """
    if root is None or not (root / FILE_NAME).exists():
        return ok("you are in no project")
    try:
        settings = read_config(root, environ)
        home = Home.from_environ(environ).root
        folders = (root, home) if home.is_dir() else (root,)
        found = advice(root, folders, link=settings.linked, shared=settings.shared)
    except ConfigError:
        return ok(f"not looked at: {FILE_NAME} is wrong")
    except HerdrError as wrong:
        return error(wrong.message, wrong.fix or "")
    results = [
        DoctorResult(status="warning" if one.fix else "ok", message=one.message, fix=one.fix) for one in found
    ]
    return results or ok("nothing is linked")


def harnesses(host: PluginHost, environ: Mapping[str, str], root: Path | None) -> Results:
    """Whether the harnesses that workers would run on are there.

    Args:
        host: the plugins, which bring the harnesses.
        environ: the variables of the shell.
        root: the repo.
    """
    known = registered(host)
    named: tuple[str, ...] = ()
    background = False
    if root is not None and (root / FILE_NAME).exists():
        try:
            settings = read_config(root, environ)
        except ConfigError:
            return ok(f"not looked at: {FILE_NAME} is wrong")
        known = known.configured(settings.harness)
        named = settings.role("worker").harnesses or ()
        background = settings.runtime == "subprocess"
        if wrong := list(unknown_names(settings, known)):
            return [_wrong(mistake) for mistake in wrong]
    if not named:
        return _any(known, environ)
    return [_state(known, name, environ, background=background) for name in named]


def _wrong(mistake: Mistake) -> DoctorResult:
    return DoctorResult(status="error", message=mistake.without_fix, fix=mistake.fix)


def _any(known: Harnesses, environ: Mapping[str, str]) -> Results:
    """Whether one is found, where none is named; one that fails to say whether it is there is a finding too."""
    found, failed = [], []
    for name in known.names():
        try:
            if known.check(name, environ).found:
                found.append(name)
        except HerdrError as wrong:
            failed.append(DoctorResult(status="error", message=wrong.message, fix=wrong.fix or ""))
    if found:
        return [*ok(f"found {', '.join(found)}"), *failed]
    fix = "install one (`herdr harness list`), or define [harness.<name>]"
    return [*failed, *error("none is installed", fix)]


def _state(known: Harnesses, name: str, environ: Mapping[str, str], *, background: bool) -> DoctorResult:
    harness = known.get(name)
    if background and isinstance(harness, CommandHarness) and not (harness.headless or harness.executable):
        problem = f'{name}: it has no command for runtime = "subprocess"'
        fix = f'set headless = ["program", "{{prompt}}"] under [harness.{name}]'
        return DoctorResult(status="error", message=problem, fix=fix)
    try:
        status = known.check(name, environ)
    except HerdrError as wrong:
        return DoctorResult(status="error", message=wrong.message, fix=wrong.fix or "")
    if not status.found:
        return DoctorResult(status="error", message=f"{name}: {status.problem or 'not found'}", fix=status.fix)
    if status.logged_in is False or status.problem:
        problem = status.problem or "nobody is logged in"
        return DoctorResult(status="error", message=f"{name}: {problem}", fix=status.fix)
    return DoctorResult(status="ok", message=" ".join(filter(None, (name, status.version, status.path))))


def registered(host: PluginHost) -> Harnesses:
    """The harnesses that all plugins register."""
    found = Harnesses()
    host.setup("herdr_register_harnesses", found.registrar)
    return found
