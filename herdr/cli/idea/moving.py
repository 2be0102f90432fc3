"""`piloop idea approve`, `park`, `reject` and `ready`."""

from __future__ import annotations

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json
from herdr.ops.idea.moving import ApproveIdea, MoveIdea, ParkIdea, ReadyIdea, RejectIdea

MOVES: dict[str, tuple[type[MoveIdea], str]] = {
    "approve": (ApproveIdea, "Let a proposed idea run."),
    "park": (ParkIdea, "Set an idea aside for now; a run of it that is under way goes on."),
    "reject": (RejectIdea, "Have an idea never run; a run of it that is under way goes on."),
    "ready": (ReadyIdea, "Have an idea run, or run again; a seed that nobody developed becomes a seed again."),
}


def _command(name: str, request: type[MoveIdea], said: str) -> click.Command:
    @click.command(name, help=said)
    @click.argument("idea", metavar="idea#N")
    @click.option("--reason", help="Why: a comment on the idea, and in the event log.")
    @json_option
    def move(idea: str, reason: str | None, as_json: bool) -> None:
        moved = ask(request(idea=idea, reason=reason))
        if as_json:
            print_json(moved)
            return
        click.echo(f"{moved.ref} {moved.title}: {moved.old} -> {moved.status}")
        if moved.run:
            click.echo(f"its run goes on; to end it: piloop run cancel {moved.run}")

    return move


COMMANDS = tuple(_command(name, *move) for name, move in MOVES.items())
