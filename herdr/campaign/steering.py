"""Who may steer an agent at work: which comments are typed to it, and by whom."""

from __future__ import annotations

from herdr.contract.words import CommentKind

#: An escalation is for people, so it is typed to nobody.
STEERS: frozenset[CommentKind] = frozenset({"note", "finding", "decision"})
#: What a worker says reaches others in briefs, as data; the daemon's notes are about the agent, not for it.
NEVER = frozenset({"worker", "daemon"})


def may_steer(kind: CommentKind, author: str) -> bool:
    """Whether a comment is typed to the agents that work on what it is about.

    Args:
        kind: of the comment.
        author: who wrote it, such as `human` or `worker#12`.
    """
    return kind in STEERS and role_of(author) not in NEVER


def role_of(author: str) -> str:
    """The role of an author: `worker` of `worker#12`."""
    return author.partition("#")[0]
