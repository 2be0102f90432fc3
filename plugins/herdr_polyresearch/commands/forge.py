"""`polyresearch forge`: issues, comments and pull requests of a local forge, for people without GitHub."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import click

from herdr.api import HerdrError
from herdr_polyresearch.commands.forge_place import (
    asked,
    changing,
    common,
    git,
    home,
    opened,
    sound,
    text_of,
)
from herdr_polyresearch.commands.forge_text import done, show_json, show_list, show_thread
from herdr_polyresearch.forge.places import create_local, login_from


@click.group()
def forge() -> None:
    """Look at a local forge and say something there: issues, comments and pull requests without GitHub."""


@forge.command()
@click.argument("name", required=False)
@click.option("--branch", help="The default branch; the one checked out here, else main, when absent.")
@click.option(
    "--collaborator", "collaborators", multiple=True, metavar="LOGIN", help="Who may push; all if none."
)
@click.option("--as", "login", metavar="LOGIN", help="Its owner; POLYRESEARCH_LOGIN when absent.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def init(
    name: str | None, branch: str | None, collaborators: tuple[str, ...], login: str | None, as_json: bool
) -> None:
    """Make a local forge NAME (the folder's name when absent), with this repository's branch in it.

    The remote `origin` is added when there is none; one that is there is left alone.
    """
    inside = git("rev-parse", "--show-toplevel")
    here = Path(inside) if inside else None
    current = git("symbolic-ref", "--short", "HEAD") if here else None
    default = branch or current or "main"
    if asked("dry_run"):
        click.echo(f"Would make the local forge `{name or (here or Path.cwd()).name}` with the branch {default}.")
        return
    made = create_local(
        name or (here or Path.cwd()).name,
        home=home(),
        owner=login or login_from(os.environ),
        default_branch=default,
        collaborators=collaborators,
    )
    url, slug = made.clone_url(), made.folder.name
    made.close()
    origin = git("remote", "get-url", "origin") if here else None
    if here and not origin:
        git("remote", "add", "origin", url, check=True)
    pushed = here is not None and git("rev-parse", "--verify", "-q", default) is not None
    if pushed:
        git("push", "-q", url, f"{default}:refs/heads/{default}", check=True)
    if as_json:
        show_json(
            {"name": slug, "url": url, "default_branch": default, "pushed": pushed, "origin": origin or url}
        )
        return
    click.echo(f"Made the local forge `{slug}` at {url}" + (f", with the branch {default}." if pushed else "."))
    if not pushed:
        click.echo(f"NEXT: git push {url} {default}")
    if origin:
        click.echo(
            f"The remote origin is {origin} and was left alone: add `--forge local --repo {slug}` to commands,"
        )
        click.echo(f"or move it: git remote set-url origin {url}")


@forge.command()
@click.argument("number", type=int, required=False)
@click.option("--all", "everything", is_flag=True, help="Closed ones too.")
@common
def show(number: int | None, everything: bool, repo: str | None, login: str | None, as_json: bool) -> None:
    """Show one issue or pull request with all that was said on it, or list them."""
    with opened(repo, login) as place:
        if number is not None:
            show_thread(place, number, as_json)
        else:
            show_list(place, everything, as_json)


@forge.group()
def issue() -> None:
    """Open, close, reopen and label issues."""


@issue.command("open")
@click.option("--title", required=True)
@click.option("--body", default="", help="Its text; - reads standard input.")
@click.option("--label", "labels", multiple=True, help="Such as thesis. Repeatable.")
@common
def open_issue(
    title: str, body: str, labels: tuple[str, ...], repo: str | None, login: str | None, as_json: bool
) -> None:
    """Open an issue."""
    with changing(repo, login) as place:
        made = place.create_issue(sound(title), text_of(body), labels=labels)
    done(made, f"Opened issue #{made.number}.", as_json)


@issue.command("close")
@click.argument("number", type=int)
@click.option("--reason", type=click.Choice(["completed", "not_planned"]), default="completed", show_default=True)
@common
def close_issue(
    number: int, reason: Literal["completed", "not_planned"], repo: str | None, login: str | None, as_json: bool
) -> None:
    """Close an issue."""
    with changing(repo, login) as place:
        place.close_issue(number, reason=reason)
        done(place.issue(number), f"Closed issue #{number}.", as_json)


@issue.command("reopen")
@click.argument("number", type=int)
@common
def reopen_issue(number: int, repo: str | None, login: str | None, as_json: bool) -> None:
    """Open a closed issue again."""
    with changing(repo, login) as place:
        place.reopen_issue(number)
        done(place.issue(number), f"Reopened issue #{number}.", as_json)


@issue.command("label")
@click.argument("number", type=int)
@click.argument("labels", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Take them off.")
@common
def label_issue(
    number: int, labels: tuple[str, ...], remove: bool, repo: str | None, login: str | None, as_json: bool
) -> None:
    """Put labels on an issue, or take them off."""
    with changing(repo, login) as place:
        for label in labels if remove else ():
            place.remove_label(number, label)
        if not remove:
            place.add_labels(number, labels)
        found = place.issue(number)
    done(found, f"Labels of #{number}: {', '.join(found.labels) or 'none'}.", as_json)


@forge.command()
@click.argument("number", type=int)
@click.argument("text", required=False)
@click.option("--edit", type=int, metavar="ID", help="Replace the text of this comment.")
@click.option("--delete", type=int, metavar="ID", help="Delete this comment.")
@common
def comment(
    number: int,
    text: str | None,
    edit: int | None,
    delete: int | None,
    repo: str | None,
    login: str | None,
    as_json: bool,
) -> None:
    """Comment on an issue or pull request, such as with `/approve`.

    TEXT is the comment, or - to read it from standard input.
    """
    if delete is not None and (text is not None or edit is not None):
        raise click.UsageError("--delete takes no text and no --edit")
    if delete is None and text is None:
        raise click.UsageError("give a TEXT, or - to read it from standard input")
    with changing(repo, login) as place:
        known = {found.id for found in place.comments(number)}
        for one in (edit, delete):
            if one is not None and one not in known:
                raise HerdrError(f"#{number} has no comment {one}", fix=f"polyresearch forge show {number}")
        if delete is not None:
            place.delete_comment(delete)
            done({"id": delete, "thread": number}, f"Deleted comment {delete} on #{number}.", as_json)
        elif edit is not None:
            place.edit_comment(edit, text_of(text or ""))
            done({"id": edit, "thread": number}, f"Changed comment {edit} on #{number}.", as_json)
        else:
            posted = place.comment(number, text_of(text or ""))
            done(posted, f"Posted comment {posted.id} on #{number}.", as_json)


@forge.group()
def pr() -> None:
    """Open, merge and close pull requests."""


@pr.command("open")
@click.option("--head", help="Its branch; the one checked out here when absent.")
@click.option("--base", help="Where it goes; the default branch when absent.")
@click.option("--title", required=True)
@click.option("--body", default="", help="Its text; - reads standard input.")
@common
def open_pr(
    head: str | None,
    base: str | None,
    title: str,
    body: str,
    repo: str | None,
    login: str | None,
    as_json: bool,
) -> None:
    """Open a pull request of a branch that was pushed."""
    branch = head or git("symbolic-ref", "--short", "HEAD")
    if branch is None:
        raise click.UsageError("give --head: no branch is checked out here")
    with changing(repo, login) as place:
        into = base or place.repo().default_branch
        made = place.create_pr(sound(title), text_of(body), head=branch, base=into)
    done(made, f"Opened pull request #{made.number} of {branch}.", as_json)


@pr.command("merge")
@click.argument("number", type=int)
@click.option("--sha", help="Only if its head is this commit; the head as it is now when absent.")
@common
def merge_pr(number: int, sha: str | None, repo: str | None, login: str | None, as_json: bool) -> None:
    """Merge a pull request by a merge commit."""
    with changing(repo, login) as place:
        merged = place.merge_pr(number, expected_sha=sha or place.pull(number).head_sha)
        done(place.pull(number), f"Merged #{number} as {merged[:12]}.", as_json)


@pr.command("close")
@click.argument("number", type=int)
@common
def close_pr(number: int, repo: str | None, login: str | None, as_json: bool) -> None:
    """Close a pull request unmerged."""
    with changing(repo, login) as place:
        place.close_pr(number)
        done(place.pull(number), f"Closed #{number}.", as_json)
