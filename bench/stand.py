"""The stand that everything is measured on: a small project, its home, its tmux socket and its daemon."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from herdr.store.connection import transaction
from tests.campaigns import LiveCampaign, wait_until

#: A table of `[harness.<name>]`.
Harness = Mapping[str, object]

FILES = {
    "evaluate.sh": 'echo "METRIC score=1"\n',
    "note.txt": "nothing yet\n",
    "README.md": "A project that costs next to nothing, so that what is measured is herdr.\n",
}
CONFIG = """\
name = "bench"
runtime = "herdr"
evaluate = ["sh", "evaluate.sh"]
harnesses = {harnesses}

[[metrics]]
name = "score"
direction = "higher"
role = "primary"

[roles.worker]
max_concurrent = {slots}
timeout = 3600

[roles.research]
triggers = []

[roles.watchdog]
triggers = []
"""
PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Bench"), ("EMAIL", "bench@example.com"))
}
#: Seconds for whatever must come to happen, and between looks whether it has.
PATIENCE, LOOK = 120.0, 0.005


class Stand(LiveCampaign):
    """A registered project in a home of its own, with the daemon once it is started."""

    patience, look = PATIENCE, LOOK

    def make(self, harnesses: Mapping[str, Harness], slots: int) -> None:
        """Make the repo and its piloop.toml, and register it as `herdr init` does.

        Args:
            harnesses: the tables of `[harness.<name>]`, by name.
            slots: how many workers may run at once.
        """
        self.root.mkdir()
        for name, text in FILES.items():
            (self.root / name).write_text(text)
        text = CONFIG.format(harnesses=json.dumps(list(harnesses)), slots=slots)
        for name, keys in harnesses.items():
            text += f"\n[harness.{name}]\n" + "".join(f"{key} = {json.dumps(keys[key])}\n" for key in keys)
        (self.root / "piloop.toml").write_text(text)
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")
        self.register()

    def add_ideas(self, count: int) -> float:
        """Add ready ideas in one transaction; when it was committed, in seconds since the epoch."""
        with transaction(self.store) as store:
            known = store.execute("SELECT count(*) FROM ideas").fetchone()[0]
            for number in range(known, known + count):
                self.idea(f"idea {number}")
        return time.time()

    def add_comment(self, run_id: int, body: str) -> tuple[int, float]:
        """Comment on a run; the comment's id, and when it was committed.

        Args:
            run_id: the id of the run's row.
            body: what is said.
        """
        return self.comment(("run", run_id), body), time.time()

    def start(self, *command: str) -> int:
        """Start the daemon, or a `command` that is one, and return its pid once it takes ideas."""
        pid = self.up(*command).pid
        self.wait("SELECT 1 FROM events WHERE kind = 'daemon.started'")
        wait_until(lambda: self.tmux_server() is not None, "the daemon opens its tmux session", look=LOOK)
        return pid

    def tmux_server(self) -> int | None:
        """The pid of the stand's tmux server, or None while there is none."""
        answer = self.tmux("display-message", "-p", "#{pid}", check=False).strip()
        return int(answer) if answer else None


@contextmanager
def stand(harnesses: Mapping[str, Harness], *, slots: int = 1) -> Iterator[Stand]:
    """A stand with these harnesses, which get the runs in turn; nothing of it is left afterwards.

    Args:
        harnesses: the tables of `[harness.<name>]`, by name.
        slots: how many workers may run at once.

    The process has the stand's environment meanwhile: its HOME, its PILOOP_HOME and its tmux sockets.
    """
    # A socket's path may hold only about 100 bytes.
    folder = Path(tempfile.mkdtemp(prefix="hb-", dir="/tmp"))
    before = dict(os.environ)
    kept = {name: before[name] for name in PASSED_ON if name in before}
    os.environ.clear()
    os.environ.update(
        {
            **kept,
            **IDENTITY,
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": str(folder),
            "PILOOP_HOME": str(folder / "home"),
            "TMUX_TMPDIR": str(folder),
        }
    )
    try:
        with closing(Stand(folder / "repo")) as made:
            made.make(harnesses, slots)
            yield made
    finally:
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)


def seconds_of(stamp: str) -> float:
    """A time of the store in seconds since the epoch."""
    from herdr.times import parse_timestamp

    return parse_timestamp(stamp).timestamp()
