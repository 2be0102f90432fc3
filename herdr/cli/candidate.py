"""`piloop candidate`: list, show, compare, import, note and judge candidates."""

from __future__ import annotations

import sys
from typing import get_args

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_facts, print_json
from herdr.cli.shared import print_candidates, print_comments, project_and
from herdr.commandline.group import SETTINGS, TextCommand
from herdr.contract.words import VerdictWord
from herdr.ops.candidate.changing import ImportCommit, NoteCandidate, OverruleVerdict, RemeasureCandidate
from herdr.ops.candidate.reading import CompareCandidates, ListCandidates, ShowCandidate
from herdr.printing.things import verdict_of
from herdr.printing.values import ago, number, percent, visible

VERDICTS = get_args(VerdictWord)


@click.group(context_settings=SETTINGS)
def candidate() -> None:
    """List, show and compare candidates; import one, note one as a lead, have one measured again, overrule."""


@candidate.command("list")
@click.argument("project", required=False)
@click.option("--verdict", multiple=True, type=click.Choice(VERDICTS), help="Only these. Repeatable.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
@json_option
def list_candidates(project: str | None, verdict: tuple[VerdictWord, ...], limit: int, as_json: bool) -> None:
    """List candidates with their scores and verdicts; a star marks the head."""
    listed = ask(ListCandidates(project=project, verdict=verdict, limit=limit))
    if as_json:
        print_json(listed)
        return
    if not listed.candidates:
        click.echo("no candidates")
        return
    print_candidates(listed.candidates, listed.metric)
    if listed.left_out:
        click.echo(f"({listed.left_out} older ones: --limit)")


@candidate.command()
@click.argument("candidate", metavar="candidate#N")
@json_option
def show(candidate: str, as_json: bool) -> None:
    """Show a candidate with its scores and what was said about it."""
    shown = ask(ShowCandidate(candidate=candidate))
    if as_json:
        print_json(shown)
        return
    one = shown.candidate
    gain = f"{number(one.gain, '+')} ({percent(one.share)})" if one.gain is not None else None
    print_facts(
        [
            (one.ref, one.subject),
            ("project", shown.project),
            ("verdict", verdict_of(one) + (", the head" if one.is_head else "")),
            ("why", one.reason),
            ("cause", one.cause),
            ("gain", gain),
            ("bar", one.bar),
            *((f"  {name}", number(value)) for name, value in one.metrics.items()),
            ("error", one.error),
            ("note", one.note),
            ("protected files changed", one.touched),
            ("origin", one.origin),
            ("runs", shown.runs),
            ("parent", one.parent),
            ("commit", one.commit),
            ("tree", one.tree),
            ("made", f"{ago(one.created_at)} ago"),
        ]
    )
    print_comments(shown.comments)


@candidate.command()
@click.argument("candidate", metavar="candidate#N")
@click.option("--against", metavar="candidate#M", help="Compare with this one instead of its parent.")
@click.option("--stat", is_flag=True, help="Only how much changed in which file.")
@json_option
def diff(candidate: str, against: str | None, stat: bool, as_json: bool) -> None:
    """Show what a candidate changed."""
    found = ask(CompareCandidates(candidate=candidate, against=against, stat=stat))
    if as_json:
        print_json(found)
        return
    # A program that reads it wants every byte; a terminal must not obey what stands in somebody's code.
    click.echo(visible(found.text) if sys.stdout.isatty() else found.text, nl=False)
    if found.cut:
        click.echo(f"\n(cut here; the whole: {found.command})", err=True)


@candidate.command("import", cls=TextCommand)
@click.argument("words", nargs=-1, required=True, metavar="[PROJECT] COMMIT")
@click.option("--summary", help="What it is, in a line.  [default: the commit's subject]")
@json_option
def import_commit(words: tuple[str, ...], summary: str | None, as_json: bool) -> None:
    """Register a commit, branch or tag of the repo as a starting point; it is measured, and never a keep."""
    project, commit = project_and(words, "COMMIT")
    done = ask(ImportCommit(project=project, commit=commit, summary=summary))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{done.ref} {done.commit[:10]} {done.subject} ({done.project})")
        click.echo(f'next: piloop idea add "…" --base {done.ref}')


@candidate.command(cls=TextCommand)
@click.argument("candidate", metavar="candidate#N")
@click.argument("reason")
@click.option(
    "--follow-up", multiple=True, metavar="HUNCH", help="File it as a seed that starts there. Repeatable."
)
@json_option
def note(candidate: str, reason: str, follow_up: tuple[str, ...], as_json: bool) -> None:
    """Say why a candidate that is no keep is worth starting from; a discarded one becomes interesting."""
    done = ask(NoteCandidate(candidate=candidate, reason=reason, follow_up=follow_up))
    if as_json:
        print_json(done)
    else:
        click.echo(" ".join([f"{done.ref} ({done.verdict or 'not judged yet'}) is noted", *done.seeds]))


@candidate.command()
@click.argument("candidate", metavar="candidate#N")
@click.option("--reason", required=True, help="Why: a comment on it, and in the event log.")
@json_option
def remeasure(candidate: str, reason: str, as_json: bool) -> None:
    """Score a candidate once more; its new score counts, and the daemon judges by it."""
    done = ask(RemeasureCandidate(candidate=candidate, reason=reason))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{done.ref} will be scored again")


@candidate.command()
@click.argument("candidate", metavar="candidate#N")
@click.argument("verdict", type=click.Choice(VERDICTS))
@click.option("--reason", required=True, help="Why: a comment on it, and in the event log.")
@json_option
def verdict(candidate: str, verdict: VerdictWord, reason: str, as_json: bool) -> None:
    """Overrule the verdict on a candidate; the daemon then leaves it alone.

    A keep that was made from the head becomes the head; a head that is no keep hands over to the keep before it.
    """
    done = ask(OverruleVerdict(candidate=candidate, verdict=verdict, reason=reason))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{done.ref} is {done.verdict}; the head is {done.head}")
