"""The campaign with `runtime = "subprocess"`: agents in the background, and every rule that needs no pane."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from herdr.cli.main import run

from .conftest import WORKER, Campaign, wait_until
from .storm import Storm
from .test_ends import ends, leftovers

HEADLESS = f"headless = {json.dumps([sys.executable, str(WORKER), '{brief}'])}"


def configure(
    campaign: Campaign, *, runtime: str = "subprocess", harness: str = HEADLESS, **more: object
) -> None:
    campaign.configure(harness=harness, **more)  # type: ignore[arg-type]
    file = campaign.root / "piloop.toml"
    file.write_text(file.read_text().replace('runtime = "herdr"', f'runtime = "{runtime}"'))


@pytest.fixture
def background(unregistered: Campaign) -> Campaign:
    configure(unregistered)
    unregistered.register()
    return unregistered


class Typed(NamedTuple):
    """What came of a command line."""

    code: int
    out: str
    err: str


@pytest.fixture
def typed(
    background: Campaign, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Typed]:
    """`typed("herdr", "status")` runs a command line in the campaign's repo."""
    monkeypatch.chdir(background.root)

    def type_it(program: str, *arguments: str) -> Typed:
        capfd.readouterr()
        code = run(program, arguments)
        return Typed(code, *capfd.readouterr())

    return type_it


def at_work(campaign: Campaign) -> None:
    wait_until(lambda: any(" start " in line for line in campaign.said()), "the agent works")


def go(campaign: Campaign) -> None:
    """Let an agent go on that waits for the file `go`."""
    campaign.root.joinpath(campaign.value("SELECT worktree FROM runs"), "go").touch()


def log_of(campaign: Campaign, agent: int = 1) -> str:
    return (campaign.home.agent_dir(agent) / "output.log").read_text()


def test_ideas_are_tried_without_tmux_and_what_agents_print_is_kept(background: Campaign) -> None:
    first = background.idea("two", "say working on it", "commit number=2 two")
    background.up()
    background.settled()
    second = background.idea("three", "commit number=3 three", "write number.txt 4")
    background.settled(2)
    assert background.status(first) == background.status(second) == "done"
    assert {subject: verdict for subject, verdict, _ in background.verdicts()}["three"] == "keep"
    assert (
        background.value("SELECT count(*) FROM candidates WHERE origin = 'recovered' AND verdict = 'keep'") == 1
    )
    assert log_of(background).splitlines() == ["at work", "working on it"]
    assert background.value("SELECT last_line FROM agents WHERE id = 1") == "working on it"
    assert (background.home.agent_dir(1) / "screen.txt").read_text() == "at work\nworking on it"
    assert [tuple(row) for row in background.rows("SELECT kind, state FROM messages")] == [
        ("brief", "received")
    ] * 2
    assert background.tmux("list-sessions", check=False) == ""


def test_an_agent_works_as_long_as_it_lives(background: Campaign) -> None:
    background.idea("patient", "wait go", "commit number=2 two")
    background.up()
    background.wait("SELECT 1 FROM agents WHERE ready_at IS NOT NULL AND state = 'busy'")
    go(background)
    background.settled()
    states = background.rows("SELECT json_extract(payload, '$.new') FROM events WHERE kind = 'agent.state'")
    assert [row[0] for row in states] == ["busy"]


def test_a_daemon_killed_under_a_working_agent_takes_it_up_again(background: Campaign) -> None:
    background.idea("patient", "wait go", "commit number=2 two", "write number.txt 3")
    background.up()
    at_work(background)
    background.wait("SELECT 1 FROM agents WHERE ready_at IS NOT NULL")
    background.kill()
    background.up()
    background.wait("SELECT 1 FROM events WHERE kind = 'agent.adopted'")
    go(background)
    background.settled()
    assert sorted(background.verdicts())[-1] == ("two", "keep", "gain")
    assert background.value("SELECT count(*) FROM agents") == 1
    assert background.value("SELECT exit_status FROM agents") == 0
    assert background.value("SELECT count(*) FROM messages") == 1


