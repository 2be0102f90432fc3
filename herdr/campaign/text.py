"""How things are named (`idea#12`), and the one line that carries a comment to a running agent."""

from __future__ import annotations

import re
from collections.abc import Sequence

from herdr.errors import UsageError

#: How much of a comment is typed into a pane, in characters (docs/ideas-seeds-runs.md, "Steer a running worker").
LINE_LENGTH = 200

# SQLite's largest row id: a longer number names nothing, and would overflow in the query.
_LARGEST_ID = 2**63 - 1
_REF = re.compile(r"(?:(?P<kind>[a-z]+)#)?(?P<id>[0-9]{1,19})")
_ESCAPE = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]")
_OUR_MARK = re.compile(r"\[\s*piloop\s*\]", re.IGNORECASE)


def ref(kind: str, number: int) -> str:
    """The name of a thing, as it is printed everywhere and accepted everywhere: `idea#12`.

    Args:
        kind: what sort of thing it is, such as `idea` or `run`.
        number: the id of its row.
    """
    return f"{kind}#{number}"


def parse_ref(text: str, kinds: Sequence[str]) -> tuple[str, int]:
    """Read a name such as `run#7`.

    Args:
        text: what the person typed. A bare number does where only one kind is expected.
        kinds: the kinds that fit here.

    Raises:
        UsageError: it is no name, or names a kind that does not fit.
    """
    match = _REF.fullmatch(text.strip())
    kind = match["kind"] if match and match["kind"] else kinds[0]
    number = int(match["id"]) if match else 0
    known = match is not None and kind in kinds and (match["kind"] or len(kinds) == 1)
    if known and 0 < number <= _LARGEST_ID:
        return kind, number
    wanted = " or ".join(ref(kind, 12) for kind in kinds)
    fix = f"write {wanted}, or only the number" if len(kinds) == 1 else f"write {wanted}"
    raise UsageError(f"{text!r} does not name {_a(kinds)}", fix=fix)


def first_line(text: str, length: int = LINE_LENGTH) -> str:
    """The first line of `text` that says something, without control characters, cut with `…` to `length`."""
    for line in text.splitlines():
        visible = "".join(char for char in _ESCAPE.sub("", line.replace("\t", " ")) if char.isprintable()).strip()
        if visible:
            return visible if len(visible) <= length else visible[: length - 1].rstrip() + "…"
    return ""


def steering_line(*, comment: int, kind: str, target: str, author: str, body: str) -> str:
    """The line that carries a comment to a running agent (`docs/ideas-seeds-runs.md`, "Steer a running worker").

    An agent trusts lines that begin with `[piloop]`. Inside the comment's text this mark is changed to
    `(piloop)`, so that nobody can write a comment that looks like a second line from herdr.

    Args:
        comment: the comment's id.
        kind: note, finding or decision.
        target: what it is on, such as `idea#3`.
        author: who wrote it, such as `human` or `worker#12`.
        body: its whole text; the first line is carried.
    """
    line = _OUR_MARK.sub("(piloop)", first_line(body))
    query = f'piloop sql "SELECT body FROM comments WHERE id={comment}"'  # noqa: S608 - it is shown, not run
    return f"[piloop] {kind} on {target} by {author}: {line} — full text: {query}"


def _a(kinds: Sequence[str]) -> str:
    return " or ".join(f"an {kind}" if kind[0] in "aeiou" else f"a {kind}" for kind in kinds)
