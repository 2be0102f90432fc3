"""What every command works with: the repository around it, PROGRAM.md, the forge, the node, and the state."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from herdr.api import HerdrError, Home, __version__
from herdr_polyresearch.commands.checkout import Checkout
from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.commands.identity import is_lead_node, read_node_file, set_lead_node
from herdr_polyresearch.forge.base import Comment, Forge
from herdr_polyresearch.forge.choose import open_forge
from herdr_polyresearch.protocol.blocks import Block
from herdr_polyresearch.protocol.broken import broken_lines
from herdr_polyresearch.protocol.comments import render
from herdr_polyresearch.protocol.derive import derive
from herdr_polyresearch.protocol.ledger import FILE, Ledger, read_ledger
from herdr_polyresearch.protocol.model import Candidate, State, Thesis
from herdr_polyresearch.protocol.node import NODE_ENV, Node, read_node
from herdr_polyresearch.protocol.program import Program, problems, read_program
from herdr_polyresearch.protocol.threads import Snapshot
from herdr_polyresearch.protocol.versions import check_version

PROGRAM_FILE = "PROGRAM.md"
T = TypeVar("T")


def option(name: str) -> object:
    """An option of the program, wherever on the command line it stood."""
    return click.get_current_context().find_root().params.get(name)


def warn(text: str) -> None:
    """Tell the person something that does not stop the command."""
    print(f"warning: {text}", file=sys.stderr)


def now() -> datetime:
    """The time."""
    return datetime.now(timezone.utc)


class Project:
    """One command's view of the project; each part is found when it is first asked for."""

    def __init__(self) -> None:
        self.dry_run = bool(option("dry_run"))
        self.json = bool(option("as_json"))
        self.checkout = Checkout(_working_folder())

    # --- the project ------------------------------------------------------------------------------------------

    @cached_property
    def program(self) -> Program:
        """PROGRAM.md's parameters.

        Raises:
            HerdrError: it is missing, cannot be read, or pins a version that we are not compatible with.
        """
        program = read_program(self.program_text)
        warning = check_version(program.cli_version, __version__)
        if warning:
            warn(warning)
        return program

    @cached_property
    def program_text(self) -> str:
        """The text of PROGRAM.md in the main worktree."""
        path = self.checkout.main / PROGRAM_FILE
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise HerdrError(
                f"there is no {PROGRAM_FILE} in {self.checkout.main}",
                fix="polyresearch init --bootstrap writes one to fill in, with POLYRESEARCH.md and PREPARE.md",
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise HerdrError(f"{path} cannot be read: {error}", fix="write it as UTF-8 text") from error

    @cached_property
    def forge(self) -> Forge:
        """Where the issues are."""
        forge = open_forge(
            home=Home.from_environ(os.environ).root,
            environ=os.environ,
            forge=_text("forge"),
            repo=_text("repo"),
            origin=self.checkout.origin,
            login=_text("login") or os.environ.get("POLYRESEARCH_LOGIN", "").strip() or None,
        )
        close = getattr(forge, "close", None)
        if close is not None:
            click.get_current_context().call_on_close(close)
        return forge

    @cached_property
    def login(self) -> str:
        """Who we are on the forge.

        Raises:
            HerdrError: we are not who we were told to be.
        """
        return self.forge.whoami()

    @cached_property
    def snapshot(self) -> Snapshot:
        """All that the forge holds, read once."""
        # Reading PROGRAM.md first says what is wrong in it before the forge is asked anything.
        _ = self.program
        return self.forge.snapshot()

    @cached_property
    def state(self) -> State:
        """What it adds up to."""
        return derive(self.snapshot, self.program, now())

    @property
    def default_branch(self) -> str:
        """The branch that candidates are merged into."""
        return self.program.default_branch or self.snapshot.repo.default_branch

    def read_again(self) -> None:
        """Forget what was read of the forge, after it was written to."""
        self.__dict__.pop("snapshot", None)
        self.__dict__.pop("state", None)

    def reread(self, number: int, posted: Comment | None = None) -> Thesis | None:
        """Return a thesis as its thread stands now; `posted` counts although a listing may not have it yet.

        Args:
            number: the thesis.
            posted: what we said on it just now.
        """
        thread = self.forge.comments(number)
        if posted is not None and all(comment.id != posted.id for comment in thread):
            thread = (*thread, posted)
        comments = {**self.snapshot.comments, number: thread}
        snapshot = msgspec.structs.replace(self.snapshot, comments=comments)
        return derive(snapshot, self.program, now()).thesis(number)

    # --- results.tsv ------------------------------------------------------------------------------------------

    @cached_property
    def tip(self) -> str | None:
        """The commit of the default branch, after a look at the remote."""
        complaint = self.checkout.fetch(self.default_branch)
        if complaint:
            warn(f"origin was not fetched, so what is here may be old: {complaint.splitlines()[-1]}")
        tip = self.checkout.tip(self.default_branch)
        published = self.checkout.file(tip, PROGRAM_FILE)
        if published is not None and published != self.program_text:
            warn(f"{PROGRAM_FILE} in {self.checkout.main} is not that of {self.default_branch}: git pull")
        return tip

    @cached_property
    def ledger(self) -> Ledger:
        """results.tsv of the default branch."""
        ledger = read_ledger(self.checkout.file(self.tip, FILE))
        for line in broken_lines(ledger):
            warn(f"{FILE} holds a line that is no row: {line!r}")
        return ledger

    # --- who may ----------------------------------------------------------------------------------------------

    @cached_property
    def node(self) -> Node:
        """The node that we act as."""
        return read_node(read_node_file(self.checkout.main), os.environ.get(NODE_ENV))

    @property
    def node_id(self) -> str | None:
        """The node's id; None when there is none yet."""
        try:
            return self.node.node_id
        except HerdrError:
            return None

    def as_contributor(self, what: str) -> Node:
        """Return the node, when it may do what contributors do.

        Raises:
            GuardError: it is the lead's.
            HerdrError: PROGRAM.md does not make sense.
        """
        self._sound()
        node = self.node
        if is_lead_node(self.checkout.common, node.node_id):
            raise GuardError(
                f"node `{node.node_id}` is the lead's here, and the lead does not {what}",
                fix='work as another node: eval "$(polyresearch session --export --role contributor)"; '
                "or end its role: polyresearch init --role contributor",
            )
        return node

    def as_lead(self) -> None:
        """Go on only as the lead; the node is the lead's from then on.

        Raises:
            GuardError: we are not.
            HerdrError: PROGRAM.md does not say who is, or does not make sense.
        """
        self.check_lead()
        if self.node_id and not self.dry_run:
            set_lead_node(self.checkout.common, self.node_id, lead=True)

    def check_lead(self) -> None:
        """Go on only with the lead's login; raises what `as_lead` does."""
        self._sound()
        lead = self.program.lead_github_login
        if lead is None:
            raise GuardError(f"{PROGRAM_FILE} does not say who the lead is", fix="set lead_github_login in it")
        if self.login != lead:
            raise GuardError(
                f"only the lead, {lead}, may do this, and you are {self.login}",
                fix="leave it to the lead, or act as that account",
            )

    def _sound(self) -> None:
        found = problems(self.program)
        if found:
            raise HerdrError(f"{PROGRAM_FILE}: {found[0]}", fix=f"correct {PROGRAM_FILE}")
        named = self.program.default_branch
        if named and not self.checkout.has_remote(named):
            raise HerdrError(
                f"{PROGRAM_FILE}: default_branch is {named}, and origin has no such branch",
                fix=f"correct default_branch in {PROGRAM_FILE}, or git push origin {named}",
            )

    # --- finding and saying -----------------------------------------------------------------------------------

    def thesis(self, number: int) -> Thesis:
        """Return a thesis.

        Raises:
            HerdrError: there is none of this number.
        """
        thesis = self.state.thesis(number)
        if thesis is None:
            what = "is a pull request" if self.state.candidate(number) else "is no thesis"
            raise HerdrError(f"#{number} {what} of {self.snapshot.repo.full_name}", fix="polyresearch status")
        return thesis

    def candidate(self, number: int) -> tuple[Candidate, Thesis]:
        """Return a pull request and its thesis.

        Raises:
            HerdrError: there is no such pull request, or its branch is none of a thesis.
        """
        candidate = self.state.candidate(number)
        if candidate is None:
            what = "is a thesis" if self.state.thesis(number) else "is no pull request"
            raise HerdrError(f"#{number} {what} of {self.snapshot.repo.full_name}", fix="polyresearch status")
        thesis = self.state.thesis(candidate.thesis) if candidate.thesis is not None else None
        if thesis is None:
            raise HerdrError(
                f"#{number} comes from {candidate.pull.head_ref}, which is no branch of a thesis",
                fix="polyresearch status lists the candidates",
            )
        return candidate, thesis

    def post(self, thread: int, block: Block) -> Comment:
        """Post an event.

        Args:
            thread: the issue or pull request.
            block: the event.
        """
        return self.forge.comment(thread, render(block))


def _text(name: str) -> str | None:
    value = option(name)
    return str(value) if value else None


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise HerdrError("the folder that you are in was deleted", fix="cd to another one") from error
