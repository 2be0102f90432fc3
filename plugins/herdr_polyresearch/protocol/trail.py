"""The comments of one thread, in the order in which they count, each with the event that it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from herdr_polyresearch.protocol.blocks import AdminNoteBlock, Block
from herdr_polyresearch.protocol.comments import parse
from herdr_polyresearch.protocol.findings import ADMIN_NOTE, SLASH, Fault, finding
from herdr_polyresearch.protocol.model import Finding, Guidance, Scope
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.slash import Slash
from herdr_polyresearch.protocol.threads import Comment


class Trail:
    """One thread while it is read: the maintainer's word, the lead's acknowledgements and the findings so far."""

    def __init__(self, comments: Sequence[Comment], scope: Scope, program: Program) -> None:
        # Times have a resolution of a second, so the id says which came first within one.
        self.comments = sorted(comments, key=lambda c: (c.created_at, c.id))
        self.scope: Scope = scope
        self.program = program
        self.approved = False
        self.rejected = False
        self.acknowledged: set[int] = set()
        self.guidance: list[Guidance] = []
        self._findings: list[Finding] = []
        self._disputed: list[Finding] = []

    def events(self) -> Iterator[tuple[Comment, Block | Slash]]:
        """Yield every comment that is an event; what any thread can hold has been seen to already.

        A slash command of the maintainer is yielded after it was taken note of; a stranger's, and any repair
        note, is not yielded.
        """
        for comment in self.comments:
            event = parse(comment.body)
            if isinstance(event, AdminNoteBlock):
                self._note(comment, event)
            elif isinstance(event, Slash):
                if self._slash(comment, event):
                    yield comment, event
            elif event is not None:
                yield comment, event

    def fault(self, comment: Comment, fault: Fault) -> None:
        """Record that a comment does not count.

        Args:
            comment: which one.
            fault: why not.
        """
        self._findings.append(finding(comment, self.scope, fault))

    def dispute(self, comment: Comment, fault: Fault) -> None:
        """Record that a comment counts here, and that the existing reader will say `fault` of it.

        Args:
            comment: which one.
            fault: what the existing reader says.
        """
        self._disputed.append(finding(comment, self.scope, fault))

    def is_lead(self, comment: Comment) -> bool:
        """Whether the lead wrote it; logins compare as the forge spells them."""
        return self.program.lead_github_login is not None and comment.author == self.program.lead_github_login

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that the lead has not acknowledged on this thread."""
        return tuple(f for f in self._findings if f.comment_id not in self.acknowledged)

    @property
    def disputed(self) -> tuple[Finding, ...]:
        """What only the existing reader would find, and the lead has not acknowledged."""
        return tuple(f for f in self._disputed if f.comment_id not in self.acknowledged)

    def _slash(self, comment: Comment, slash: Slash) -> bool:
        if comment.author != self.program.maintainer_github_login:
            self.fault(comment, SLASH)
            return False
        self.approved, self.rejected = slash.approve, not slash.approve
        self.guidance.append(
            Guidance(
                comment_id=comment.id,
                author=comment.author,
                created_at=comment.created_at,
                scope=self.scope,
                number=comment.thread,
                approved=slash.approve,
                reason=slash.reason or "",
            )
        )
        return True

    def _note(self, comment: Comment, note: AdminNoteBlock) -> None:
        if not self.is_lead(comment):
            self.fault(comment, ADMIN_NOTE)
        elif note.action == "acknowledge_invalid" and note.related_comment_id is not None:
            self.acknowledged.add(note.related_comment_id)
