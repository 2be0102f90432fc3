"""How the commands print."""

from __future__ import annotations

import re
from typing import Any

import click
import msgspec

from herdr_polyresearch.commands.project import Project
from herdr_polyresearch.protocol.duties import Duty
from herdr_polyresearch.protocol.model import Finding
from herdr_polyresearch.protocol.scalars import show_exactly, show_metric

# Characters that command a terminal, or that turn the direction of writing. Anybody can post a text on a forge.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069]")


def show_json(data: object) -> None:
    """Print data as JSON, indented."""
    click.echo(msgspec.json.format(msgspec.json.encode(data), indent=2).decode())


def tell(project: Project, data: dict[str, Any], said: str) -> None:
    """Print an answer, as JSON when that was asked for; a dry run says so in both.

    Args:
        project: it knows what was asked for.
        data: the answer for JSON.
        said: the answer in words.
    """
    if project.json:
        show_json({**data, "dry_run": True} if project.dry_run else data)
    else:
        click.echo(plain(said))


def plain(text: str) -> str:
    """A text that somebody posted, without characters that command a terminal."""
    return CONTROLS.sub("", text)


def line(text: str) -> str:
    """A text that somebody posted, on one line, without characters that command a terminal."""
    return plain(" ".join(text.split()))


def metric(value: float | None) -> str:
    """A metric for reading: four decimals, or all digits where those would hide it."""
    if value is None:
        return "n/a"
    short = show_metric(value)
    return short if value == 0 or abs(value) >= 0.1 else show_exactly(value) if float(short) != value else short


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding as the existing tool's JSON has it."""
    scope: dict[str, Any] = {"type": finding.scope}
    if finding.number is not None:
        scope["number"] = finding.number
    return {
        "scope": scope,
        "severity": finding.severity,
        "message": finding.message,
        "comment_id": finding.comment_id,
        "author": finding.author,
        "created_at": finding.created_at,
    }


def finding_line(finding: Finding) -> str:
    """A finding on one line."""
    names = {"issue": f"#{finding.number}", "pull_request": f"PR #{finding.number}", "repository": "repository"}
    who = f" (comment {finding.comment_id} by {finding.author})" if finding.comment_id else ""
    return line(f"[{finding.severity}] {names[finding.scope]}: {finding.message}{who}")


def duty_json(duty: Duty) -> dict[str, Any]:
    """A duty as the existing tool's JSON has it, and with the role that it falls to."""
    return dict(msgspec.structs.asdict(duty))


def duty_line(duty: Duty) -> str:
    """A duty on one line."""
    return line(f"[{duty.category}] {duty.message}" + (f" Run: {duty.command}" if duty.command else ""))
