"""A harness that nobody defines: named in the project's row, the last good file in force, nothing stuck."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from herdr.cli.main import run

from .conftest import Campaign

ERROR = "SELECT config_error FROM projects WHERE config_error IS NOT NULL"
NO_ERROR = "SELECT 1 FROM projects WHERE config_error IS NULL"


def replace(campaign: Campaign, old: str, new: str) -> None:
    file = campaign.root / "piloop.toml"
    file.write_text(file.read_text().replace(old, new))


@pytest.fixture
def typed(
    campaign: Campaign, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    monkeypatch.chdir(campaign.root)

    def type_it(*arguments: str) -> str:
        run("herdr", arguments)
        return capsys.readouterr().out

    return type_it


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('harnesses = ["scripted"]', 'harnesses = ["scriptd"]', "harnesses[0] = 'scriptd'"),
        (
            "[roles.watchdog]",
            '[roles.watchdog]\nharnesses = ["scriptd"]',
            "roles.watchdog.harnesses[0] = 'scriptd'",
        ),
    ],
)
def test_an_unknown_name_leaves_the_last_good_in_force(
    campaign: Campaign, typed: Callable[..., str], old: str, new: str, where: str
) -> None:
    campaign.up()
    campaign.wait("SELECT 1 FROM events WHERE kind = 'daemon.started'")
    replace(campaign, old, new)
    why = campaign.wait(ERROR)
    assert where in why
    assert "did you mean scripted?" in why
    assert where in typed("status")
    doctor = typed("doctor")
    assert where in doctor
    assert "did you mean scripted?" in doctor
    campaign.idea("goes on", "commit number=2 two")
    campaign.settled()
    replace(campaign, new, old)
    campaign.wait(NO_ERROR)


def test_a_project_that_starts_with_an_unknown_name_queues_nothing_and_says_so(unregistered: Campaign) -> None:
    campaign = unregistered
    replace(campaign, '["scripted"]', '["scriptd"]')
    campaign.register()
    idea = campaign.idea("waits", "commit number=2 two")
    campaign.up()
    assert "harnesses[0] = 'scriptd'" in campaign.wait(ERROR)
    assert (campaign.value("SELECT count(*) FROM runs"), campaign.status(idea)) == (0, "ready")
    replace(campaign, '["scriptd"]', '["scripted"]')
    campaign.settled()
    assert campaign.status(idea) == "done"


def test_an_edit_does_not_take_away_what_an_idea_is_to_run_on(unregistered: Campaign) -> None:
    campaign = unregistered
    own = '[harness.own]\ninteractive = ["true"]\n'
    campaign.configure(more=own)
    campaign.register()
    campaign.set_project(state="paused")
    idea = campaign.idea("pinned", harness="own")
    campaign.up()
    campaign.wait("SELECT 1 FROM events WHERE kind = 'daemon.started'")
    replace(campaign, own, "")
    assert f"harness.own: idea#{idea} runs on it" in campaign.wait(ERROR)
    assert '"own"' in campaign.value("SELECT config FROM projects")