def test_what_ended_while_the_daemon_was_dead_is_taken_up(background: Campaign) -> None:
    background.idea("patient", "wait go", "commit number=2 two", "exit 4")
    background.up()
    at_work(background)
    background.kill()
    go(background)
    wait_until(lambda: list(background.home.root.glob("agents/1/exit.json")), "the agent has ended")
    background.up()
    background.settled()
    assert ends(background)[0] == ("failed", "process_error", 0)
    assert background.value("SELECT exit_status FROM agents WHERE id = 1") == 4
    assert background.verdicts()[0] == ("two", "keep", "gain")


@pytest.mark.timeout(150)
def test_a_daemon_killed_at_random_moments(background: Campaign) -> None:
    storm = Storm(background, seed=2, texts=False)
    for number in range(4):
        idea = [f"commit number={number}.1 a{number}", "sleep 0.3", f"commit number={number}.2 b{number}"]
        background.idea(f"idea {number}", *(["first 1 exit 3"] if number == 0 else []), *idea)
    storm.ideas = 4
    storm.kill_daemon(2)
    storm.finish(100)
    storm.check()


def test_a_lost_agent_gives_its_run_back_to_the_queue(background: Campaign) -> None:
    background.idea("survivor", "commit number=2 two", "first 1 sleep 1000", "commit number=3 three")
    background.up()
    wait_until(lambda: any("committed" in line for line in background.said()), "the first commit")
    wrapper = json.loads((background.home.agent_dir(1) / "pid.json").read_text())["wrapper"]["pid"]
    os.kill(wrapper, signal.SIGKILL)
    background.settled()
    assert ends(background) == [("succeeded", "finished", 0)]
    assert background.value("SELECT count(*) FROM agents") == 2
    assert not leftovers(background)


def test_a_run_that_is_too_slow_is_ended_with_all_its_processes_and_not_warned(background: Campaign) -> None:
    configure(background, timeout=3, top="attempts = 1")
    background.register()
    background.idea("slow", "spawn sleep 1000", "commit number=2 two", "write number.txt 3", "sleep 1000")
    background.up()
    background.settled()
    assert ends(background) == [("timed_out", "timed_out", 0)]
    assert background.value("SELECT count(*) FROM messages WHERE kind <> 'brief'") == 0
    assert background.value("SELECT warned_at FROM agents") is None
    assert background.value("SELECT verdict FROM candidates WHERE origin = 'recovered'") == "keep"
    assert not leftovers(background)


def test_a_cancelled_run_ends_and_its_idea_is_set_aside(background: Campaign) -> None:
    idea = background.idea("endless", "commit number=2 two", "sleep 1000")
    background.up()
    wait_until(lambda: any("committed" in line for line in background.said()), "the agent works")
    background.cancel(1)
    background.settled()
    assert ends(background) == [("cancelled", "cancelled", 0)]
    assert background.status(idea) == "parked"
    assert not leftovers(background)


@pytest.mark.parametrize(
    ("harness", "cause", "detail"),
    [
        ("", "config", "no command for headless agents"),
        ('executable = "/bin/true"', "config", "takes its prompt only by typing"),
        ('headless = ["/no/such/agent", "{prompt}"]', "not_found", "not_found"),
        ('headless = ["sh", "-c", "exit 3", "{brief}"]', "exited", ""),
    ],
)
def test_the_third_failed_start_fails_the_run_and_each_has_a_cause(
    background: Campaign, harness: str, cause: str, detail: str
) -> None:
    configure(background, harness=harness, top="attempts = 1")
    background.register()
    idea = background.idea("dead")
    background.up()
    background.settled()
    assert ends(background) == [("failed", "start_failed", 3)]
    assert background.status(idea) == "parked"
    rows = background.rows("SELECT cause, coalesce(cause_detail, '') FROM agents")
    assert [row[0] for row in rows] == [cause] * 3
    assert all(detail in row[1] for row in rows)


def test_text_is_refused_and_the_next_brief_carries_the_comment(
    background: Campaign, typed: Callable[..., Typed]
) -> None:
    background.idea("deaf", "wait go", "commit number=0 zero", "exit 4")
    background.up()
    at_work(background)
    done = typed("piloop", "prompt", "worker#1", "can you hear me")
    assert done.code != 0
    assert "cannot receive text" in done.err
    assert "piloop comment add idea#1" in done.err
    assert background.value("SELECT count(*) FROM messages WHERE kind = 'prompt'") == 0
    said = typed("piloop", "comment", "add", "idea#1", "try 8 neighbours")
    assert said.code == 0
    assert "cannot receive text" in said.out
    background.wait("SELECT 1 FROM messages WHERE kind = 'comment' AND state = 'failed'")
    detail = background.value("SELECT detail FROM messages WHERE kind = 'comment'")
    assert "cannot receive text" in detail
    assert "next run" in detail
    go(background)
    background.wait("SELECT 1 FROM runs WHERE id = 2 AND brief IS NOT NULL")
    briefs = [row[0] for row in background.rows("SELECT brief FROM runs ORDER BY id")]
    assert ["try 8 neighbours" in brief for brief in briefs] == [False, True]


