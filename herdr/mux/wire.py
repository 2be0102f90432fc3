"""What tmux's control mode writes, taken apart: replies to our commands, and notifications."""

from __future__ import annotations

import msgspec

#: The flag of a reply to a command that this client sent; the other block answers its own command line.
OWN_COMMAND = b"1"


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one command; `lines` hold the reason when it failed."""

    ok: bool
    lines: list[str]


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """Something that tmux tells by itself: `%window-add @3` has the name `window-add` and the rest `@3`.

    The answer to the command line that the client was started by comes as `started`, or as `refused` with the
    reason.
    """

    name: str
    rest: str


class Parser:
    """Turns bytes from the control client into replies and notifications, however they are cut.

    A block is ended only by the `%end` or `%error` with the time and number of its own `%begin`, so text in a
    captured screen that looks like one does no harm.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._block: bytes | None = None
        self._lines: list[str] = []

    def feed(self, data: bytes) -> list[Reply | Notification]:
        """Take what was read and give what it completed, in order."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        events: list[Reply | Notification] = []
        for line in lines:
            event = self._in_block(line) if self._block is not None else self._between(line)
            if event is not None:
                events.append(event)
        return events

    def _between(self, line: bytes) -> Notification | None:
        word, _, rest = line.partition(b" ")
        if word == b"%begin":
            self._block, self._lines = rest, []
            return None
        if not word.startswith(b"%"):
            return None
        return Notification(name=word[1:].decode("utf-8", "replace"), rest=rest.decode("utf-8", "replace"))

    def _in_block(self, line: bytes) -> Reply | Notification | None:
        word, _, rest = line.partition(b" ")
        if word not in (b"%end", b"%error") or rest != self._block:
            self._lines.append(line.decode("utf-8", "replace"))
            return None
        self._block = None
        ok = word == b"%end"
        if rest.endswith(b" " + OWN_COMMAND):
            return Reply(ok=ok, lines=self._lines)
        return Notification(name="started" if ok else "refused", rest="\n".join(self._lines))
