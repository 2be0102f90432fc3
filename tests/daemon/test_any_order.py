"""Whatever order people, agents, crashes and restarts come in, an idea's rules hold and the log has all of it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from herdr.campaign.moves import MOVES
from herdr.contract.words import IdeaStatus
from herdr.errors import HerdrError
from herdr.ops.core import A, Request
from herdr.ops.idea.editing import PrioritiseIdea
from herdr.ops.idea.filing import AddIdea, DevelopSeed, PlantSeed
from herdr.ops.idea.linking import LinkChange, LinkIdea, UnlinkIdea
from herdr.ops.idea.moving import ApproveIdea, MoveIdea, ParkIdea, ReadyIdea, RejectIdea
from herdr.ops.project import PauseProject, ResumeProject
from herdr.ops.run import CancelRun, RequeueRun

from .simulated import ATTEMPTS, How, KilledError, Simulated, make_database

#: Statuses of an idea that a person, research or the daemon may leave it in; see docs/ideas-seeds-runs.md.
STATUSES = set(get_args(IdeaStatus))
PICK = st.integers(min_value=0, max_value=10**6)
#: After so many of its transactions the daemon is killed; mostly it is not.
LIVES = st.one_of(st.none(), st.none(), st.none(), st.integers(min_value=0, max_value=3))
#: What a person can do with an idea of each status.
COMMANDS = {
    "seed": ["develop", "park", "reject", "develop"],
    "proposed": ["approve", "park", "reject"],
    "ready": ["park", "reject"],
    "scheduled": ["park", "reject"],
    "parked": ["ready", "reject"],
    "rejected": ["ready"],
    "done": ["ready"],
}
#: Every change of status that was seen, by whom: over all examples.
SEEN: set[tuple[str, str, str]] = set()
DATABASE: list[Path] = []
EXAMPLES = int(os.environ.get("ORDER_EXAMPLES", "60"))


#: How people and research ask for a move.
ASKED: dict[str, type[MoveIdea]] = {
    "approve": ApproveIdea,
    "park": ParkIdea,
    "reject": RejectIdea,
    "ready": ReadyIdea,
    "reopen": ReadyIdea,
}


def developed(idea: int, *, proposed: bool) -> DevelopSeed:
    name, so = f"idea#{idea}", "so"
    return DevelopSeed(idea=name, hypothesis=so, evidence=so, check=so, metric=so, effect=so, proposed=proposed)


class AnyOrder(RuleBasedStateMachine):
    """People and research ask, the daemon looks, agents end, the daemon is killed and comes back."""

    ideas = Bundle("ideas")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.campaign = Simulated(DATABASE[0], self.folder)
        self.titles = 0
        #: By our own count: the attempts of each idea that it has used up.
        self.attempts: Counter[int] = Counter()

    def teardown(self) -> None:
        self._check_log()
        self.campaign.close()
        shutil.rmtree(self.folder)

    # --- people and research ---------------------------------------------------------------------------------

    def _ask(self, request: Request[A], *, research: bool = False) -> A | None:
        """Ask; what is refused changes nothing."""
        before = self.campaign.rows("SELECT max(id) FROM events")[0][0]
        try:
            if research:
                return self.campaign.ask_as_research(request)
            return self.campaign.ask(request)
        except HerdrError:
            assert self.campaign.rows("SELECT max(id) FROM events")[0][0] == before
            return None

    def _title(self) -> str:
        self.titles += 1
        return f"{'abcdefghij'[self.titles % 10] * 3} {self.titles}"

    @rule(
        target=ideas,
        links=st.lists(st.tuples(st.sampled_from(["after", "supersedes"]), ideas), max_size=2),
        priority=st.integers(0, 4),
        proposed=st.booleans(),
        base=st.sampled_from([None, None, "candidate#1", "candidate#2"]),
        research=st.booleans(),
    )
    def add(self, links: Any, priority: int, proposed: bool, base: str | None, research: bool) -> Any:
        after, supersedes = (
            tuple(f"idea#{idea}" for one, idea in links if one == kind) for kind in ("after", "supersedes")
        )
        idea = AddIdea(
            title=self._title(),
            priority=priority,
            proposed=proposed,
            base=base,
            after=after,
            supersedes=supersedes,
        )
        filed = self._ask(idea, research=research)
        return int(filed.ref.partition("#")[2]) if filed else multiple()

    @initialize(target=ideas)
    def begin(self) -> Any:
        """Three ideas, one of them only proposed, and two seeds."""
        ready = [self.add([], 2, number == 2, None, False) for number in range(3)]
        return multiple(*ready, self.seed(research=False), self.seed(research=True))

    @rule(target=ideas, research=st.booleans())
    def seed(self, research: bool) -> Any:
        filed = self._ask(PlantSeed(hunch=self._title(), provenance="candidate#1"), research=research)
        return int(filed.ref.partition("#")[2]) if filed else multiple()

    @rule(
        idea=ideas, how=st.sampled_from(["approve", "park", "reject", "ready", "ready"]), research=st.booleans()
    )
    def move(self, idea: int, how: str, research: bool) -> None:
        self._ask(ASKED[how](idea=f"idea#{idea}", reason="because"), research=research)

    @rule(pick=PICK, choice=st.integers(0, 11), status=st.sampled_from(sorted(COMMANDS)), research=st.booleans())
    def legal_move(self, pick: int, choice: int, status: str, research: bool) -> None:
        """A command that fits, on one of the ideas of a status."""
        found = [
            row[0] for row in self.campaign.rows("SELECT id FROM ideas WHERE status = ? ORDER BY id", status)
        ]
        if found:
            idea, how = found[pick % len(found)], COMMANDS[status][choice % len(COMMANDS[status])]
            if how == "develop":
                self.develop(idea, research, choice == 0)
            else:
                self.move(idea, how, research)

    @rule(idea=ideas, research=st.booleans(), proposed=st.booleans())
    def develop(self, idea: int, research: bool, proposed: bool) -> None:
        self._ask(developed(idea, proposed=proposed), research=research)

    @rule(
        idea=ideas,
        other=ideas,
        how=st.sampled_from([LinkIdea, UnlinkIdea]),
        kind=st.sampled_from(["after", "supersedes"]),
    )
    def link(self, idea: int, other: int, how: type[LinkChange], kind: str) -> None:
        names = (f"idea#{other}",)
        after, supersedes = (names, ()) if kind == "after" else ((), names)
        self._ask(how(idea=f"idea#{idea}", after=after, supersedes=supersedes))

    @rule(idea=ideas, priority=st.integers(0, 4))
    def prioritise(self, idea: int, priority: int) -> None:
        self._ask(PrioritiseIdea(idea=f"idea#{idea}", priority=priority))

    @rule(pick=PICK)
    def requeue(self, pick: int) -> None:
        runs = self.campaign.runs("settled_at IS NOT NULL")
        if runs:
            run = runs[pick % len(runs)]
            counted = self.campaign.rows("SELECT idea_id, counts FROM runs WHERE id = ?", run)[0]
            if self._ask(RequeueRun(run=f"run#{run}")) is not None:
                self.attempts[counted[0]] -= counted[1]

    @rule(pick=PICK)
    def cancel(self, pick: int) -> None:
        runs = self.campaign.runs("state IN ('queued', 'running')")
        if runs:
            self._ask(CancelRun(run=f"run#{runs[pick % len(runs)]}", reason="because"))

    @rule(how=st.sampled_from([PauseProject, ResumeProject, ResumeProject]))
    def pause(self, how: type[PauseProject | ResumeProject]) -> None:
        self._ask(how())

    # --- the daemon and its agents ---------------------------------------------------------------------------

    def _while_it_lives(self, lives: int | None, step: Any, *arguments: Any) -> None:
        """Have the daemon do something, or begin to, and be killed."""
        self.campaign.app.lives = lives
        try:
            step(*arguments)
        except KilledError:
            self.campaign.restart()
        self.campaign.app.lives = None

    @rule(lives=LIVES)
    def look(self, lives: int | None) -> None:
        self._while_it_lives(lives, self.campaign.look)

    @rule(lives=LIVES)
    def launch(self, lives: int | None) -> None:
        for run in self.campaign.runs("state IN ('queued', 'running')"):
            self._while_it_lives(lives, self.campaign.launch, run)

    @rule(pick=PICK, how=st.sampled_from(get_args(How)), lives=LIVES)
    def end(self, pick: int, how: How, lives: int | None) -> None:
        agents = self.campaign.open_agents()
        if agents:
            agent = agents[pick % len(agents)]
            assert agent.run_id is not None
            cancelled = self.campaign.rows("SELECT cancel_requested FROM runs WHERE id = ?", agent.run_id)[0][0]
            if (how == "cancelled") == bool(cancelled):
                self._while_it_lives(lives, self.campaign.end, agent.run_id, how)

    @rule(lives=LIVES)
    def settle(self, lives: int | None) -> None:
        for number in self.campaign.runs("state NOT IN ('queued', 'running') AND settled_at IS NULL"):
            run = self.campaign.rows("SELECT idea_id, state, end_cause FROM runs WHERE id = ?", number)[0]
            idea = run["idea_id"]
            before = self.campaign.rows("SELECT status FROM ideas WHERE id = ?", idea)[0][0]
            self._while_it_lives(lives, self.campaign.settle, number)
            settled = self.campaign.rows("SELECT settled_at FROM runs WHERE id = ?", number)[0][0]
            if settled is not None:
                self.attempts[idea] += run["state"] != "cancelled"
                self._check_settled(idea, run, before)

    def _check_settled(self, idea: int, run: Any, before: str) -> None:
        """See docs/ideas-seeds-runs.md: done; ready while attempts are left; parked if the last never started."""
        status = self.campaign.rows("SELECT status FROM ideas WHERE id = ?", idea)[0][0]
        if before != "scheduled":
            assert status == before, "a person has the last word"
        elif run["state"] == "cancelled":
            assert status == "parked"
        elif run["state"] == "succeeded":
            assert status == "done"
        elif self.attempts[idea] < ATTEMPTS:
            assert status == "ready"
        else:
            assert status == ("parked" if run["end_cause"] == "start_failed" else "done")

    @rule(how=st.sampled_from(get_args(How)), lives=LIVES)
    def go_on(self, how: How, lives: int | None) -> None:
        """The way of most runs: queued, started, ended and settled, one after the other."""
        self.look(lives)
        self.launch(lives)
        self.end(0, how, lives)
        self.settle(lives)

    @rule()
    def restart(self) -> None:
        self.campaign.restart()

    @rule()
    def time_passes(self) -> None:
        """Failed starts grow old."""
        aged = "strftime('%Y-%m-%dT%H:%M:%fZ', ended_at, '-11 minutes')"
        self.campaign.person.execute(f"UPDATE agents SET ended_at = {aged} WHERE failed_start = 1")

    # --- what always holds -----------------------------------------------------------------------------------

    @invariant()
    def nothing_runs_twice_at_once(self) -> None:
        campaign = self.campaign
        open_runs = "SELECT idea_id FROM runs WHERE settled_at IS NULL GROUP BY idea_id HAVING count(*) > 1"
        live = "SELECT run_id FROM agents WHERE state <> 'ended' GROUP BY run_id HAVING count(*) > 1"
        assert not campaign.rows(open_runs)
        assert not campaign.rows(live)
        scheduled = "SELECT id FROM ideas i WHERE status = 'scheduled' AND NOT EXISTS"
        assert not campaign.rows(f"{scheduled} (SELECT 1 FROM runs WHERE idea_id = i.id AND settled_at IS NULL)")

    @invariant()
    def attempts_are_counted_right(self) -> None:
        settled = (
            "SELECT idea_id, count(*) FROM runs WHERE counts = 1 AND settled_at IS NOT NULL GROUP BY idea_id"
        )
        assert dict(self.campaign.rows(settled)) == {one: n for one, n in self.attempts.items() if n}
        starts = "SELECT run_id FROM agents WHERE failed_start = 1 GROUP BY run_id HAVING count(*) > 3"
        assert not self.campaign.rows(starts), "the same run again, up to two times"
        counted = (
            "SELECT r.id FROM runs r WHERE failed_starts <> (SELECT count(*) FROM agents WHERE run_id = r.id"
        )
        assert not self.campaign.rows(f"{counted} AND failed_start = 1)")

    @invariant()
    def nothing_starts_before_what_it_waits_for(self) -> None:
        """Who was queued had all that it waits for done at that moment; the log's order says so."""
        queued = (
            "SELECT max(id) FROM events WHERE kind = 'run.queued' AND json_extract(payload, '$.idea') NOT NULL"
        )
        newest = self.campaign.rows(queued)[0][0]
        if newest is None:
            return
        idea = json.loads(self.campaign.rows("SELECT payload FROM events WHERE id = ?", newest)[0][0])["idea"]
        later = self.campaign.rows(
            "SELECT 1 FROM events WHERE id > ? AND kind IN ('idea.linked', 'idea.status', 'idea.unlinked')",
            newest,
        )
        if not later:
            waits = "SELECT t.status FROM idea_links l JOIN ideas t ON t.id = l.target_id WHERE l.idea_id = ?"
            assert {row[0] for row in self.campaign.rows(f"{waits} AND l.kind = 'after'", idea)} <= {"done"}

    def _check_log(self) -> None:
        """No event is lost: the log alone tells every status, each move legal for who made it."""
        events = self.campaign.rows("SELECT id, kind, actor, target_id, payload FROM events ORDER BY id")
        assert [row["id"] for row in events] == list(range(1, len(events) + 1))
        legal = {(source, one.to, who) for one in MOVES for source in one.sources for who in one.who}
        told: dict[int, str] = {}
        queued, ended, launched = Counter[int](), Counter[int](), Counter[int]()
        for row in events:
            payload, target = json.loads(row["payload"]), row["target_id"]
            if row["kind"] == "idea.added":
                told[target] = payload["status"]
            elif row["kind"] == "idea.status":
                move = (payload["old"], payload["new"], row["actor"].partition("#")[0])
                assert payload["old"] == told[target]
                assert move in legal
                SEEN.add(move)
                told[target] = payload["new"]
            elif row["kind"] == "run.queued" and "idea" in payload:
                queued[target] += 1
            elif row["kind"] in ("run.succeeded", "run.failed", "run.timed_out", "run.cancelled"):
                ended[target] += 1
            elif row["kind"] == "agent.launched":
                launched[target] += 1
        assert told == dict(self.campaign.rows("SELECT id, status FROM ideas"))
        over = self.campaign.runs("state NOT IN ('queued', 'running')")
        assert ended == Counter(over)
        assert set(over) <= set(queued)
        assert set(launched.values()) <= {1}


