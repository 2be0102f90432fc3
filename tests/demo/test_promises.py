"""The end checks and the pictures, on a small store as a campaign of the demo leaves it."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from herdr.config import read_config
from herdr.demo.closing import candidate_table, close, promise_table
from herdr.demo.create import create_project
from herdr.demo.ideas import IDEAS
from herdr.demo.lines import line_of
from herdr.demo.live import draw
from herdr.demo.promises import Promise, promises
from herdr.demo.run import add_ideas
from herdr.demo.scene import Scene, look
from herdr.demo.stage import Stage
from herdr.ops.client import DirectClient
from herdr.ops.run import ShowRun
from herdr.repo.checks import head_commit
from herdr.store.connection import Store, open_store
from herdr.store.rows import (
    Agent,
    Candidate,
    Comment,
    Evaluator,
    Idea,
    Measurement,
    Message,
    Project,
    Run,
)

NUMBERS = {idea.key: number for number, idea in enumerate(IDEAS, 1)}
DAEMON = {"actor": "daemon"}
OF_PROJECT = {"project_id": 1, **DAEMON}


class Recorded:
    """A campaign that was over before it began: its rows, and nothing that runs."""

    def __init__(self, folder: Path) -> None:
        self.stage = Stage(folder=folder, environ={"PILOOP_HOME": str(folder / "home")})
        self.store: Store = open_store(self.stage.home.ensure().database, mode="person", actor="human")
        self.client = DirectClient(self.stage.home, self.stage.root)

    def make(self) -> None:
        """Make the repo, and the rows."""
        create_project(self.stage.root)
        commit = head_commit(self.stage.root)
        config = read_config(self.stage.root, {}).to_json().decode()
        Project.insert(self.store, name="tour", path=str(self.stage.root), config=config, actor="daemon")
        Evaluator.insert(self.store, project_id=1, key="k", commit_sha=commit, definition="{}", **DAEMON)
        self.candidate(None, "keep", 13507, commit=commit, origin="baseline", bar_id=None)
        Project.update(self.store, 1, evaluator_id=1, head_id=1, actor="daemon")
        add_ideas(self.client)
        self.play()

    def play(self) -> None:
        """Let every idea end as the demo promises."""
        for key in NUMBERS:
            run = self.run(key)
            if key == "or_three_opt":
                said = {"failed_start": 1, "cause": "exited", "last_line": "no licence", "exit_status": 1}
                self.agent(run, **said)
            agent = self.agent(run)
            self.comment(run, agent, f"found by {key}")
            if key == "kicks":
                self.candidate(run, "keep", 10631, rule="gain")
                Message.insert(
                    self.store,
                    agent_id=agent,
                    kind="prompt",
                    body="Use 800 kicks",
                    state="received",
                    actor="human",
                )
        self.candidate(self.of("two_opt"), "keep", 11534, rule="gain")
        self.candidate(self.of("greedy"), "keep", 11085, rule="gain")
        self.candidate(self.of("or_opt"), "keep", 10705, rule="gain")
        self.candidate(self.of("or_three_opt"), "keep", 10684, rule="gain")
        self.candidate(self.of("hilbert"), "discard", 12349, rule="no_gain")
        self.candidate(self.of("thousands"), "discard", 13507, rule="protected")
        self.candidate(self.of("exchange"), "crash", None, rule="error")
        head = self.candidate(self.of("kicks"), "keep", 10578, rule="gain")
        Project.update(self.store, 1, head_id=head, actor="daemon")

    def close(self) -> None:
        self.client.close()
        self.store.close()

    @staticmethod
    def of(key: str) -> int:
        return NUMBERS[key]

    def run(self, key: str) -> int:
        Idea.update(self.store, self.of(key), status="done", actor="daemon")
        return Run.insert(
            self.store,
            project_id=1,
            idea_id=self.of(key),
            number=1,
            base_id=1,
            harness="scripted",
            state="succeeded",
            end_cause="finished",
            end_detail="commits: 1",
            settled_at="2026-01-01T00:00:00.000Z",
            actor="daemon",
        )

    def agent(self, run: int, **more: Any) -> int:
        values: dict[str, Any] = {
            "run_id": run,
            "harness": "scripted",
            "session_id": "s",
            "token_hash": "t",
            "state": "ended",
        }
        return Agent.insert(self.store, **{**OF_PROJECT, **values, **more})

    def comment(self, run: int, agent: int, body: str) -> None:
        Comment.insert(
            self.store,
            project_id=1,
            target_kind="run",
            target_id=run,
            kind="finding",
            body=body,
            actor=f"worker#{agent}",
        )

    def candidate(self, run: int | None, verdict: str, length: float | None, **more: Any) -> int:
        number = self.store.execute("SELECT count(*) FROM candidates").fetchone()[0] + 1
        sha = more.pop("commit", f"{number:040x}")
        judged = {"verdict": verdict, "reason": f"because {number}", "on_trunk": verdict == "keep"}
        values = {"run_id": run, "tree_sha": f"tree {number}", "commit_sha": sha, "subject": f"step {number}"}
        row: dict[str, Any] = {**OF_PROJECT, "origin": "run", "bar_id": 1, **values, **judged, **more}
        candidate = Candidate.insert(self.store, **row)
        if run is not None:
            self.store.execute("INSERT INTO run_commits VALUES (?, ?, ?, ?)", (run, candidate, sha, candidate))
        metrics = "{}" if length is None else f'{{"length": {length}}}'
        score: dict[str, Any] = {
            "candidate_id": candidate,
            "evaluator_id": 1,
            "state": "done",
            "metrics": metrics,
        }
        Measurement.insert(self.store, **{**score, **DAEMON})
        return candidate

    def look(self) -> Scene:
        return look(self.client, 0)

    def broken(self) -> list[str]:
        """What is not kept."""
        scene = self.look()
        shown = {run.ref: self.client.ask(ShowRun(run=run.ref)) for run in scene.runs}
        return [promise.what for promise in promises(scene, shown) if not promise.kept]

    def sql(self, statement: str) -> None:
        self.store.execute(statement)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, and copied for each test."""
    folder = tmp_path_factory.mktemp("template")
    recorded = Recorded(folder)
    recorded.make()
    recorded.close()
    return folder


