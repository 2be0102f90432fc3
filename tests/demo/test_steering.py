"""The scripted agent in a real pane, read and fed by the rules in the project's own piloop.toml."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio
import pytest

from herdr.config import read_config
from herdr.demo.create import create_project
from herdr.demo.ideas import IDEAS
from herdr.harness.configured import configured
from herdr.harness.screen import read_screen
from herdr.harness.template import CommandHarness
from herdr.mux.capture import capture
from herdr.mux.control import ControlClient
from herdr.mux.keystrokes import submit
from herdr.mux.server import TmuxServer
from herdr.mux.windows import open_window
from herdr.python import module_argv

KICKS = next(idea for idea in IDEAS if idea.key == "kicks")
# Longer than a row of the narrow pane, and than one of the wide pane with the prompt.
STEER = f"[piloop] decision on idea#7 by human: {KICKS.steer} - " + "and say what you found " * 7


@pytest.mark.parametrize("width", [80, 200])
def test_it_is_steered_through_its_pane(tmp_path: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    root = create_project(tmp_path / "tour")
    brief = tmp_path / "brief.md"
    brief.write_text(KICKS.title)
    server = TmuxServer("herdr-demo-test", tmp_path / "tmux.conf", os.environ)
    server.ensure()
    try:
        anyio.run(_steer, server, root, brief, width)
    finally:
        server.kill()
    log = subprocess.run(["git", "log", "--format=%s"], cwd=root, capture_output=True, text=True, check=True)
    assert log.stdout.splitlines()[0] == "Use 800 kicks, as asked"


async def _steer(server: TmuxServer, root: Path, brief: Path, width: int) -> None:
    config = read_config(root, {})
    harness = configured("scripted", config.harness["scripted"], None)
    assert isinstance(harness, CommandHarness)
    session = server.ensure_session("tour", root, width, 24)
    client = await ControlClient.open(server.argv, session.id, server.environ)
    argv = [*module_argv("herdr.demo.agent"), str(brief)]
    assert list(harness.interactive[:-1]) == argv[:-1]
    try:
        _, pane = await open_window(client, "worker", root, argv, width=width, height=24)
        with anyio.fail_after(40):
            shown: list[str] = []
            while shown[-1:] != ["idle"]:
                if (seen := await capture(client, pane)) is not None:
                    shown.append(read_screen(harness.screen, seen.text).state)
                await anyio.sleep(0.02)
            # It looks idle only when it waits for a word.
            assert "busy" in shown
            assert seen is not None
            assert "How many are too many?" in seen.text
            delivery = await submit(client, pane, STEER, screen=harness.screen, send=harness.send)
            assert delivery.state == "received", delivery
            seen = await capture(client, pane)
            # The draft has gone from all of its rows.
            assert seen
            assert seen.text.count("[piloop] decision") == 1
            while (seen := await capture(client, pane)) and not seen.dead:
                await anyio.sleep(0.05)
    finally:
        await client.aclose()
