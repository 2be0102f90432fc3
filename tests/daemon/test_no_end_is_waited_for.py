"""A cancel always wins and a stop always stops, whatever a thread waits for; what cannot be done is said."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from herdr.cli.status import status
from herdr.daemon.lock import STALLED, daemon_lock
from herdr.ops.run import ShowRun

from .conftest import WORKER, Campaign, install_plugin, wait_until
from .test_ends import ends

#: A harness that counts tokens by opening a pipe that nobody ever writes to.
PLUGIN = f"""
import os, pathlib
from herdr import api

class Stuck(api.HarnessBase):
    name = "stuck"
    def check(self, environ):
        return api.HarnessStatus(found=True, path="/bin/sh")
    def launch(self, context):
        argv = ({sys.executable!r}, {str(WORKER)!r}, str(context.brief))
        log = pathlib.Path(context.repo_root).parent / "worker.log"
        return api.Launch(argv=argv, prompt_in_argv=True, env={{"WORKER_LOG": str(log)}})
    def usage(self, context):
        pipe = context.state_dir / "pipe"
        if not pipe.exists():
            os.mkfifo(pipe)
        pipe.read_text()

@api.hookimpl
def herdr_register_harnesses(register):
    register(Stuck())
"""


@pytest.fixture
def stuck(unregistered: Campaign, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """A campaign at the end of whose agent a thread waits for ever."""
    for name, value in install_plugin(unregistered.root.parent / "plugin", PLUGIN).items():
        monkeypatch.setenv(name, value)
    file = unregistered.root / "piloop.toml"
    file.write_text(file.read_text().replace('harnesses = ["scripted"]', 'harnesses = ["stuck"]\nattempts = 1'))
    return unregistered


def test_a_cancel_and_a_stop_wait_for_no_thread(stuck: Campaign) -> None:
    stuck.register()
    stuck.idea("ends badly", "commit number=2 two")
    daemon = stuck.up()
    wait_until(lambda: list(stuck.home.root.glob("agents/1/pipe")), "its tokens are counted")
    assert stuck.value("SELECT state FROM runs") == "running"
    stuck.cancel(1)
    stuck.settled(seconds=30)
    assert ends(stuck) == [("cancelled", "cancelled", 0)]
    assert stuck.verdicts() == [("two", "keep", "gain")]
    notes = [row[0] for row in stuck.rows("SELECT body FROM comments WHERE target_kind = 'run'")]
    assert notes == ["the tokens of worker#1 could not be counted: it took too long"]
    # The thread still waits, and the process ends all the same.
    begun = time.monotonic()
    daemon.send_signal(signal.SIGTERM)
    daemon.wait(25)
    assert time.monotonic() - begun < 20
    stuck.up()
    stuck.wait("SELECT count(*) = 2 FROM events WHERE kind = 'daemon.started'")


def test_what_cannot_be_judged_ends_its_run_with_the_reason(campaign: Campaign) -> None:
    campaign.configure(top="attempts = 1")
    campaign.register()
    idea = campaign.idea("unjudged", "commit number=2 two", "wait go")
    campaign.up()
    wait_until(lambda: any("waits go" in line for line in campaign.said()), "it is at work")
    campaign.set_project(evaluator_id=None)
    campaign.root.joinpath(campaign.value("SELECT worktree FROM runs"), "go").touch()
    campaign.settled(seconds=80)
    assert ends(campaign) == [("failed", "ending_failed", 0)]
    assert "has no evaluator" in campaign.value("SELECT end_detail FROM runs")
    assert campaign.status(idea) == "done"
    (body,) = [row[0] for row in campaign.rows("SELECT body FROM comments WHERE kind = 'escalation'")]
    assert "has no evaluator" in body
    assert Path(campaign.value("SELECT worktree FROM runs")).exists()


def test_a_daemon_that_works_no_more_says_so(unregistered: Campaign) -> None:
    unregistered.register()
    with daemon_lock(unregistered.home):
        said = CliRunner().invoke(status).output
        assert "has not worked" not in said
        old = time.time() - STALLED - 60
        os.utime(unregistered.home.lock, (old, old))
        said = CliRunner().invoke(status).output
        assert "it has not worked any more for 3 minutes, and starts nothing: herdr down && herdr up -d" in said


def test_what_a_folder_lacks_is_a_note_on_its_run(unregistered: Campaign) -> None:
    (unregistered.root / "dangling").symlink_to("/nowhere")
    unregistered.git("add", "dangling")
    unregistered.git("commit", "-qm", "a link that leads nowhere")
    unregistered.register()
    unregistered.idea("fine", "first 2 exit 3", "commit number=2 two")
    unregistered.up()
    unregistered.settled()
    notes = [row[0] for row in unregistered.rows("SELECT body FROM comments WHERE target_kind = 'run'")]
    assert len(notes) == 1
    assert "dangling" in notes[0]
    shown = unregistered.ask(ShowRun(run="run#1"))
    assert "dangling" in shown.comments[0].body