@pytest.fixture
def recorded(template: Path, tmp_path: Path) -> Iterator[Recorded]:
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    recorded = Recorded(tmp_path)
    recorded.sql(f"UPDATE projects SET path = '{recorded.stage.root}'")
    yield recorded
    recorded.close()


def test_all_promises_are_kept(recorded: Recorded) -> None:
    assert recorded.broken() == []
    assert recorded.look().over


@pytest.mark.parametrize(
    ("statement", "broken"),
    [
        ("UPDATE projects SET head_id = 1, actor = 'x'", "the head beats the baseline"),
        ("UPDATE ideas SET status = 'ready', actor = 'x' WHERE id = 9", "every idea was tried to its end"),
        ("UPDATE candidates SET verdict = 'interesting' WHERE run_id = 2", "idea#2 wins"),
        ("UPDATE candidates SET verdict = 'keep' WHERE run_id = 6", "idea#6 makes it worse, and is not kept"),
        ("UPDATE candidates SET reason = NULL WHERE run_id = 6", "idea#6 makes it worse, and is not kept"),
        (
            "UPDATE candidates SET rule = 'no_gain' WHERE run_id = 3",
            "idea#3 edits the evaluator, and is not kept",
        ),
        ("UPDATE candidates SET verdict = 'keep' WHERE run_id = 8", "idea#8 crashes, and is not kept"),
        ("UPDATE candidates SET run_id = 10 WHERE run_id = 8", "idea#8 crashes, and is not kept"),
        ("UPDATE agents SET failed_start = 0", "idea#5 starts again after a failed start"),
        ("UPDATE agents SET failed_start = 1 WHERE run_id = 5", "idea#5 starts again after a failed start"),
        ("UPDATE runs SET state = 'failed', actor = 'x'", "idea#5 starts again after a failed start"),
        ("UPDATE messages SET state = 'unconfirmed', actor = 'x'", "idea#7 is steered while it runs"),
        ("DELETE FROM messages", "idea#7 is steered while it runs"),
        ("UPDATE measurements SET metrics = '{\"length\": 10578}'", "idea#7 is steered while it runs"),
        ("DELETE FROM comments", "idea#10 ends with a finding instead of a commit"),
        ("UPDATE ideas SET title = 'other' WHERE id = 4", IDEAS[3].title),
    ],
)
def test_a_promise_that_is_broken_is_named(recorded: Recorded, statement: str, broken: str) -> None:
    recorded.sql(statement)
    assert broken in recorded.broken()


