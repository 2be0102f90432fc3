"""A scripted agent for tests: does, line by line, what the `DO` lines of its idea's plan say.

It runs in a real pane as a `command` harness, with the brief's path as its argument, and reads typed lines from
its terminal like a model's CLI would.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

LOG = Path(os.environ["WORKER_LOG"]) if "WORKER_LOG" in os.environ else None


def note(text: str) -> None:
    if LOG is not None:
        with LOG.open("a") as file:
            file.write(f"{os.environ['PILOOP_ACTOR']} {text}\n")


def git(*args: str) -> None:
    subprocess.run(["git", *args], check=True, stdout=subprocess.DEVNULL)


def commit(words: str) -> None:
    """`number=5 the message`; `\\n` in the message starts a new line."""
    number, _, message = words.partition(" ")
    Path("number.txt").write_text(number.partition("=")[2] + "\n")
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", (message or f"number {number}").replace("\\n", "\n"))
    sha = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    note(f"committed {sha}")


def add(words: str) -> None:
    """`parts/7.txt=5 the message`: commit one file, so that it merges with what others commit."""
    change, _, message = words.partition(" ")
    path, _, text = change.partition("=")
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text + "\n")
    git("add", "--", path)
    git("commit", "-q", "-m", message.replace("\\n", "\n"))


def write(words: str) -> None:
    path, _, text = words.partition(" ")
    Path(path).write_text(text.replace("\\n", "\n") + "\n")


def message(_: str) -> None:
    """Wait for one typed line, say that it was taken, and keep it."""
    print("ready>", end=" ", flush=True)
    line = sys.stdin.readline().rstrip("\n")
    print(f"received: {line}", flush=True)
    note(f"got {line}")
    with Path(".herdr/heard").open("a") as file:
        file.write(line + "\n")


def first_start(words: str) -> None:
    """Do the rest of the line only on the first so many starts of the run: `1 exit 3`."""
    count, _, rest = words.partition(" ")
    assert LOG is not None
    # Beside the log: a run has one folder, and what an agent leaves in `.herdr/` is not there at the next start.
    mark = LOG.with_name(f"starts-{Path.cwd().name}")
    starts = int(mark.read_text()) if mark.exists() else 0
    mark.write_text(str(starts + 1))
    if starts < int(count):
        do(rest)


def once(words: str) -> None:
    """Do the rest of the line the first time of all, in whatever run: `KEY exit 3`."""
    key, _, rest = words.partition(" ")
    assert LOG is not None
    mark = LOG.with_name(f"once-{key}")
    if not mark.exists():
        mark.touch()
        do(rest)


def wait_for(path: str) -> None:
    note(f"waits {path}")
    while not Path(path).exists():
        time.sleep(0.02)


def piloop(words: str) -> None:
    argv = [word.replace("\\n", "\n") for word in words.split("|")]
    done = subprocess.run(["piloop", *argv], capture_output=True, text=True, check=False)
    note(f"piloop {done.returncode} {done.stdout.strip()} {done.stderr.strip()}".replace("\n", " / "))


def spawn(words: str) -> None:
    """Start a child that has a session of its own and ignores hangups."""
    subprocess.Popen(["setsid", "sh", "-c", f"trap '' HUP TERM; {words}"])


def shell(words: str) -> None:
    """Run a shell's command line, whatever comes of it."""
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    note(f"sh {done.returncode} {done.stdout.strip()} {done.stderr.strip()}".replace("\n", " / "))


def kill_wrapper(_: str) -> None:
    """Do to the process that started this one what nobody should."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)


COMMANDS: dict[str, Callable[[str], None]] = {
    "sh": shell,
    "killwrapper": kill_wrapper,
    "commit": commit,
    "add": add,
    "write": write,
    "message": message,
    "first": first_start,
    "once": once,
    "wait": wait_for,
    "piloop": piloop,
    "spawn": spawn,
    "exit": lambda words: sys.exit(int(words)),
    "sleep": lambda words: time.sleep(float(words)),
    "say": lambda words: print(words, flush=True),
    "rm": lambda words: Path(words).unlink(),
}


def do(line: str) -> None:
    name, _, words = line.partition(" ")
    COMMANDS[name](words)


def main() -> None:
    brief = Path(sys.argv[1]).read_text()
    note(f"start {os.getpid()}")
    print("at work", flush=True)
    for line in re.findall(r"^\W*DO (.*)$", brief, re.MULTILINE):
        do(line)


main()
