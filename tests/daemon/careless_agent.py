"""An agent that does what careless agents do: random acts in its folder and its repository, by a seed.

It runs as a `command` harness with the brief's path as its argument; the brief says `CARELESS <seed> <acts>`, or
`HONEST <number>`. What HEAD and the branches held, and when, it writes into a log that the test reads. Each act
stays below its own folder and its own repository: an act that would lead elsewhere is not done.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

#: Is in the command line and the environment of every process that it starts.
MARK = os.environ["CARELESS_MARK"]
LOGS = Path(os.environ["CARELESS_LOGS"])
#: How a child that outlives the agent loses its environment.
BARE = "env -i"
#: Seconds that one act may take, and that a process lives which outlives its agent.
ACT, OUTLIVES = 4.0, 60
#: Seconds of a pause: what HEAD or a branch holds for one second has to be scored.
PAUSE = 1.3

#: What it types, in sections `# git` and `# files`; see there.
ACTS = Path(__file__).with_name("careless_acts.txt").read_text().splitlines()
FILES = ACTS[ACTS.index("# files") + 1 :]
GIT = ACTS[ACTS.index("# git") + 1 : ACTS.index("# files") - 1]
#: A child that has lost its parent, its session and its environment; one ignores SIGTERM, one goes on writing.
CHILDREN = (
    f"import time; time.sleep({OUTLIVES})",
    f"import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep({OUTLIVES})",
    f"import time\nfor _ in range({OUTLIVES}): open('number.txt', 'w').write('7777'); time.sleep(1)",
)
#: Where links may lead out of the folder: nothing is done through them.
LINKS = (".herdr", ".herdr/mailbox", ".herdr/mailbox/requests", ".herdr/mailbox/answers")
#: What an agent does that notices that nothing works any more.
MEND = "cp -f $P/config $R/config; rm -rf .git; echo gitdir: $A > .git; rm -f $A/*.lock $R/*.lock"


class Agent:
    """One run's agent.

    Args:
        seed: what decides all that it does.
    """

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.top = Path.cwd()
        self.admin = Path(self.top, ".git").read_text().partition(": ")[2].strip()
        self.repository = str(Path(self.admin, "../..").resolve())
        self.base = self.git(self.admin, "rev-parse", "HEAD")
        self.log = LOGS / f"{os.environ['PILOOP_ACTOR']}.jsonl"
        self.count = 0
        self.private, self.nowhere = LOGS / f"private-{self.log.stem}", LOGS / f"nowhere-{self.log.stem}"
        for folder in (self.private, self.nowhere):
            folder.mkdir()
        (self.private / "secret").write_text("a secret of the person's\n")
        shutil.copy(f"{self.repository}/config", self.private / "config")

    def git(self, folder: str, *words: str) -> str:
        """What git says of the run's repository, whatever the worktree has become; "" where it cannot say."""
        argv = ["git", f"--git-dir={folder}", *words]
        env = {**os.environ, "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0"}
        try:
            done = subprocess.run(
                argv, cwd="/", env=env, capture_output=True, text=True, timeout=ACT, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    def is_safe(self) -> bool:
        """Whether neither the folder nor its `.git` leads anywhere but to what is the run's own."""
        if os.path.lexists(self.top) and os.path.realpath(self.top) != str(self.top):
            return False
        link = self.top / ".git"
        if link.is_symlink() or link.is_dir():
            target = os.path.realpath(link)
        elif link.is_file():
            target = os.path.realpath(link.read_text(errors="replace").partition(": ")[2].strip() or "/nowhere")
        else:
            return True
        own = (str(self.top), self.repository, str(LOGS), "/nowhere")
        return any(target == one or target.startswith(one + "/") for one in own)

    def shell(self, line: str) -> None:
        """Do a command line in the folder, if that is safe, and not for ever."""
        if not self.is_safe():
            return
        env = {
            **os.environ, "W": str(self.top), "R": self.repository, "A": self.admin, "GIT_EDITOR": "true",
            "CHECKOUT": os.environ["HERDR_CHECKOUT"], "P": str(self.private),
            "GIT_CEILING_DIRECTORIES": f"{self.top.parent}:{self.nowhere.parent}",
        }  # fmt: skip
        if ".herdr" in line and any((self.top / link).is_symlink() for link in LINKS):
            line = "rm -rf .herdr"
        # Where its folder is gone, what is meant for it happens in one where nobody looks.
        cwd = self.top if self.top.is_dir() else self.nowhere
        null = subprocess.DEVNULL
        child = subprocess.Popen(
            ["sh", "-c", line], cwd=cwd, env=env, stdin=null, stdout=null, stderr=null, start_new_session=True
        )
        try:
            child.wait(ACT)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def act(self) -> str:
        """One act; what it was."""
        self.count += 1
        kind = self.random.choices(("commit", "git", "file", "child", "mend", "pause"), (30, 45, 20, 2, 5, 8))[0]
        number = f"{self.random.uniform(0, 9):.4f}"
        if kind == "commit":
            line = f"echo {number} > number.txt; git add -A; git commit -qm 'number {number}'"
        elif kind == "child":
            code = self.random.choice(CHILDREN)
            line = f'setsid {BARE} "{sys.executable}" -c "{code}" {MARK} &'
        elif kind == "mend":
            line = MEND
        elif kind == "pause":
            time.sleep(PAUSE)
            return "pause"
        else:
            branch = self.random.choice(
                ("main", "HEAD", "b1", f"b{self.random.randrange(1, self.count + 1)}", "t")
            )
            commit = self.random.choice(("HEAD", "HEAD~1", "HEAD~2", "main", "ORIG_HEAD", "HEAD@{1}", branch))
            line = self.random.choice(GIT if kind == "git" else FILES)
            line = line.replace("{n}", str(self.count)).replace("{b}", branch).replace("{c}", commit)
        self.shell(line)
        return line

    def note(self, what: str) -> None:
        """Write down what HEAD and the branches hold now."""
        held = self.git(
            self.repository, "for-each-ref", "--format=%(objectname) %(tree) %(committerdate:unix)", "refs/heads"
        ).splitlines()
        held.append(
            self.git(self.admin, "log", "-1", "--no-show-signature", "--no-color", "--format=%H %T %ct", "HEAD")
        )
        pairs = sorted({line for line in held if re.fullmatch(r"[0-9a-f]{40} [0-9a-f]{40} [0-9]+", line)})
        with self.log.open("a") as file:
            file.write(json.dumps({"at": time.time(), "act": what, "held": pairs, "base": self.base}) + "\n")

    def careless(self, acts: int) -> int:
        """All of it; the exit status, if it comes to that."""
        # An agent that has said something has started, however it ends: no failed start holds the project.
        subprocess.run(["piloop", "comment", "add", f"run#{os.environ['CARELESS_RUN']}", "at work"], check=False)
        self.note("start")
        for _ in range(self.random.randrange(acts // 2, acts + 1)):
            self.note(self.act())
        time.sleep(self.random.choice((0, PAUSE)))
        if self.random.random() < 0.1 and self.is_safe():
            self.shell("rm -rf $W; ln -s $CHECKOUT $W")
        how = self.random.choice((0, 0, 0, 1, "kill"))
        self.note(f"end {how}")
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return int(how)


def main() -> int:
    """Do what the brief says."""
    brief = Path(sys.argv[1]).read_text()
    careless = re.search(r"CARELESS (\S+) (\d+)", brief)
    run = re.search(r"run-(\d+)-", Path.cwd().name)
    os.environ["CARELESS_RUN"] = run[1] if run else "0"
    starts = LOGS / f"{Path.cwd().name}.starts"
    starts.write_text(starts.read_text() + "x" if starts.exists() else "x")
    if Path.cwd() == Path(os.environ["HERDR_CHECKOUT"]) or not run:
        (LOGS / "in-the-checkout").touch()
        return 0
    if careless and len(starts.read_text()) == 1:
        return Agent(careless[1]).careless(int(careless[2]))
    honest = re.search(r"HONEST (\S+)", brief)
    Path("number.txt").write_text(f"{honest[1] if honest else 3}\n")
    subprocess.run(["git", "commit", "-qam", "honest"], check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
