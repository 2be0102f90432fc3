"""`piloop inbox`: what waits for somebody, and waiting for it."""

from __future__ import annotations

import time
from typing import Any, get_args

import click
import msgspec

from herdr.cli.asking import ask, asking
from herdr.cli.output import json_option, print_facts, print_json, print_table
from herdr.cli.shared import print_comment, print_thread
from herdr.commandline.group import SETTINGS, TextCommand
from herdr.contract.words import CommentKind
from herdr.ops.client import Client
from herdr.ops.comment import ShowComment
from herdr.ops.idea.reading import ShowIdea
from herdr.ops.inbox import AcknowledgeComments, Inbox, ListInbox, News, ReadNews, ReplyToComment
from herdr.ops.views import EventView
from herdr.printing.values import several, visible

KINDS = get_args(CommentKind)
#: Seconds between two looks for news.
LOOK = 0.2


class Woken(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody who waits is told, and the command that goes on; `more` is known only of news."""

    inbox: Inbox | None
    events: list[EventView] = []
    cursor: int
    more: bool | msgspec.UnsetType = msgspec.UNSET
    next: str


class InboxGroup(click.Group):
    """`piloop inbox` alone, or with a project, lists; a project called like one of its commands needs `list`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take what is no command for the project, or an option, of `list`."""
        if self.get_command(ctx, args[0]) is None:
            args = ["list", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """List when nothing else is asked for."""
        first = args[0] if args else ""
        if not first or (first.startswith("-") and first not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=InboxGroup, context_settings=SETTINGS)
def inbox() -> None:
    """Show what waits for somebody: seeds, proposed ideas, and comments with a priority.

    `piloop inbox [PROJECT]` lists it.
    """


@inbox.command("list")
@click.argument("project", required=False)
@click.option("--kind", multiple=True, type=click.Choice(KINDS), help="Only comments of these kinds. Repeatable.")
@click.option("--all", "everything", is_flag=True, help="Also what was acknowledged.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
@json_option
def list_inbox(
    project: str | None, kind: tuple[CommentKind, ...], everything: bool, limit: int, as_json: bool
) -> None:
    """List what waits: seeds first, then proposed ideas, then comments, the most urgent first."""
    found = ask(ListInbox(project=project, kind=kind, everything=everything, limit=limit))
    if as_json:
        print_json(found)
        return
    _print_inbox(found)


@inbox.command()
@click.argument("item", metavar="comment#N|idea#N")
@json_option
def show(item: str, as_json: bool) -> None:
    """Show a comment with its whole thread, or an idea."""
    if item.startswith("idea#"):
        shown = ask(ShowIdea(idea=item))
        if as_json:
            print_json(shown)
            return
        one = shown.idea
        print_facts([(one.ref, one.title), ("status", one.status), ("from", one.provenance)])
        click.echo(visible(one.hypothesis))
        return
    found = ask(ShowComment(comment=item))
    if as_json:
        print_json(found)
        return
    print_thread(found)


@inbox.command()
@click.argument("comments", nargs=-1, metavar="[comment#N]…")
@click.option("--up-to", metavar="comment#N", help="All of that project that came no later.")
@json_option
def ack(comments: tuple[str, ...], up_to: str | None, as_json: bool) -> None:
    """Acknowledge comments: they leave the inbox."""
    done = ask(AcknowledgeComments(comments=comments, up_to=up_to))
    if as_json:
        print_json(done)
    else:
        click.echo(f"acknowledged {', '.join(done.comments) or 'nothing that was not'}")


@inbox.command(cls=TextCommand)
@click.argument("comment", metavar="comment#N")
@click.argument("body")
@click.option("--kind", type=click.Choice(KINDS), default="decision", show_default=True, help="What it is.")
@click.option("--priority", type=click.IntRange(0, 4), help="Put the answer into the inbox too.")
@json_option
def reply(comment: str, body: str, kind: CommentKind, priority: int | None, as_json: bool) -> None:
    """Answer a comment in its thread, and acknowledge it."""
    added = ask(ReplyToComment(comment=comment, body=body, kind=kind, priority=priority))
    if as_json:
        print_json(added)
    else:
        click.echo(f"{added.ref} ({added.kind} on {added.target})")


@inbox.command()
@click.argument("project", required=False)
@click.option(
    "--after", type=click.IntRange(0), metavar="CURSOR", help="What came after this; else what waits now."
)
@click.option("--timeout", type=click.FloatRange(0), default=1800.0, show_default=True, help="Seconds to wait.")
@json_option
def wait(project: str | None, after: int | None, timeout: float, as_json: bool) -> None:
    """Wait until something happens that somebody should know, and print it with the command that goes on.

    Between two calls nothing is missed: the cursor is a place in the event log. Without a cursor it prints what
    waits already, if anything does. The exit status is 0 when the time runs out, too.
    """
    with asking() as client:
        if after is None:
            found = client.ask(ListInbox(project=project))
            if found.seeds or found.proposed or found.comments:
                _tell(Woken(inbox=found, cursor=found.cursor, next=_following(project, found.cursor)), as_json)
                return
            after = found.cursor
        news = _await(client, project, after, timeout)
    following = _following(project, news.cursor)
    told = Woken(inbox=None, events=news.events, cursor=news.cursor, more=news.more, next=following)
    _tell(told, as_json)


def _await(client: Client, project: str | None, after: int, timeout: float) -> News:
    deadline = time.monotonic() + timeout
    while True:
        found = client.ask(ReadNews(project=project, after=after))
        if found.events or time.monotonic() >= deadline:
            return found
        after = found.cursor
        time.sleep(min(LOOK, max(0.0, deadline - time.monotonic())))


def _following(project: str | None, cursor: int) -> str:
    return " ".join(filter(None, ("piloop inbox wait", project, f"--after {cursor}")))


def _tell(told: Woken, as_json: bool) -> None:
    if as_json:
        print_json(told)
        return
    if told.inbox:
        _print_inbox(told.inbox)
    rows = [[str(e.id), e.kind, e.target or "", e.actor, _facts(e.payload)] for e in told.events]
    if rows:
        print_table(rows, ["EVENT", "WHAT", "OF", "BY", "MORE"])
    elif not told.inbox:
        click.echo("nothing happened")
    click.echo(f"next: {told.next}")


def _facts(payload: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in payload.items() if value not in (None, "", {}))


def _print_inbox(found: Inbox) -> None:
    for title, ideas in (("Seeds", found.seeds), ("Proposed: piloop idea approve idea#N", found.proposed)):
        if ideas:
            click.echo(title)
            rows = [[i.ref, f"P{i.priority}", i.source, i.title] for i in ideas]
            print_table(rows, ["IDEA", "", "BY", "TITLE"], indent="  ")
    if found.comments:
        click.echo('Comments: piloop inbox reply comment#N "…", or piloop inbox ack comment#N')
    for comment in found.comments:
        print_comment(comment, on=True)
    if found.left_out:
        click.echo(f"({several(found.left_out, 'comment')} more: --limit)")
    if not (found.seeds or found.proposed or found.comments):
        click.echo("nothing waits")
