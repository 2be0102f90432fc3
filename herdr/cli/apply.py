"""`piloop apply`: hands a candidate over as a branch or a patch; the checkout is never touched."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from herdr.cli.asking import ask, home_for_people
from herdr.errors import UsageError
from herdr.ops.apply import CommitFound, FindCommit


@click.command()
@click.argument("what", required=False, metavar="[PROJECT|candidate#N]")
@click.option("--branch", metavar="NAME", help="Its name.  [default: herdr/PROJECT/candidate-N]")
@click.option("--patch", metavar="FILE", help="Write a patch instead, - for standard output.")
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def apply(what: str | None, branch: str | None, patch: str | None, force: bool) -> None:
    """Make a branch of the head, or of a candidate, in your repo; or write it as a patch.

    Your checkout, your branches and your index stay as they are.
    """
    home_for_people("apply")
    if branch is not None and patch is not None:
        raise UsageError("a branch and a patch are two things", fix="give --branch or --patch")
    of_candidate = what is not None and "#" in what
    found = ask(FindCommit(candidate=what) if of_candidate else FindCommit(project=what))
    if patch is not None:
        _write_patch(found, patch, force=force)
    else:
        _make_branch(found, branch or f"herdr/{found.project}/{found.candidate.replace('#', '-')}")


def _make_branch(found: CommitFound, name: str) -> None:
    from herdr.repo.export import make_branch

    root = Path(found.root)
    make_branch(root, name, found.commit)
    click.echo(f"{_label(found)} is now the branch {name} of {root}")
    click.echo(f"next: git -C {root} diff ...{name}")
    click.echo(f"      git -C {root} merge {name}")


def _write_patch(found: CommitFound, file: str, *, force: bool) -> None:
    from herdr.repo.export import make_patch
    from herdr.repo.git import run_git

    root = Path(found.root)
    base = run_git(root, "merge-base", "HEAD", found.commit, check=False).text
    if not base:
        raise UsageError(
            f"{found.candidate} has no history in common with your HEAD in {root}",
            fix="check out a branch of the project first, or use --branch",
        )
    content = make_patch(root, base, found.commit)
    if file == "-":
        sys.stdout.buffer.write(content)
        return
    try:
        with Path(file).open("wb" if force else "xb") as patch:
            patch.write(content)
    except FileExistsError as error:
        raise UsageError(f"{file} exists", fix="name another file, or add --force") from error
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}", fix="name another file") from error
    click.echo(f"{_label(found)} is now the patch {file}, from {base[:10]}")
    click.echo(f"next: git -C {root} apply --3way {Path(file).resolve()}")


def _label(found: CommitFound) -> str:
    head = ", the head," if found.is_head else f" ({found.verdict or 'not judged'})"
    return f"{found.candidate}{head}"
