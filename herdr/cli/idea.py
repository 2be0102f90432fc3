"""`piloop idea`: file, list and show ideas."""

from __future__ import annotations

from typing import Any

import click

from herdr.cli.asking import ask
from herdr.cli.group import SETTINGS
from herdr.cli.output import ago, json_option, print_facts, print_json, print_table, print_text
from herdr.cli.shared import print_comments, project_and

STATUSES = ("seed", "proposed", "ready", "scheduled", "done", "parked", "rejected")


@click.group(context_settings=SETTINGS)
def idea() -> None:
    """File, list and show ideas."""


@idea.command()
@click.argument("words", nargs=-1, required=True, metavar="[PROJECT] TITLE")
@click.option("--hypothesis", default="", help="Why it should help.")
@click.option("--plan", help="What to do, as far as you know.")
@click.option("--from", "provenance", help="Where it comes from: a paper, an issue, a colleague.")
@click.option("--family", help="What kind of idea it is.")
@click.option("--harness", help="Only this harness tries it.")
@click.option("--model", help="Only this model tries it.")
@click.option("--base", metavar="candidate#N", help="Start from this candidate instead of the head.")
@click.option("--priority", type=click.IntRange(0, 4), default=2, show_default=True, help="0 is the most urgent.")
@click.option("--attempts", type=click.IntRange(1, 1000), help="How often it may be tried.")
@click.option("--proposed", is_flag=True, help="Only propose it: it is not tried until a person makes it ready.")
@click.option("--after", multiple=True, metavar="idea#N", help="Wait until that idea is done. Repeatable.")
@click.option("--supersedes", multiple=True, metavar="idea#N", help="It replaces that idea. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def add(words: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """File an idea; it is tried as soon as a slot is free."""
    project, title = project_and(words, "TITLE")
    filed = ask("idea.add", project=project, title=title, **options)
    if as_json:
        print_json(filed)
    else:
        click.echo(f"{filed['ref']} {filed['title']} ({filed['status']}, {filed['project']})")


@idea.command("list")
@click.argument("project", required=False)
@click.option("--status", multiple=True, type=click.Choice(STATUSES), help="Only these. Repeatable.")
@json_option
def list_ideas(project: str | None, status: tuple[str, ...], as_json: bool) -> None:
    """List ideas, the most urgent first."""
    ideas = ask("idea.list", project=project, status=status)
    if as_json:
        print_json(ideas)
        return
    if not ideas:
        click.echo('no ideas yet: piloop idea add "what to try"')
        return
    rows = [[i["ref"], i["status"], str(i["priority"]), _title(i)] for i in ideas]
    print_table(rows, ["IDEA", "STATUS", "P", "TITLE"])


@idea.command()
@click.argument("idea", metavar="idea#N")
@json_option
def show(idea: str, as_json: bool) -> None:
    """Show an idea with its runs and comments."""
    shown = ask("idea.show", idea=idea)
    if as_json:
        print_json(shown)
        return
    one, links = shown["idea"], shown["links"]
    print_facts(
        [
            (one["ref"], one["title"]),
            ("project", shown["project"]),
            ("status", one["status"]),
            ("waits for", one["blocked_by"]),
            ("priority", one["priority"]),
            ("harness", one["harness"]),
            ("model", one["model"]),
            ("base", one["base"]),
            ("attempts", one["attempts"]),
            ("family", one["family"]),
            ("from", one["provenance"]),
            ("filed", f"{ago(one['created_at'])} ago by {one['source']}"),
            *((name.replace("_", " "), linked) for name, linked in links.items()),
        ]
    )
    print_text("Hypothesis", one["hypothesis"])
    print_text("Plan", one["plan"])
    if shown["runs"]:
        click.echo("\nRuns")
        rows = [[r["ref"], r["state"], r["harness"], r["detail"] or ""] for r in shown["runs"]]
        print_table(rows, ["RUN", "STATE", "HARNESS", "END"], indent="  ")
    print_comments(shown["comments"])


def _title(one: dict[str, Any]) -> str:
    waits = f"  (after {', '.join(one['blocked_by'])})" if one["blocked_by"] else ""
    return f"{one['title']}{waits}"