def test_the_end_is_printed_and_the_head_handed_over(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    head = head_commit(recorded.stage.root)
    recorded.sql(f"UPDATE candidates SET commit_sha = '{head}' WHERE id = 10")
    assert close(recorded.stage, recorded.client, recorded.look()) == 0
    out = capsys.readouterr().out
    for said in (
        "candidate#10*",
        "because 9",
        "length: 13,507 → 10,578",
        "herdr/tour/candidate-10",
        "herdr init",
    ):
        assert said in out
    assert "<svg" in recorded.stage.plot.read_text()


def test_a_broken_promise_is_the_exit_status(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    head = head_commit(recorded.stage.root)
    recorded.sql(f"UPDATE candidates SET commit_sha = '{head}' WHERE id = 10")
    recorded.sql("UPDATE candidates SET verdict = 'keep' WHERE run_id = 8")
    assert close(recorded.stage, recorded.client, recorded.look()) == 1
    assert "did not hold: idea#8 crashes, and is not kept. candidate#9 keep" in capsys.readouterr().out


def test_a_campaign_is_over_when_the_rest_waits_for_what_was_parked(recorded: Recorded) -> None:
    recorded.sql("UPDATE ideas SET status = 'ready', actor = 'x' WHERE id IN (1, 6, 7)")
    assert not recorded.look().over
    recorded.sql("UPDATE ideas SET status = 'parked', actor = 'x' WHERE id = 1")
    assert recorded.look().over


def test_events_become_lines(recorded: Recorded) -> None:
    scene = recorded.look()
    lines = [line for event in scene.events if (line := line_of(scene, event)) is not None]
    assert f"worker#1 starts on idea#1: {IDEAS[0].title}" in lines
    assert "run#1 commits candidate#3: step 3" in lines
    assert "worker#1 finds: found by two_opt" in lines
    recorded.sql("UPDATE candidates SET verdict = 'interesting', judged_by = 'daemon' WHERE id = 3")
    recorded.sql("UPDATE ideas SET status = 'parked', actor = 'x' WHERE id = 2")
    recorded.sql(
        "UPDATE runs SET state = 'failed', end_cause = 'no_commits', end_detail = 'd', actor = 'x' WHERE id = 4"
    )
    later = look(recorded.client, scene.events[-1].id)
    assert [line_of(later, event) for event in later.events] == [
        "candidate#3 interesting: because 3",
        "idea#2 is parked",
        "run#4 on idea#4 failed: d",
    ]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (130, 50)])
def test_the_live_screen_fits_the_terminal(recorded: Recorded, width: int, height: int) -> None:
    recorded.sql("UPDATE agents SET state = 'busy', actor = 'x' WHERE id = 11")
    recorded.sql("UPDATE ideas SET status = 'scheduled', actor = 'x' WHERE id = 10")
    scene = recorded.look()
    agent = scene.agent_at_work("idea#10")
    assert agent is not None
    picture = draw(
        scene,
        seconds=12.3,
        attach="tmux -L herdr-01234567 attach",
        said=["a [bold]line[/] " * 20],
        last_lines={agent.ref: "$ python3 evaluate.py [red]"},
        height=height,
    )
    console = Console(width=width, height=height, file=io.StringIO(), markup=False, emoji=False, highlight=False)
    with console.capture() as captured:
        console.print(picture)
    lines = captured.get().splitlines()
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    shown = captured.get()
    for said in (
        "length 10578, 21.7% better than the baseline", "tmux -L herdr-01234567 attach", "Uncross", "because 9",
        "worker#11 $ python3", "candidate#10* keep", "a [bold]line[/]",
    ):  # fmt: skip
        assert said in shown


def test_tables_hold_untrusted_text_as_it_is(recorded: Recorded) -> None:
    recorded.sql("UPDATE candidates SET subject = '[red]x[/] :smile:' WHERE id = 2")
    found = [Promise(what="[bold]y[/]", kept=False, evidence=":boom:")]
    console = Console(width=100, file=io.StringIO(), markup=False, emoji=False, highlight=False)
    with console.capture() as captured:
        console.print(candidate_table(recorded.look()), promise_table(found))
    for said in ("[red]x[/] :smile:", "✗  [bold]y[/]", ":boom:"):
        assert said in captured.get()
