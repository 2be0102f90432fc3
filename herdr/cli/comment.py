"""`piloop comment`: say something about a thing, and read what was said."""

from __future__ import annotations

import sys
from typing import get_args

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json
from herdr.cli.shared import print_comment, print_thread
from herdr.commandline.group import SETTINGS, TextCommand
from herdr.contract.words import CommentKind
from herdr.errors import UsageError
from herdr.ops.comment import AddComment, ListComments, ShowComment

KINDS = get_args(CommentKind)


@click.group(context_settings=SETTINGS)
def comment() -> None:
    """Say something about an idea, a run, a candidate …, and read what was said."""


@comment.command(cls=TextCommand)
@click.argument("target")
@click.argument("body")
@click.option("--kind", type=click.Choice(KINDS), default="note", show_default=True, help="What it is.")
@click.option("--priority", type=click.IntRange(0, 4), help="Put it into the inbox: 0 is the most urgent.")
@json_option
def add(target: str, body: str, kind: CommentKind, priority: int | None, as_json: bool) -> None:
    """Comment on TARGET: idea#N, run#N, candidate#N, worker#N, comment#N or project.

    BODY is the text, or - to read it from standard input. A comment on a running run or its idea is also typed to
    its agent.
    """
    text = _standard_input() if body == "-" else body
    added = ask(AddComment(target=target, body=text, kind=kind, priority=priority))
    if as_json:
        print_json(added)
    else:
        click.echo(f"{added.ref} ({added.kind} on {added.target})")
        if added.unheard:
            click.echo(f"not typed to its agent: {added.unheard}")


@comment.command("list")
@click.argument("target", required=False, metavar="[TARGET|PROJECT]")
@click.option("--kind", multiple=True, type=click.Choice(KINDS), help="Only these. Repeatable.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@json_option
def list_comments(target: str | None, kind: tuple[CommentKind, ...], limit: int, as_json: bool) -> None:
    """List the newest comments on a thing and in its threads, or in a project."""
    thing, project = (target, None) if target is not None and "#" in target else (None, target)
    comments = ask(ListComments(target=thing, project=project, kind=kind, limit=limit))
    if as_json:
        print_json(comments)
        return
    for one in comments:
        print_comment(one, on=True)
    if not comments:
        click.echo("no comments")


@comment.command()
@click.argument("comment", metavar="comment#N")
@json_option
def show(comment: str, as_json: bool) -> None:
    """Show a comment with its whole thread."""
    shown = ask(ShowComment(comment=comment))
    if as_json:
        print_json(shown)
    else:
        print_thread(shown)


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8", fix="convert it: iconv -t UTF-8") from error