@pytest.mark.timeout(120 + EXAMPLES)
def test_the_rules_hold_in_any_order(tmp_path: Path) -> None:
    DATABASE[:] = [make_database(tmp_path / "template")]
    SEEN.clear()
    # The same examples each time; `make soak` looks at more.
    times = settings(
        max_examples=EXAMPLES,
        stateful_step_count=50,
        derandomize=EXAMPLES == 60,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_machine(AnyOrder, settings=times)
    assert {status for move in SEEN for status in move[:2]} == STATUSES


def brought_to(campaign: Simulated, status: str, *, hunch: bool) -> int:
    """A new idea in this status; `hunch`: one that was a seed and never developed."""
    if hunch or status == "seed":
        filed = campaign.ask(PlantSeed(hunch="a hunch", provenance="candidate#1"))
    else:
        filed = campaign.ask(AddIdea(title="an idea", proposed=status == "proposed"))
    idea = int(filed.ref.partition("#")[2])
    if status in ("parked", "rejected"):
        campaign.ask((ParkIdea if status == "parked" else RejectIdea)(idea=f"idea#{idea}"))
    if status in ("scheduled", "done"):
        campaign.look()
        campaign.launch(1)
    if status == "done":
        campaign.end(1, "finding")
        campaign.settle(1)
    return idea


def moved(campaign: Simulated, idea: int, name: str, role: str) -> None:
    """Make a move as who makes it does."""
    ask = campaign.ask_as_research if role == "research" else campaign.ask
    if name in ("develop", "propose"):
        ask(developed(idea, proposed=name == "propose"))
    elif name == "supersede":
        campaign.ask(AddIdea(title="the sharper one", supersedes=(f"idea#{idea}",), priority=4))
        campaign.look()
    elif name == "schedule":
        campaign.look()
    elif role == "daemon":
        how: dict[str, How] = {"retry": "failed", "finish": "finding", "park": "cancelled"}
        campaign.end(1, how[name])
        campaign.settle(1)
    else:
        ask(ASKED[name](idea=f"idea#{idea}", reason="because"))


MADE = [
    (one.name, source, one.to, role)
    for one in MOVES
    for source in sorted(one.sources)
    for role in sorted(one.who & {"human", "research", "daemon"})
]


@pytest.mark.parametrize(("name", "source", "to", "role"), MADE, ids=["-".join(one) for one in MADE])
def test_every_legal_move_is_made(tmp_path: Path, name: str, source: str, to: str, role: str) -> None:
    campaign = Simulated(make_database(tmp_path / "template"), tmp_path / "home")
    try:
        idea = brought_to(campaign, source, hunch=name == "reopen")
        assert campaign.rows("SELECT status FROM ideas WHERE id = ?", idea)[0][0] == source
        moved(campaign, idea, name, role)
        told = campaign.rows(
            "SELECT actor, payload FROM events WHERE kind = 'idea.status' AND target_id = ? ORDER BY id DESC",
            idea,
        )[0]
        payload = json.loads(told["payload"])
        assert (payload["old"], payload["new"], told["actor"].partition("#")[0]) == (source, to, role)
    finally:
        campaign.close()
