"""How the `forge` commands print issues, pull requests and comments."""

from __future__ import annotations

import click

from herdr_polyresearch.commands.forge.chosen import asked
from herdr_polyresearch.commands.output import plain, show_json
from herdr_polyresearch.forge.base import Comment, Issue, MissingError, PullRequest
from herdr_polyresearch.forge.local import LocalForge


def done(made: object, said: str) -> None:
    """Say what a command did.

    Args:
        made: what it made or changed, for JSON.
        said: the same in words.
    """
    if asked("as_json"):
        show_json(made)
    else:
        click.echo(said)


def show_list(local: LocalForge, everything: bool) -> None:
    """List the open issues and pull requests, or all.

    Args:
        local: the forge.
        everything: closed ones, too.
    """
    threads: list[Issue | PullRequest] = [*local.issues(), *local.snapshot().pulls]
    rows = sorted((row for row in threads if everything or row.state == "open"), key=lambda row: row.number)
    if asked("as_json"):
        show_json({"repo": local.repo(), "login": local.whoami(), "url": local.clone_url(), "threads": rows})
        return
    click.echo(f"{local.repo().full_name} at {local.clone_url()}, as {local.whoami()}")
    for row in rows:
        click.echo(line_of(row))
    if not rows:
        click.echo("there is nothing yet" if everything else "nothing is open")


def show_thread(local: LocalForge, number: int) -> None:
    """Print one issue or pull request, with all that was said on it.

    Args:
        local: the forge.
        number: the issue's or the pull request's.
    """
    thread = find(local, number)
    comments = local.comments(number)
    if asked("as_json"):
        show_json({"thread": thread, "comments": comments})
        return
    click.echo(line_of(thread))
    if isinstance(thread, PullRequest):
        click.echo(f"  {thread.head_ref} at {thread.head_sha[:12]} into {thread.base_ref}")
    if thread.body:
        click.echo(f"\n{block(thread.body)}")
    for comment in comments:
        click.echo(f"\n{title_of(comment)}\n{block(comment.body)}")


def find(local: LocalForge, number: int) -> Issue | PullRequest:
    """The issue or the pull request of this number.

    Args:
        local: the forge.
        number: the one that is wanted.
    """
    try:
        return local.issue(number)
    except MissingError:
        return local.pull(number)


def line_of(thread: Issue | PullRequest) -> str:
    """One line about an issue or a pull request."""
    kind = "issue" if isinstance(thread, Issue) else "pr"
    labels = f" [{', '.join(thread.labels)}]" if isinstance(thread, Issue) and thread.labels else ""
    people = f" -> {', '.join(thread.assignees)}" if thread.assignees else ""
    title = f"{thread.title}{labels} by {thread.author}{people}".replace("\n", " ")
    return f"#{thread.number} {kind} {thread.state}  {plain(title)}"


def title_of(comment: Comment) -> str:
    """Who said it, and when."""
    edited = ", edited" if comment.edited else ""
    return f"-- comment {comment.id} by {comment.author}, {comment.created_at:%Y-%m-%d %H:%M:%SZ}{edited}"


def block(text: str) -> str:
    """A text, indented, that a terminal cannot act on."""
    return "\n".join(f"  {line}".rstrip() for line in plain(text).split("\n"))
