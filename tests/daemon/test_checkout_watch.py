"""A change of the checkout while agents live is told once, with runs and evidence; nothing of it is undone."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from herdr.ops.inbox import ListInbox

COUNT = "SELECT count(*) FROM comments WHERE kind = 'escalation'"


def git(root: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=root, check=True, stdout=subprocess.DEVNULL)


def told(campaign: Any) -> list[str]:
    return [one.body for one in campaign.ask(ListInbox()).comments]


def test_an_agent_that_works_in_the_checkout_is_told_with_its_run_and_evidence(campaign: Any) -> None:
    root = campaign.root
    leave = f"sh cd {root} && echo 7 > number.txt && git config alias.x status"
    session = f"sh echo 'edit {root}/number.txt.' > {campaign.home.agent_dir(1)}/session.jsonl"
    campaign.idea("Leave", leave, session, "commit number=3 three")
    campaign.up()
    campaign.settled()
    (body,) = told(campaign)
    assert body.startswith("Your checkout changed while run#1 ran: .git/config, number.txt. If that was not you")
    assert "worker#1's transcript" in body
    assert body.endswith("names number.txt in the checkout.")
    assert f"{root}/number.txt" not in body
    assert "\n" not in body
    (inbox,) = campaign.ask(ListInbox()).comments
    assert (inbox.target, inbox.priority) == ("project#1", 2)
    assert (root / "number.txt").read_text() == "7\n", "nothing is undone"
    campaign.down()
    campaign.idea("Stay", "commit number=4 four")
    campaign.up()
    campaign.settled(2)
    assert campaign.value(COUNT) == 1, "neither a restart nor a further run repeats it"


def test_what_a_person_does_while_no_agent_lives_is_not_told(campaign: Any) -> None:
    campaign.idea("One", "commit number=3 three")
    campaign.up()
    campaign.settled()
    (campaign.root / "number.txt").write_text("8\n")
    git(campaign.root, "branch", "mine")
    campaign.idea("Two", "commit number=4 four")
    campaign.settled(2)
    assert told(campaign) == []


def test_a_change_of_gits_settings_is_told_once_and_not_obeyed(campaign: Any) -> None:
    root = campaign.root
    setting = f"sh git -C {root} config filter.x.clean cat && git -C {root} config user.name Mallory"
    campaign.idea("Set", setting, "commit number=3 three")
    campaign.up()
    campaign.settled()
    (first, second) = told(campaign)
    assert first.startswith("Your checkout changed while run#1 ran: .git/config.")
    assert second.startswith(
        "git's settings of the checkout changed since `herdr up`: filter.x.clean is new, user.name"
    )
    assert "herdr up" in second
    assert "Mallory" not in (campaign.home.repositories(root) / "own.git/config").read_text()
    campaign.down()
    campaign.idea("Stay", "commit number=4 four")
    campaign.up()
    campaign.settled(2)
    assert campaign.value(COUNT) == 2


def test_a_look_that_fails_keeps_no_run_from_its_end(campaign: Any) -> None:
    campaign.idea("One", "sh sleep 1", "commit number=3 three")
    campaign.up()
    campaign.wait("SELECT 1 FROM agents WHERE started_at IS NOT NULL")
    (campaign.root / ".git/index").write_bytes(b"no index")
    campaign.settled()
    assert campaign.verdicts()
    note = "SELECT body FROM comments WHERE kind = 'note' AND actor = 'daemon'"
    assert "tracked files of the checkout are not compared" in campaign.value(note)
    assert campaign.value(COUNT) == 0