def test_commands_know_that_agents_run_in_the_background(
    background: Campaign, typed: Callable[..., Typed], monkeypatch: pytest.MonkeyPatch
) -> None:
    background.idea("shown", "say look here", "wait go", "commit number=2 two")
    with monkeypatch.context() as machine:
        machine.setenv("PATH", without_tmux(background.root.parent / "bin"))
        background.up()
        at_work(background)
        up = typed("herdr", "up")
        assert up.code == 0, up.err
        assert "herdr logs worker#N" in up.out
        assert "attach" not in up.out
        wait_until(lambda: "look here" in typed("herdr", "logs", "worker#1").out, "its output is shown")
        attach = typed("herdr", "attach", "worker#1")
        assert attach.code != 0
        assert "nothing to attach to" in attach.err
        assert "herdr logs worker#1" in attach.err
        assert "herdr logs worker#N" in typed("herdr", "attach").err
        background.wait("SELECT 1 FROM agents WHERE state = 'busy'")
        status = typed("piloop", "status").out
        assert "in the background" in status
        assert "worker#1  busy" in status
        found = {one["check"]: one for one in json.loads(typed("herdr", "doctor", "--json").out)}
        assert found["tmux"]["status"] == found["piloop.toml"]["status"] == "ok"
        assert "not needed" in found["tmux"]["message"]
        go(background)
        background.settled()
        assert "look here" in typed("herdr", "logs", "worker#1").out
        assert typed("herdr", "clean", "--dry-run").code == 0


def without_tmux(folder: Path) -> str:
    """A PATH on which everything is but tmux."""
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for file in Path(directory).glob("*") if Path(directory).is_dir() else ():
            if file.name != "tmux" and not (folder / file.name).is_symlink():
                (folder / file.name).symlink_to(file)
    return str(folder)


def test_the_doctor_names_a_harness_that_has_no_headless_command(
    background: Campaign, typed: Callable[..., Typed]
) -> None:
    configure(background, harness="")
    done = typed("herdr", "doctor")
    assert done.code != 0
    assert "scripted: it has no command for runtime" in done.out
    assert "under [harness.scripted]" in done.out


def test_another_runtime_is_taken_up_once_no_agent_lives(background: Campaign) -> None:
    configure(background, runtime="herdr")
    background.register()
    background.idea("in a pane", "wait go", "commit number=2 two")
    background.up()
    at_work(background)
    configure(background)
    why = background.wait("SELECT config_error FROM projects WHERE config_error IS NOT NULL")
    assert "takes effect once no agent of the project runs" in why
    go(background)
    background.settled()
    configure(background, slots=1)
    background.wait("SELECT 1 FROM projects WHERE config_error IS NULL AND config LIKE '%\"subprocess\"%'")
    background.idea("in the background", "say hello", "commit number=3 three")
    background.settled(2)
    assert "hello" in log_of(background, 2)
    assert not (background.home.agent_dir(1) / "output.log").exists()


@pytest.mark.parametrize(
    ("how", "state", "agents"), [(signal.SIGTERM, "running", 1), (signal.SIGUSR2, "queued", 0)]
)
def test_down_keeps_the_agents_or_gives_their_runs_back(
    background: Campaign, how: signal.Signals, state: str, agents: int
) -> None:
    background.idea("long", "wait go", "commit number=2 two")
    background.up()
    at_work(background)
    background.down(how)
    assert background.value("SELECT state FROM runs") == state
    assert background.value("SELECT count(*) FROM agents WHERE state <> 'ended'") == agents
    assert bool(leftovers(background)) == bool(agents)
    go(background)
    background.up()
    background.settled()
    assert background.verdicts() == [("two", "keep", "gain")]
    assert background.value("SELECT count(*) FROM runs") == 1
