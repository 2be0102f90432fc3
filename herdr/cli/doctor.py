"""`herdr doctor`: checks what herdr needs, and says how to mend it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from herdr.cli.asking import home_for_people
from herdr.cli.output import json_option, print_json
from herdr.errors import HerdrError
from herdr.home import Home, working_folder
from herdr.printing.values import visible

SIGNS = {"ok": "ok     ", "warning": "warning", "error": "ERROR  "}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the doctor's report."""

    check: str
    status: str
    message: str
    fix: str


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Check tmux, git, harnesses, configuration, disk and more, each with its fix; exit 1 on any error."""
    home = home_for_people("doctor", acts=False)
    findings = examine(home, _root())
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            click.echo(f"{SIGNS[finding.status]}  {finding.check}: {_indented(finding.message)}")
            if finding.fix and finding.status != "ok":
                click.echo(f"         fix: {_indented(finding.fix)}")
    if any(finding.status == "error" for finding in findings):
        raise click.exceptions.Exit(1)


def examine(home: Home, root: Path | None) -> list[Finding]:
    """Run every check, ours and those of plugins; one that fails is a finding itself.

    Args:
        home: the home to look at.
        root: the project's repo, or None outside of one.
    """
    from herdr.cli.checks import home as of_home
    from herdr.cli.checks import machine, project
    from herdr.cli.checks import plugins as of_plugins
    from herdr.cli.checks import repo as of_repo
    from herdr.contract.facts import DoctorCheck
    from herdr.plugins import PluginHost

    host = PluginHost(environ=os.environ)
    found: list[DoctorCheck] = []

    def registrar(_plugin: str) -> Callable[[DoctorCheck], None]:
        return found.append

    own = [
        *machine.checks(os.environ),
        *of_home.checks(home, os.environ),
        *project.checks(host, os.environ),
        *of_repo.checks(home),
    ]
    host.setup("herdr_doctor_checks", registrar)
    checks = [*own, *found, *of_plugins.checks(host, home)]
    return [finding for check in checks for finding in _run(check, root)]


def _run(check: Any, root: Path | None) -> Sequence[Finding]:
    try:
        results = check.run(root)
    except HerdrError as error:
        return [Finding(check=check.name, status="error", message=error.message, fix=error.fix or "")]
    except Exception as error:
        problem = f"the check itself failed: {type(error).__name__}: {error}"
        return [Finding(check=check.name, status="error", message=problem, fix="")]
    return [Finding(check=check.name, status=r.status, message=r.message, fix=r.fix) for r in results]


def _root() -> Path | None:
    from herdr.repo.checks import find_root

    try:
        return find_root(working_folder())
    except HerdrError:
        return None


def _indented(text: str) -> str:
    return visible(text).replace("\n", "\n           ")
