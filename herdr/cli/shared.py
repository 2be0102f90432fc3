"""What several commands print or read alike."""

from __future__ import annotations

from collections.abc import Sequence

import click

from herdr.cli.output import print_table
from herdr.errors import UsageError
from herdr.ops.comment import CommentShown
from herdr.ops.views import CandidateView, CommentView
from herdr.printing.things import verdict_of
from herdr.printing.values import ago, number, percent, visible


def project_and(words: Sequence[str], what: str) -> tuple[str | None, str]:
    """Read `[PROJECT] WHAT`: one word is what is wanted, of two the first is the project.

    Args:
        words: what was typed.
        what: how the help calls what is wanted.

    Raises:
        UsageError: there are more, most often because quotes are missing.
    """
    if len(words) > 2:
        raise UsageError(f"too many words for [PROJECT] {what}", fix=f'put {what} in quotes: "{" ".join(words)}"')
    return (None if len(words) == 1 else words[0]), words[-1]


def print_comments(comments: Sequence[CommentView]) -> None:
    """Print comments under a heading, whole."""
    if comments:
        click.echo("\nComments")
    for comment in comments:
        print_comment(comment)


def print_thread(shown: CommentShown) -> None:
    """Print the thread that a comment belongs to; an arrow marks that comment."""
    for entry in shown.thread:
        one = entry.comment
        mark = "> " if one.ref == shown.ref and len(shown.thread) > 1 else ""
        print_comment(one, on=entry.depth == 0, indent="  " * entry.depth, mark=mark)


def print_comment(comment: CommentView, *, on: bool = False, indent: str = "", mark: str = "") -> None:
    """Print one comment, whole; `on` says what it is on, `mark` stands before it.

    Args:
        comment: what was said.
        on: say what it is on.
        indent: what stands before each line.
        mark: what stands before its name.
    """
    target = f" on {comment.target}" if on else ""
    urgent = f" P{comment.priority}" if comment.priority is not None else ""
    head = f"{comment.ref} {comment.kind}{urgent}{target} by {comment.author}"
    seen = ", acknowledged" if comment.acked_at else ""
    click.echo(f"{indent}  {mark}{head}, {ago(comment.created_at)} ago{seen}")
    for line in visible(comment.body).splitlines():
        click.echo(f"{indent}    {line}")


def print_candidates(candidates: Sequence[CandidateView], metric: str, *, indent: str = "") -> None:
    """Print candidates as a table: what they scored, against what, and why they were kept or not.

    Args:
        candidates: the rows of the table.
        metric: the name of the metric that their values are of.
        indent: what stands before each line.
    """
    rows = [
        [
            c.ref + ("*" if c.is_head else ""),
            verdict_of(c),
            number(c.value),
            percent(c.share) or number(c.gain, "+"),
            c.run or c.origin,
            _what_and_why(c),
        ]
        for c in candidates
    ]
    print_table(rows, ["CANDIDATE", "VERDICT", metric.upper(), "GAIN", "RUN", "WHAT, AND WHY"], indent=indent)


def _what_and_why(candidate: CandidateView) -> str:
    why = candidate.reason or candidate.error
    return f"{candidate.subject}: {why}" if why else candidate.subject
