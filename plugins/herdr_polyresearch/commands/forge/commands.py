"""`polyresearch forge`: issues, comments and pull requests of a local forge, for people without GitHub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from herdr.api import SETTINGS, HerdrError
from herdr_polyresearch.commands.forge.chosen import asked, changing, git, home, login, opened, sound, text_of
from herdr_polyresearch.commands.forge.showing import done, show_list, show_thread
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import show_json
from herdr_polyresearch.forge.local_forges import create_local

F = TypeVar("F", bound=Callable[..., Any])


@click.group(context_settings=SETTINGS)
def forge() -> None:
    """Look at a local forge and say something there: issues, comments and pull requests without GitHub."""


@forge.group(context_settings=SETTINGS)
def issue() -> None:
    """Open, close, reopen and label issues."""


@forge.group(context_settings=SETTINGS)
def pr() -> None:
    """Open, merge and close pull requests."""


def part_of(group: click.Group, name: str) -> Callable[[F], click.Command]:
    """Make a function a command of a group, with the options of the program.

    Args:
        group: `forge`, or a group in it.
        name: what is typed.
    """

    def wrap(function: F) -> click.Command:
        made = command(name)(function)
        group.add_command(made)
        return made

    return wrap


@part_of(forge, "init")
@click.argument("name", required=False)
@click.option("--branch", help="The default branch; the one checked out here, else main, when absent.")
@click.option(
    "--collaborator", "collaborators", multiple=True, metavar="LOGIN", help="Who may push; all if none."
)
def init(name: str | None, branch: str | None, collaborators: tuple[str, ...]) -> None:
    """Make a local forge NAME (the folder's name when absent), with this repository's branch in it.

    The remote `origin` is added when there is none; one that is there is left alone.
    """
    inside = git().ask("rev-parse", "--show-toplevel")
    slug = name or Path(inside or Path.cwd()).name
    default = branch or (git().ask("symbolic-ref", "--short", "HEAD") if inside else None) or "main"
    if asked("dry_run"):
        click.echo(f"Would make the local forge `{slug}` with the branch {default}.")
        return
    made = create_local(slug, home=home(), owner=login(), default_branch=default, collaborators=collaborators)
    url = made.clone_url()
    made.close()
    origin = git().ask("remote", "get-url", "origin") if inside else None
    if inside and not origin:
        git().do("remote", "add", "origin", url)
    pushed = inside is not None and git().holds("rev-parse", "--verify", "-q", default)
    if pushed:
        git().do("push", "-q", url, f"{default}:refs/heads/{default}")
    if asked("as_json"):
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


@part_of(forge, "show")
@click.argument("number", type=int, required=False)
@click.option("--all", "everything", is_flag=True, help="Closed ones too.")
def show(number: int | None, everything: bool) -> None:
    """Show one issue or pull request with all that was said on it, or list them."""
    with opened() as local:
        if number is not None:
            show_thread(local, number)
        else:
            show_list(local, everything)


@part_of(issue, "open")
@click.option("--title", required=True, help="Its title.")
@click.option("--body", default="", help="Its text; - reads standard input.")
@click.option("--label", "labels", multiple=True, help="Such as thesis. Repeatable.")
def open_issue(title: str, body: str, labels: tuple[str, ...]) -> None:
    """Open an issue."""
    with changing() as local:
        made = local.create_issue(sound(title), text_of(body), labels=labels)
        done(made, f"Opened issue #{made.number}.")


@part_of(issue, "close")
@click.argument("number", type=int)
@click.option("--reason", type=click.Choice(["completed", "not_planned"]), default="completed", show_default=True)
def close_issue(number: int, reason: Literal["completed", "not_planned"]) -> None:
    """Close an issue."""
    with changing() as local:
        local.close_issue(number, reason=reason)
        done(local.issue(number), f"Closed issue #{number}.")


@part_of(issue, "reopen")
@click.argument("number", type=int)
def reopen_issue(number: int) -> None:
    """Open a closed issue again."""
    with changing() as local:
        local.reopen_issue(number)
        done(local.issue(number), f"Reopened issue #{number}.")


@part_of(issue, "label")
@click.argument("number", type=int)
@click.argument("labels", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Take them off.")
def label_issue(number: int, labels: tuple[str, ...], remove: bool) -> None:
    """Put labels on an issue, or take them off."""
    with changing() as local:
        if remove:
            for label in labels:
                local.remove_label(number, label)
        else:
            local.add_labels(number, labels)
        found = local.issue(number)
        done(found, f"Labels of #{number}: {', '.join(found.labels) or 'none'}.")


@part_of(forge, "comment")
@click.argument("number", type=int)
@click.argument("text", required=False)
@click.option("--edit", type=int, metavar="ID", help="Replace the text of this comment.")
@click.option("--delete", type=int, metavar="ID", help="Delete this comment.")
def comment(number: int, text: str | None, edit: int | None, delete: int | None) -> None:
    """Comment on an issue or pull request, such as with `/approve`.

    TEXT is the comment, or - to read it from standard input.
    """
    if delete is not None and (text is not None or edit is not None):
        raise click.UsageError("--delete takes no text and no --edit")
    if delete is None and text is None:
        raise click.UsageError("give a TEXT, or - to read it from standard input")
    with changing() as local:
        known = {found.id for found in local.comments(number)}
        for one in (edit, delete):
            if one is not None and one not in known:
                raise HerdrError(f"#{number} has no comment {one}", fix=f"polyresearch forge show {number}")
        if delete is not None:
            local.delete_comment(delete)
            done({"id": delete, "thread": number}, f"Deleted comment {delete} on #{number}.")
        elif edit is not None:
            local.edit_comment(edit, text_of(text or ""))
            done({"id": edit, "thread": number}, f"Changed comment {edit} on #{number}.")
        else:
            posted = local.comment(number, text_of(text or ""))
            done(posted, f"Posted comment {posted.id} on #{number}.")


@part_of(pr, "open")
@click.option("--head", help="Its branch; the one checked out here when absent.")
@click.option("--base", help="Where it goes; the default branch when absent.")
@click.option("--title", required=True, help="Its title.")
@click.option("--body", default="", help="Its text; - reads standard input.")
def open_pr(head: str | None, base: str | None, title: str, body: str) -> None:
    """Open a pull request of a branch that was pushed."""
    branch = head or git().ask("symbolic-ref", "--short", "HEAD")
    if branch is None:
        raise click.UsageError("give --head: no branch is checked out here")
    with changing() as local:
        into = base or local.repo().default_branch
        made = local.create_pr(sound(title), text_of(body), head=branch, base=into)
        done(made, f"Opened pull request #{made.number} of {branch}.")


@part_of(pr, "merge")
@click.argument("number", type=int)
@click.option("--sha", help="Only if its head is this commit; the head as it is now when absent.")
def merge_pr(number: int, sha: str | None) -> None:
    """Merge a pull request by a merge commit."""
    with changing() as local:
        merged = local.merge_pr(number, expected_sha=sha or local.pull(number).head_sha)
        done(local.pull(number), f"Merged #{number} as {merged[:12]}.")


@part_of(pr, "close")
@click.argument("number", type=int)
def close_pr(number: int) -> None:
    """Close a pull request unmerged."""
    with changing() as local:
        local.close_pr(number)
        done(local.pull(number), f"Closed #{number}.")
