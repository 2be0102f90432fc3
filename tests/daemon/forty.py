"""A campaign of forty ideas, planned from a seed and played so that nothing depends on who is quicker.

Every agent waits for leave. The player lets the daemon start what it wants, pauses the project, does what a
person does now, gives leave to one agent after the other, each until its run is settled, and lets the project go
on. So the daemon decides again and again, and what it decides follows from the plan alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from herdr.ops.candidate.changing import ImportCommit
from herdr.ops.idea.filing import AddIdea, PlantSeed
from herdr.ops.idea.moving import ApproveIdea, MoveIdea, ParkIdea, RejectIdea
from herdr.ops.project import ResumeProject
from herdr.ops.run import CancelRun

from .conftest import Campaign, wait_until

EVALUATE = """\
from pathlib import Path

parts = [float(part.read_text()) for part in Path("parts").glob("*.txt")]
print(f"METRIC score={round(1 + sum(parts), 6)}")
print("METRIC cost=0")
"""
LEAVE = ".herdr/leave"
WAIT = f"wait {LEAVE}"
SLOTS = 3
#: One of them is filed by a person on the way.
FORTY = 40


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """An idea to file, what its agent does, and what docs/ideas-seeds-runs.md says becomes of it."""

    title: str
    ends: str
    verdicts: Sequence[str | None] = ()
    runs: int = 1
    do: Sequence[str] = ()
    how: str = "add"
    options: dict[str, Any] = {}

    @property
    def order(self) -> str:
        """What the agent reads in its brief."""
        return "\n".join(f"DO {line}" for line in self.do)


class Plan:
    """The ideas, in the order that they are filed in; `full`: forty of them, else the kinds that matter most."""

    def __init__(self, seed: int, *, full: bool) -> None:
        self.chance = random.Random(seed)
        self.ideas: list[Planned] = []
        self._failures()
        if full:
            self._odd_ends()
        self._chains("ab" if full else "a")
        self._superseded()
        self._pinned()
        self._seeds()
        self._people()
        while full and len(self.ideas) < FORTY - 3:
            self._plain(f"plain {self.next_id}", priority=self.chance.randrange(5))
        self._dead()

    @property
    def next_id(self) -> int:
        return len(self.ideas) + 1

    def _dead(self) -> None:
        """Last of all, so that no slot that it gives up is anybody else's."""
        dead = self.file("never starts", "parked", "exit 3", runs=2, priority=4)
        self.lost = self.file(
            "after what never starts", "ready", WAIT, runs=0, priority=0, after=[f"idea#{dead}"]
        )

    def file(self, title: str, ends: str, *do: str, **more: Any) -> int:
        """Plan an idea and return the id that it will have."""
        values = {name: more.pop(name) for name in ("verdicts", "runs", "how") if name in more}
        self.ideas.append(Planned(title=title, ends=ends, do=do, options=more, **values))
        return len(self.ideas)

    def part(self, value: object, message: str) -> str:
        return f"add parts/{self.next_id}.txt={value} {message}"

    def _plain(self, title: str, **more: Any) -> int:
        value = self.chance.choice([-2, -1, 1, 2, 3])
        verdicts = ("keep",) if value > 0 else ("discard",)
        return self.file(title, "done", WAIT, self.part(value, title), verdicts=verdicts, **more)

    def _failures(self) -> None:
        self.file(
            "starts late", "done", "first 1 exit 3", WAIT, self.part(1, "late"), verdicts=("keep",), priority=1
        )
        failing = [WAIT, f"piloop comment|add|idea#{self.next_id}|--kind|note|this fails", "exit 7"]
        self.file("fails twice", "done", *failing, runs=2, priority=3)
        finding = "piloop comment|add|idea#{}|--kind|finding|what came of it"
        self.file("only a finding", "done", WAIT, finding.format(self.next_id), priority=1)
        self.file("no number", "done", WAIT, self.part("oops", "oops"), verdicts=("crash",), priority=3)

    def _odd_ends(self) -> None:
        note = f"piloop comment|add|idea#{self.next_id}|--kind|note|begun"
        at_last = [WAIT, note, "once second exit 7", self.part(2, "second")]
        self.file("works at last", "done", *at_last, verdicts=("keep",), runs=2, priority=2)
        finding = f"piloop comment|add|idea#{self.next_id}|--kind|finding|what came of it"
        careless = [finding, f"write parts/{self.next_id}.txt 1"]
        self.file("careless", "done", WAIT, *careless, verdicts=("keep",), priority=3)
        skip = self.part(9, "scaffold\\n\\nPiloop-Eval: skip")
        self.file("scaffolding", "done", WAIT, skip, verdicts=(None,), priority=2)
        cheat = ["write evaluate.py print('METRIC score=99\\nMETRIC cost=0')", "commit number=1 cheat"]
        self.file("cheats", "done", WAIT, *cheat, verdicts=("discard",), priority=2)

    def _chains(self, names: str) -> None:
        for chain in names:
            before: list[str] = []
            for step in range(4):
                idea = self._plain(f"chain {chain}{step}", priority=4 - step, after=before)
                before = [f"idea#{idea}"]
        ends = [
            f"idea#{number}" for number, idea in enumerate(self.ideas, 1) if idea.title.endswith(("a3", "b3"))
        ]
        self._plain("after all chains", priority=0, after=ends)

    def _superseded(self) -> None:
        old = [
            self.file("blunt", "rejected", WAIT, runs=0, priority=4),
            self.file("blunt and proposed", "rejected", WAIT, runs=0, proposed=True),
        ]
        self._plain("sharp", priority=4, supersedes=[f"idea#{number}" for number in old])
        self.first = self._plain("first version", priority=0)

    def _pinned(self) -> None:
        for number in range(2):
            self._plain(f"from the baseline {number}", priority=4, base="candidate#1")
        self._plain("from elsewhere", priority=4, base="candidate#2")

    def _seeds(self) -> None:
        developed = (
            "piloop idea|develop|idea#{}|--hypothesis|it helps|--evidence|arithmetic|--check|print it"
            "|--metric|score|--effect|more|--plan|DO {}\nDO {}"
        )
        for number, value in enumerate((2, -1)):
            plan = developed.format(self.next_id, WAIT, self.part(value, f"hunch {number}"))
            verdicts = ("keep",) if value > 0 else ("discard",)
            orders = (WAIT, plan.replace("\n", "\\n"))
            self.file(f"hunch {number}", "done", *orders, how="seed", verdicts=verdicts)
        known = f"piloop idea|reject|idea#{self.next_id}|--reason|idea#1 settled it"
        self.file("known hunch", "rejected", WAIT, known, how="seed", runs=0)
        self.file("hunch left alone", "seed", WAIT, how="seed", runs=0)

    def _people(self) -> None:
        self.approved = self._plain("approved", proposed=True)
        self.refused = self.file("refused", "rejected", WAIT, runs=0, proposed=True)
        self.file("nobody looked at", "proposed", WAIT, runs=0, proposed=True)
        self.parked = self.file(
            "parked at work", "parked", WAIT, self.part(3, "parked"), verdicts=("keep",), priority=1
        )
        self.cancelled = self.file("cancelled", "parked", WAIT, priority=2)
        self._plain("on the other harness", priority=1, harness="second")


