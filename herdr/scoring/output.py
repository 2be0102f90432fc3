"""What an evaluate command prints: read through pipes as it comes, however much it is, and kept in part.

Not a file that the command writes: what else runs as the same user can empty such a file through /proc, and a
command that prints without end would fill the disk.
"""

from __future__ import annotations

import os
import re
import selectors
import threading
import time
from pathlib import Path
from typing import IO

from herdr.files import Folder

#: Bytes that are kept of the beginning and of the end of an output, each.
KEPT = 1024 * 1024
#: Bytes of a line that may give a metric, and how many such lines are kept.
LINE_LIMIT, LINES = 4096, 10_000
#: Seconds that are given to what is still in the pipes when the command has ended and somebody goes on printing.
DRAIN = 2.0
CHUNK = 256 * 1024

METRIC = re.compile(rb"^METRIC[^\n]*$", re.MULTILINE)


class Output:
    """One output: its first and last bytes, and the lines that may give a metric, each once.

    Args:
        descriptor: a new file, which gets what is kept and is closed with this.
    """

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._head, self._tail = bytearray(), bytearray()
        self._left_out = 0
        self._line = b""
        self._metrics: dict[bytes, None] = {}

    def feed(self, chunk: bytes) -> None:
        """Take in what was printed next."""
        self._find_metrics(chunk)
        room = KEPT - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            self._keep(chunk[:room])
            chunk = chunk[room:]
        self._tail += chunk
        if len(self._tail) > 2 * KEPT:
            self._left_out += len(self._tail) - KEPT
            del self._tail[:-KEPT]

    def close(self) -> None:
        """Nothing more comes: write down the end."""
        self._find_metrics(b"\n")
        if len(self._tail) > KEPT:
            self._left_out += len(self._tail) - KEPT
            del self._tail[:-KEPT]
        if self._left_out:
            self._keep(b"\n[%d bytes are left out here]\n" % self._left_out)
        self._keep(self._tail)
        self._file.close()

    @property
    def metrics(self) -> str:
        """The lines that may give a metric, in the order in which each came first."""
        return b"\n".join(self._metrics).decode("utf-8", "replace")

    @property
    def last_line(self) -> str:
        """The last line that is not blank, or nothing."""
        lines = bytes(self._tail or self._head).decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _find_metrics(self, chunk: bytes) -> None:
        whole, _, self._line = (self._line + chunk).rpartition(b"\n")
        # The rest of a longer line is passed over: what is kept of it is too long to count.
        self._line = self._line[: LINE_LIMIT + 1]
        if b"METRIC" not in whole:
            return
        for match in METRIC.finditer(whole):
            if len(match[0]) <= LINE_LIMIT and len(self._metrics) < LINES:
                self._metrics[match[0]] = None

    def _keep(self, content: bytes | bytearray) -> None:
        try:
            self._file.write(content)
        except OSError:
            # A full disk costs the record, not the score; the command must not wait for a reader either.
            return


class Capture:
    """Both outputs of one command, read in a thread of their own until `finish`.

    Attributes:
        out: what it prints.
        err: its complaints.
        writers: what the command gets for both.
    """

    def __init__(self, folder: Path) -> None:
        """Open the pipes.

        Args:
            folder: where `stdout.txt` and `stderr.txt` are made.
        """
        with Folder.open(folder) as opened:
            self.out, self.err = (Output(opened.create(name)) for name in ("stdout.txt", "stderr.txt"))
        self._readers: dict[int, Output] = {}
        self.writers: list[IO[bytes]] = []
        for output in (self.out, self.err):
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            # Who opens it anew through /proc may write, as /dev/stdout needs it, but not read it empty.
            os.fchmod(writer, 0o200)
            self._readers[reader] = output
            self.writers.append(os.fdopen(writer, "wb", buffering=0))
        self._stopped, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._read, daemon=True, name="output of an evaluate command")
        self._thread.start()

    def finish(self) -> None:
        """The command has ended: take in what is in the pipes, and let go of them."""
        for writer in self.writers:
            writer.close()
        os.close(self._stop)
        self._thread.join()
        for descriptor in (self._stopped, *self._readers):
            os.close(descriptor)
        for output in (self.out, self.err):
            output.close()

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            for reader in (self._stopped, *self._readers):
                selector.register(reader, selectors.EVENT_READ)
            while self._stopped not in (ready := _ready(selector, None)):
                self._take(selector, ready)
            selector.unregister(self._stopped)
            # Somebody whom nobody could end may hold the pipes open, and even go on printing.
            deadline = time.monotonic() + DRAIN
            while (ready := _ready(selector, 0)) and time.monotonic() < deadline:
                self._take(selector, ready)

    def _take(self, selector: selectors.BaseSelector, ready: list[int]) -> None:
        for reader in ready:
            chunk = os.read(reader, CHUNK)
            if chunk:
                self._readers[reader].feed(chunk)
            else:
                selector.unregister(reader)


def _ready(selector: selectors.BaseSelector, timeout: float | None) -> list[int]:
    return [key.fd for key, _ in selector.select(timeout)]
