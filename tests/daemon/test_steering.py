"""Comments and prompts reach a running agent once, in order, and its own requests are answered by its role."""

from __future__ import annotations

from herdr.contract.words import TargetKind

from .conftest import Campaign, wait_until


def heard(campaign: Campaign) -> list[str]:
    return [line.partition(" got ")[2] for line in campaign.said() if " got " in line]


def messages(campaign: Campaign) -> list[tuple[str, str]]:
    rows = campaign.rows("SELECT kind, state FROM messages WHERE kind <> 'brief' ORDER BY id")
    return [tuple(row) for row in rows]


def listening(campaign: Campaign, *more: str) -> None:
    """An idea whose agent takes typed lines, and the agent at work."""
    campaign.idea("listener", "message", *more)
    campaign.up()
    wait_until(lambda: any("start" in line for line in campaign.said()), "the agent works")


def test_a_prompt_is_typed_and_confirmed(campaign: Campaign) -> None:
    listening(campaign, "commit number=2 two")
    campaign.prompt(1, "try 8 neighbours")
    campaign.settled()
    assert heard(campaign) == ["try 8 neighbours"]
    assert messages(campaign) == [("prompt", "received")]


def test_comments_on_the_run_and_its_idea_are_typed_in_order_and_once(campaign: Campaign) -> None:
    listening(campaign, "message", "message", "commit number=2 two")
    targets: list[tuple[TargetKind, int]] = [("run", 1), ("idea", 1), ("run", 1)]
    for number, target in enumerate(targets):
        campaign.comment(target, f"hint {number}\nand more that is not typed", kind="decision")
    campaign.settled()
    lines = heard(campaign)
    assert [line.split(": ")[1].split(" —")[0] for line in lines] == ["hint 0", "hint 1", "hint 2"]
    assert all(line.startswith("[piloop] decision on ") and " by human: " in line for line in lines)
    assert messages(campaign) == [("comment", "received")] * 3


def test_what_an_agent_says_itself_is_not_typed_back(campaign: Campaign) -> None:
    listening(campaign, "commit number=2 two")
    campaign.comment(("run", 1), "from the agent", actor="worker#1")
    campaign.comment(("idea", 1), "from another", actor="worker#9")
    campaign.comment(("run", 1), "from a person")
    campaign.settled()
    assert len(heard(campaign)) == 1
    assert "from a person" in heard(campaign)[0]


def test_an_earlier_comment_is_in_the_brief_and_is_not_typed(campaign: Campaign) -> None:
    campaign.set_project(state="paused")
    campaign.idea("briefed", "sleep 1", "commit number=2 two")
    campaign.comment(("idea", 1), "said before the start")
    campaign.set_project(state="active")
    campaign.up()
    campaign.settled()
    assert "said before the start" in campaign.value("SELECT brief FROM runs")
    assert messages(campaign) == []


def test_what_was_never_typed_has_failed_when_the_agent_ends(campaign: Campaign) -> None:
    text = campaign.root.joinpath("piloop.toml").read_text().replace('received = "received: {text}"\n', "")
    campaign.root.joinpath("piloop.toml").write_text(text)
    campaign.register()
    campaign.idea("deaf", "wait go", "commit number=2 two")
    campaign.up()
    wait_until(lambda: any("start" in line for line in campaign.said()), "the agent works")
    campaign.prompt(1, "can you hear me")
    campaign.wait("SELECT 1 FROM messages WHERE kind = 'prompt' AND state = 'failed'")
    assert "takes no typed text" in campaign.value("SELECT detail FROM messages WHERE kind = 'prompt'")
    campaign.root.joinpath(campaign.value("SELECT worktree FROM runs"), "go").touch()
    campaign.settled()


def test_an_agent_may_speak_about_its_own_run_and_nothing_else(campaign: Campaign) -> None:
    campaign.idea("other", "commit number=0 zero", priority=4)
    campaign.configure(slots=1)
    campaign.register()
    campaign.idea(
        "agent",
        "piloop comment|add|run#1|--kind|note|half way",
        "piloop comment|add|idea#1|--kind|note|about another idea",
        "piloop idea|add|an idea of mine",
        "piloop sql|SELECT count(*) AS n FROM ideas",
        "piloop sql|DELETE FROM comments",
        "piloop pause",
        "commit number=2 two",
        priority=0,
    )
    campaign.up()
    campaign.settled()
    codes = [int(line.split()[2]) for line in campaign.said() if " piloop " in line]
    assert codes[0] == 0
    assert all(code != 0 for code in codes[1:3])
    assert codes[3] == 0
    assert all(code != 0 for code in codes[4:])
    bodies = [row[0] for row in campaign.rows("SELECT body FROM comments")]
    assert bodies == ["half way"]
    assert campaign.value("SELECT count(*) FROM ideas") == 2
    assert campaign.value("SELECT state FROM projects") == "active"
