"""The failed-start rule: the same run again, up to two times; then launching is held, until it ages out."""

from __future__ import annotations

from herdr.ops.project import ResumeProject

from .conftest import Campaign, wait_until

HELD = "SELECT held_since FROM projects"
ESCALATIONS = "SELECT count(*) FROM comments WHERE kind = 'escalation'"


def held(campaign: Campaign) -> int:
    """An idea that never starts, with launching held after its third failed start; its id."""
    campaign.configure(slots=1)
    campaign.register()
    dead = campaign.idea("dead", "exit 3", priority=0)
    campaign.up()
    campaign.wait(HELD)
    return dead


def age(campaign: Campaign, minutes: int) -> None:
    """Let the failed starts be as old as that."""
    moved = f"strftime('%Y-%m-%dT%H:%M:%fZ', ended_at, '-{minutes} minutes')"
    campaign.store.execute(f"UPDATE agents SET ended_at = {moved} WHERE failed_start = 1")


def test_three_failed_starts_hold_the_project_and_tell_a_person_once(campaign: Campaign) -> None:
    dead = held(campaign)
    campaign.settled()
    other = campaign.idea("fine", "commit number=2 two", priority=0)
    assert campaign.value("SELECT count(*) FROM agents") == 3
    body = campaign.value("SELECT body FROM comments WHERE kind = 'escalation'")
    assert "scripted: exited" in body
    assert all(f"herdr logs worker#{number}" in body for number in (1, 2, 3))
    assert "piloop resume numbers" in body
    assert campaign.value("SELECT priority FROM comments WHERE kind = 'escalation'") == 1
    # The first attempt is used up, the second waits; so does everybody else.
    assert (campaign.status(dead), campaign.status(other)) == ("ready", "ready")
    campaign.kill()
    campaign.up()
    campaign.wait("SELECT count(*) = 2 FROM events WHERE kind = 'daemon.started'")
    wait_until(lambda: campaign.value("SELECT count(*) FROM events WHERE kind = 'launching.held'") == 1, "held")
    assert campaign.value(ESCALATIONS) == 1
    assert campaign.value("SELECT count(*) FROM agents") == 3


def test_launching_goes_on_by_itself_when_the_failures_have_aged(campaign: Campaign) -> None:
    held(campaign)
    campaign.settled()
    other = campaign.idea("fine", "commit number=2 two", priority=0)
    campaign.store.execute("UPDATE ideas SET status = 'parked' WHERE id <> ?", (other,))
    age(campaign, 9)
    assert campaign.value(HELD)
    age(campaign, 2)
    campaign.settled(2)
    assert campaign.status(other) == "done"
    assert campaign.value(HELD) is None
    kinds = [row[0] for row in campaign.rows("SELECT kind FROM events WHERE kind LIKE 'launching.%' ORDER BY id")]
    assert kinds == ["launching.held", "launching.resumed"]


def test_a_person_resumes_it_at_once_and_three_more_failures_hold_it_again(campaign: Campaign) -> None:
    dead = held(campaign)
    campaign.settled()
    campaign.ask(ResumeProject())
    campaign.settled(2)
    assert campaign.status(dead) == "parked"
    campaign.wait(HELD)
    assert campaign.value(ESCALATIONS) == 2


def test_a_start_again_waits_in_the_queue_while_launching_is_held(campaign: Campaign) -> None:
    campaign.configure(slots=3)
    campaign.register()
    campaign.set_project(state="paused")
    ideas = [campaign.idea(f"dead {n}", "exit 3") for n in range(3)]
    campaign.set_project(state="active")
    campaign.up()
    campaign.wait(HELD)
    wait_until(lambda: campaign.value("SELECT count(*) FROM agents WHERE state <> 'ended'") == 0, "none lives")
    agents = campaign.value("SELECT count(*) FROM agents")
    # Three were on their way when the third failure was seen; after it no more were launched.
    assert 3 <= agents <= 5
    open_runs = campaign.rows("SELECT state, failed_starts FROM runs WHERE settled_at IS NULL")
    assert {row[0] for row in open_runs} == {"queued"}
    assert {campaign.status(idea) for idea in ideas} == {"scheduled"}
    assert campaign.value("SELECT count(*) FROM runs") == 3


def test_a_comment_makes_it_a_real_start(campaign: Campaign) -> None:
    campaign.idea("talker", "piloop comment|add|run#1|--kind|note|I am here", "exit 3")
    campaign.up()
    campaign.settled()
    assert campaign.value("SELECT count(*) FROM agents WHERE run_id = 1") == 1
    assert campaign.value("SELECT end_cause FROM runs WHERE id = 1") == "process_error"
    assert campaign.value("SELECT failed_starts FROM runs WHERE id = 1") == 0


def test_a_harness_that_is_missing_holds_up_only_what_runs_on_it(campaign: Campaign) -> None:
    campaign.configure(slots=1, more='\n[harness.ghost]\ninteractive = ["/nowhere/ghost", "{brief}"]\n')
    campaign.register()
    ghost = campaign.idea("haunted", "commit number=2 two", harness="ghost", priority=0)
    campaign.idea("fine", "commit number=2 two", harness="scripted")
    campaign.up()
    campaign.settled(2)
    causes = campaign.rows("SELECT DISTINCT cause FROM agents WHERE failed_start = 1")
    assert [row[0] for row in causes] == ["not_found"]
    assert campaign.value(HELD) is None
    assert campaign.verdicts() == [("two", "keep", "gain")]
    body = campaign.value("SELECT body FROM comments WHERE kind = 'escalation'")
    assert "No agent is launched for numbers on ghost: 3 starts failed" in body
    assert "Then: piloop resume numbers" in body
    campaign.kill()
    campaign.up()
    campaign.wait("SELECT count(*) = 2 FROM events WHERE kind = 'daemon.started'")
    # Its second attempt waits, and nobody is told twice.
    other = campaign.idea("later", "commit number=3 three", harness="scripted")
    campaign.wait("SELECT 1 FROM runs WHERE idea_id = ? AND settled_at NOT NULL", other)
    assert campaign.status(ghost) == "ready"
    assert campaign.value(ESCALATIONS) == 1
    campaign.ask(ResumeProject())
    campaign.wait("SELECT count(*) >= 4 FROM agents WHERE harness = 'ghost'")
