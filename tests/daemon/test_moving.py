"""An edit that would move the agents waits until none lives; commands and daemon look in one place till then."""

from __future__ import annotations

import os

import pytest

from herdr.control.sessions import session_of, tmux_of
from herdr.errors import RefusedError
from herdr.mux.server import TmuxServer
from herdr.store.rows import Project, find

from .conftest import Campaign, wait_until

OTHER = '[tmux]\nsocket = "herdr-other"\n'


def seen(campaign: Campaign) -> str | None:
    """The session that a command finds, with the socket of its server."""
    project = find(campaign.store, Project, "")
    assert project is not None
    server = tmux_of(campaign.home, project)
    session = session_of(server, project)
    return f"{server.socket_name} {session}" if session else None


def at_work(campaign: Campaign) -> str:
    wait_until(lambda: any(" start " in line for line in campaign.said()), "the agent works")
    found = seen(campaign)
    assert found is not None
    return found


def go(campaign: Campaign) -> None:
    campaign.root.joinpath(campaign.value("SELECT worktree FROM runs ORDER BY id DESC"), "go").touch()


def rename(campaign: Campaign, old: str, new: str) -> None:
    file = campaign.root / "piloop.toml"
    file.write_text(file.read_text().replace(f'name = "{old}"', f'name = "{new}"'))


ERROR = "SELECT config_error FROM projects WHERE config_error IS NOT NULL"
NO_ERROR = "SELECT 1 FROM projects WHERE config_error IS NULL"


def test_another_socket_waits_for_the_agents_and_reverting_recovers(campaign: Campaign) -> None:
    campaign.idea("one", "wait go", "commit number=2 two")
    campaign.up()
    before = at_work(campaign)
    campaign.configure(more=OTHER)
    assert "[tmux] socket of numbers takes effect once no agent" in campaign.wait(ERROR)
    assert seen(campaign) == before
    with pytest.raises(RefusedError, match="takes effect once no agent"):
        campaign.register()

    # A new daemon finds the agent where it is, though the edit still stands.
    campaign.down()
    campaign.up()
    campaign.wait("SELECT 1 FROM events WHERE kind = 'agent.adopted'")
    assert seen(campaign) == before
    campaign.configure()
    campaign.wait(NO_ERROR)
    assert seen(campaign) == before
    go(campaign)
    campaign.settled()
    assert campaign.verdicts() == [("two", "keep", "gain")]


def test_another_socket_is_taken_up_by_itself_once_no_agent_lives(campaign: Campaign) -> None:
    campaign.idea("one", "wait go", "commit number=2 two")
    campaign.up()
    at_work(campaign)
    campaign.configure(more=OTHER)
    campaign.wait(ERROR)
    go(campaign)
    campaign.settled()
    campaign.wait(NO_ERROR)
    campaign.idea("two", "wait go", "commit number=3 three")
    wait_until(lambda: (seen(campaign) or "").startswith("herdr-other "), "the session is in the other server")
    campaign.wait("SELECT 1 FROM agents WHERE run_id = 2 AND pane IS NOT NULL")
    server = TmuxServer("herdr-other", campaign.home.tmux_conf, os.environ)
    assert any("worker-2" in line for line in server.command("list-windows", "-a", "-F", "#{window_name}"))
    wait_until(lambda: sum(" start " in line for line in campaign.said()) == 2, "the second agent works")
    go(campaign)
    campaign.settled(2)


def test_a_renamed_project_is_followed_and_refused_while_runs_are_open(campaign: Campaign) -> None:
    campaign.idea("one", "wait go", "commit number=2 two")
    campaign.up()
    before = at_work(campaign)
    rename(campaign, "numbers", "digits")
    assert "the project is registered as numbers" in campaign.wait(ERROR)
    with pytest.raises(RefusedError, match="cannot be renamed to digits while 1 run"):
        campaign.register()
    assert seen(campaign) == before
    go(campaign)
    campaign.settled()
    campaign.wait("SELECT 1 FROM agents WHERE state = 'ended'")
    campaign.register()
    wait_until(lambda: seen(campaign) not in (None, before), "the session of the new name is there")
    campaign.idea("two", "commit number=3 three")
    campaign.settled(2)
    # The session is there a moment before the name is in force, so the second run may still have the old one.
    campaign.idea("three", "commit number=4 four")
    campaign.settled(3)
    assert campaign.value("SELECT branch FROM runs WHERE id = 3") == "piloop/digits/run-3"
