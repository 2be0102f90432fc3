"""A campaign of careless agents, and what must hold after it, whatever they did."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import psutil

from .conftest import Campaign, wait_until

AGENT = Path(__file__).with_name("careless_agent.py")
#: What an honest agent scores: more than any careless one can.
HONEST = 100_000
#: Seconds that what HEAD or a branch holds has to be held to count.
HELD = 1.0
#: How a note says of many commits that they do not count.
NAMED = re.compile(r"\d+ (more )?commits (could not be taken over|were made, of which)")


class Held(NamedTuple):
    """A commit that HEAD or a branch of an agent held for at least a second."""

    run: int
    commit: str
    tree: str


class Careless:
    """Files the ideas, waits for the runs, and checks.

    Args:
        campaign: not registered yet.
        seed: what decides all that the agents do.
        acts: how many acts an agent does at most.
        runs: how many careless agents there are.
    """

    def __init__(self, campaign: Campaign, seed: str, *, acts: int, runs: int) -> None:
        self.campaign, self.seed, self.acts, self.runs = campaign, seed, acts, runs
        self.logs = campaign.root.parent / "careless"
        self.logs.mkdir()
        self.mark = f"careless-{uuid.uuid4().hex}"
        self.before: dict[str, object] = {}

    def start(self) -> None:
        """Register, and let the careless agents begin."""
        env = {"CARELESS_MARK": self.mark, "CARELESS_LOGS": str(self.logs)}
        table = ", ".join(f"{name} = {json.dumps(text)}" for name, text in env.items())
        command = json.dumps([sys.executable, str(AGENT), "{brief}"])
        self.campaign.configure(timeout=25, slots=2, top="attempts = 1")
        file = self.campaign.root / "piloop.toml"
        text = file.read_text().replace('runtime = "herdr"', 'runtime = "subprocess"')
        text = text.replace('harnesses = ["scripted"]', 'harnesses = ["careless"]')
        file.write_text(f"{text}\n[harness.careless]\nheadless = {command}\nenv = {{ {table} }}\n")
        (self.campaign.root / "untracked.txt").write_text("of the person\n")
        self.campaign.register()
        self.before = person_state(self.campaign.root)
        for number in range(self.runs):
            self.campaign.idea(f"careless {number}", plan=f"CARELESS {self.seed}.{number} {self.acts}")
        self.campaign.up()

    def finish(self, seconds: float) -> None:
        """Wait until each run is settled, and after them an honest one: no slot is lost.

        Args:
            seconds: how long each of the two may take.
        """
        self.campaign.settled(self.runs, seconds=seconds)
        self.campaign.idea("honest", plan=f"HONEST {HONEST}")
        self.campaign.settled(self.runs + 1, seconds=seconds)

    def check(self) -> None:
        """What must hold whatever the agents did."""
        self._person_is_unchanged()
        self._runs_end_once()
        self._honest_run_wins()
        self._commits_count()
        self._verdicts_are_true()
        self._no_process_is_left()
        self._daemon_works()
        self._disk_is_named()

    def acts_done(self) -> str:
        """What the agents did, for the report of a failure."""
        lines = []
        for log in sorted(self.logs.glob("*.jsonl")):
            entries = [json.loads(line) for line in log.read_text().splitlines()]
            lines += [f"{log.stem} {entry['at'] - entries[0]['at']:6.2f} {entry['act']}" for entry in entries]
        return "\n".join(lines)

    def _person_is_unchanged(self) -> None:
        assert not (self.logs / "in-the-checkout").exists(), "an agent was launched in the checkout"
        after = person_state(self.campaign.root)
        changed = {path for path in self.before.keys() | after.keys() if self.before.get(path) != after.get(path)}
        assert not changed, f"of the person's: {sorted(changed)}"

    def _runs_end_once(self) -> None:
        final = "('run.succeeded', 'run.failed', 'run.timed_out', 'run.cancelled')"
        ends = self.campaign.rows(
            f"SELECT target_id, count(*) FROM events WHERE kind IN {final} GROUP BY target_id"
        )
        assert {row[0]: row[1] for row in ends} == dict.fromkeys(range(1, self.runs + 2), 1)
        assert not self.campaign.rows("SELECT id FROM runs WHERE settled_at IS NULL")
        assert not self.campaign.rows("SELECT id FROM agents WHERE state <> 'ended'")

    def _honest_run_wins(self) -> None:
        run = self.campaign.rows("SELECT state, end_cause, end_detail FROM runs ORDER BY id DESC LIMIT 1")[0]
        assert run["state"] == "succeeded", tuple(run)
        head = "SELECT tree_sha FROM candidates WHERE id = (SELECT head_id FROM projects)"
        assert self._true_score(self.campaign.value(head)) == HONEST

    def _commits_count(self) -> None:
        """Each commit that was held long enough is scored, once, or a note on its run names it."""
        scored = Counter(
            row[0] for row in self.campaign.rows(
                "SELECT c.tree_sha FROM candidates c JOIN measurements m ON m.candidate_id = c.id"
                " WHERE m.state = 'done' AND m.purpose = 'score'"
            )
        )  # fmt: skip
        assert set(scored.values()) == {1}, scored
        trees = Counter(row[0] for row in self.campaign.rows("SELECT tree_sha FROM candidates"))
        assert set(trees.values()) == {1}, trees
        said: dict[int, str] = {}
        for row in self.campaign.rows("SELECT target_id, body FROM comments WHERE target_kind = 'run'"):
            said[row[0]] = said.get(row[0], "") + row[1] + "\n"
        for row in self.campaign.rows("SELECT id, end_detail FROM runs"):
            said[row[0]] = said.get(row[0], "") + (row[1] or "") + "\n"
        missing = [
            one for one in self._held()
            if one.tree not in scored and one.commit[:12] not in said[one.run] and not NAMED.search(said[one.run])
        ]  # fmt: skip
        assert not missing, f"neither scored nor named: {missing}"

    def _held(self) -> list[Held]:
        found = []
        sql = "SELECT role || '#' || id, run_id FROM agents"
        run_of = {row[0]: row[1] for row in self.campaign.rows(sql)}
        for log in self.logs.glob("*.jsonl"):
            since: dict[str, float] = {}
            long: set[str] = set()
            entries = [json.loads(line) for line in log.read_text().splitlines()]
            base, begin = entries[0]["base"], int(entries[0]["at"])
            for entry in entries:
                # What was seen before an act and after it counts as held in between.
                since = {pair: since.get(pair, entry["at"]) for pair in entry["held"]}
                long |= {pair for pair, at in since.items() if entry["at"] - at >= HELD}
            for commit, tree, date in (pair.split() for pair in sorted(long)):
                # One that was made before the run is not the run's.
                if commit != base and int(date) >= begin:
                    found.append(Held(run_of[log.stem], commit, tree))
        return found

    def _verdicts_are_true(self) -> None:
        scores: dict[int, float | None] = {}
        sql = (
            "SELECT c.id, c.tree_sha, m.metrics, m.error FROM candidates c JOIN measurements m"
            " ON m.candidate_id = c.id WHERE m.state = 'done' AND m.purpose = 'score'"
        )
        for row in self.campaign.rows(sql):
            scores[row["id"]] = value = json.loads(row["metrics"]).get("score")
            true = self._true_score(row["tree_sha"])
            assert value == true, f"candidate#{row['id']} is scored {value}, not {true}: {row['error']}"
        for row in self.campaign.rows("SELECT id, bar_id, verdict FROM candidates WHERE origin <> 'baseline'"):
            if row["verdict"] == "keep":
                score, bar = scores[row["id"]], scores[row["bar_id"]]
                assert score is not None, row["id"]
                assert bar is None or score > bar, tuple(row)
        sql = "SELECT id FROM candidates WHERE verdict IS NULL AND origin IN ('run', 'recovered', 'rebase')"
        assert not self.campaign.rows(sql)

    def _true_score(self, tree: str) -> float | None:
        """What the evaluator has to say of a tree; None where it has to fail."""
        path = "number.txt"
        for _ in range(3):
            entry = self.campaign.git("ls-tree", tree, path)
            if not entry:
                return None
            mode, kind, sha = entry.split("\t")[0].split()
            if kind != "blob":
                return None
            text = self.campaign.git("cat-file", "blob", sha)
            if mode != "120000":
                try:
                    return float(text)
                except ValueError:
                    return None
            path = text
            if "/" in path:
                return None
        return None

    def _no_process_is_left(self) -> None:
        wait_until(lambda: not self._processes(), f"no process is left of {self._processes()}", 15)

    def _processes(self) -> list[str]:
        found = []
        for process in psutil.process_iter():
            try:
                words, env, status = process.cmdline(), process.environ(), process.status()
            except psutil.Error:
                continue
            if status != psutil.STATUS_ZOMBIE and (self.mark in words or self.mark in env.values()):
                found.append(f"{process.pid} {' '.join(words)[:200]}")
        return found

    def _daemon_works(self) -> None:
        assert self.campaign.daemon is not None
        assert self.campaign.daemon.poll() is None
        self._command("herdr.cli", "status")
        faults = self.campaign.rows("SELECT payload FROM events WHERE kind = 'daemon.fault'")
        assert not faults, [row[0] for row in faults]

    def _disk_is_named(self) -> None:
        """What is left of the runs' folders and repositories is named to a person."""
        named = self._command("herdr.cli", "clean", "--dry-run", program="herdr")
        named += "\n".join(row[0] for row in self.campaign.rows("SELECT body FROM comments"))
        left = [path for path in (self.campaign.root / ".worktrees").iterdir() if path.name != ".gitignore"]
        unnamed = [path.name for path in left if path.name not in named]
        assert not unnamed, f"left in .worktrees without a word: {unnamed}"
        kept = {match[1] for path in left if (match := re.match(r"(run-\d+)-", path.name))}
        repositories = self.campaign.home.repositories(self.campaign.root).glob("run-*.git")
        unnamed = [path.name for path in repositories if path.stem not in kept and path.name not in named]
        assert not unnamed, f"repositories without a folder: {unnamed}"

    def _command(self, module: str, *words: str, program: str = "piloop") -> str:
        code = f"import sys; from {module}.main import run; sys.exit(run({program!r}, sys.argv[1:]))"
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=self.campaign.root,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{program} {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def end_processes(self) -> None:
        """End what the product left, so that a failing test leaves nothing."""
        for one in self._processes():
            try:
                os.kill(int(one.split()[0]), 9)
            except ProcessLookupError:
                continue


def person_state(root: Path) -> dict[str, object]:
    """Each file of a checkout and its git folder, but for objects, herdr's pins and the folders of runs.

    Args:
        root: the checkout.
    """
    found: dict[str, object] = {}
    for parent, folders, names in os.walk(root):
        here = os.path.relpath(parent, root)
        if here == ".":
            folders.remove(".worktrees") if ".worktrees" in folders else None
        elif here == ".git":
            folders.remove("objects")
        elif here in (".git/refs", ".git/logs/refs"):
            folders[:] = [name for name in folders if name != "piloop"]
        for name in names:
            path = Path(parent, name)
            info = path.lstat()
            content: object = path.readlink() if path.is_symlink() else None
            if stat.S_ISREG(info.st_mode):
                content = path.read_bytes()
            found[os.path.normpath(f"{here}/{name}")] = (info.st_mode, content)
        found[f"{here}/"] = Path(parent).lstat().st_mode
    return found