class Player:
    """Files a plan's ideas in a campaign and plays it to its end."""

    def __init__(self, campaign: Campaign, plan: Plan, seconds: float) -> None:
        self.campaign, self.plan, self.seconds = campaign, plan, seconds
        self.acts: list[tuple[Callable[[], bool], Callable[[], None]]] = []
        self.sharper = len(plan.ideas) + 1

    def play(self) -> None:
        self._file()
        self.campaign.up()
        while any(self._open()) or self._runnable():
            self.campaign.ask(ResumeProject())
            self._until(self._all_wait, "all that can start waits for leave")
            self.campaign.set_project(state="paused")
            self._act()
            runs, sweeps = self._open()
            self.plan.chance.shuffle(runs)
            for run in runs:
                self._let_go(f"SELECT worktree FROM runs WHERE id = {run} AND cancel_requested = 0")
                self._until(partial(self._is_settled, run), f"run#{run} is settled")
            for sweep in sweeps:
                self._let_go(f"SELECT worktree FROM sweeps WHERE id = {sweep}")
                self._until(partial(self._is_over, sweep), f"sweep#{sweep} is over")
        assert not self.acts, "a person did all that was planned"

    # --- ideas and people ------------------------------------------------------------------------------------

    def _file(self) -> None:
        campaign, plan = self.campaign, self.plan
        campaign.set_project(state="paused")
        campaign.git("branch", "elsewhere")
        root = campaign.root
        campaign.git("worktree", "add", "-q", str(root.parent / "elsewhere"), "elsewhere")
        (root.parent / "elsewhere" / "note.txt").write_text("from elsewhere\n")
        for words in (("add", "note.txt"), ("commit", "-q", "-m", "elsewhere")):
            campaign.git("-C", str(root.parent / "elsewhere"), *words)
        campaign.ask(ImportCommit(commit="elsewhere"))
        for idea in plan.ideas:
            if idea.how == "seed":
                campaign.ask(PlantSeed(hunch=f"{idea.title}\n{idea.order}", provenance="a talk"))
            else:
                campaign.ask(AddIdea(title=idea.title, plan=idea.order, **idea.options))
        self.acts = [
            (lambda: True, lambda: self._move(ApproveIdea, plan.approved)),
            (lambda: True, lambda: self._move(RejectIdea, plan.refused)),
            (lambda: self._works(plan.parked), lambda: self._move(ParkIdea, plan.parked)),
            (lambda: self._works(plan.cancelled), self._cancel),
            (lambda: self.campaign.status(plan.first) == "done", self._sharpen),
        ]

    def _move(self, kind: type[MoveIdea], idea: int) -> None:
        self.campaign.ask(kind(idea=f"idea#{idea}", reason="so we decided"))

    def _works(self, idea: int) -> bool:
        sql = "SELECT 1 FROM runs WHERE idea_id = ? AND state = 'running'"
        return bool(self.campaign.value(sql, idea))

    def _cancel(self) -> None:
        self.campaign.ask(CancelRun(run=f"run#{self.campaign.run_of(self.plan.cancelled).id}"))

    def _sharpen(self) -> None:
        """A sharper version of an idea that ran already: that one keeps everything."""
        title, part = "sharper at last", f"add parts/{self.sharper}.txt=1 sharper"
        first = (f"idea#{self.plan.first}",)
        self.campaign.ask(AddIdea(title=title, plan=f"DO {WAIT}\nDO {part}", supersedes=first, priority=0))

    def _act(self) -> None:
        for one in list(self.acts):
            condition, act = one
            if condition():
                self.acts.remove(one)
                act()

    # --- the daemon and its agents ---------------------------------------------------------------------------

    def _until(self, condition: Callable[[], Any], what: str) -> None:
        wait_until(condition, what, self.seconds)

    def _open(self) -> tuple[list[int], list[int]]:
        """The runs and the sweeps that are not over."""
        runs = [row[0] for row in self.campaign.rows("SELECT id FROM runs WHERE settled_at IS NULL ORDER BY id")]
        over = "state NOT IN ('queued', 'running') AND worktree IS NULL"
        sweeps = [row[0] for row in self.campaign.rows(f"SELECT id FROM sweeps WHERE NOT ({over}) ORDER BY id")]
        return runs, sweeps

    def _runnable(self) -> int:
        """How many ideas wait for nothing but a slot."""
        return int(
            self.campaign.value(
                "SELECT count(*) FROM ideas i WHERE (i.status = 'seed' AND i.sweeps = 0) OR (i.status = 'ready'"
                " AND NOT EXISTS (SELECT 1 FROM idea_links l JOIN ideas t ON t.id = l.target_id"
                " WHERE l.idea_id = i.id AND l.kind = 'after' AND t.status <> 'done'))"
            )
        )

    def _all_wait(self) -> bool:
        """Whether nothing more will start: what is open waits for leave, and all that could start has."""
        if self.campaign.value("SELECT held_since FROM projects"):
            self.campaign.ask(ResumeProject())
            return False
        runs, sweeps = self._open() or ([], [])
        if self._runnable() and len(runs) < SLOTS:
            return False
        waiting = {line.split()[0] for line in self.campaign.said() if line.endswith(f" waits {LEAVE}")}
        sql = "SELECT role || '#' || id FROM agents WHERE state <> 'ended' AND (run_id = ? OR sweep_id = ?)"
        names = [self.campaign.value(sql, run, None) for run in runs]
        names += [self.campaign.value(sql, None, sweep) for sweep in sweeps]
        return all(name in waiting for name in names)

    def _let_go(self, sql: str) -> None:
        worktree = self.campaign.value(sql)
        if worktree and Path(worktree).is_dir():
            (Path(worktree) / LEAVE).touch()

    def _is_settled(self, run: int) -> bool:
        return bool(self.campaign.value("SELECT settled_at FROM runs WHERE id = ?", run))

    def _is_over(self, sweep: int) -> bool:
        over = "SELECT state NOT IN ('queued', 'running') AND worktree IS NULL FROM sweeps WHERE id = ?"
        return bool(self.campaign.value(over, sweep))


def decisions(campaign: Campaign) -> dict[str, list[tuple[Any, ...]]]:
    """All that the daemon decided, without times and hashes."""
    queries = {
        "runs": "SELECT id, idea_id, number, base_id, is_branch, harness, state, end_cause, counts, failed_starts"
        " FROM runs ORDER BY id",
        "candidates": "SELECT id, run_id, parent_id, subject, origin, verdict, rule, cause, bar_id, on_trunk"
        " FROM candidates ORDER BY id",
        "ideas": "SELECT id, title, status, base_id FROM ideas ORDER BY id",
        "sweeps": "SELECT id, role, trigger, state FROM sweeps ORDER BY id",
        "heads": "SELECT target_id FROM events WHERE kind = 'head.moved' ORDER BY id",
        "moves": "SELECT target_id, payload, actor FROM events WHERE kind = 'idea.status' ORDER BY target_id, id",
    }
    return {name: [_nameless(row) for row in campaign.rows(sql)] for name, sql in queries.items()}


def _nameless(row: Sequence[Any]) -> tuple[Any, ...]:
    """Which of several agents gets its row first is nobody's decision."""
    return tuple(re.sub(r"\b(worker|research)#\d+", r"\1", one) if isinstance(one, str) else one for one in row)
