"""[stop] and [spend]: the campaign ends by itself, its agents wrap up, and somebody looks back on it."""

from __future__ import annotations

from herdr.ops.project import ResumeProject

from .conftest import Campaign, wait_until
from .test_links import link
from .test_research import FINDING, ended, sweeps

STATE = "SELECT state FROM projects"


def limited(campaign: Campaign, limits: str, *, slots: int = 1, watchdog: tuple[str, ...] = ()) -> None:
    campaign.configure(slots=slots, watchdog=watchdog, more=f"\n{limits}\n")
    text = (campaign.root / "piloop.toml").read_text()
    more = '[roles.watchdog]\naddendum = "watchdog.md"\n'
    (campaign.root / "piloop.toml").write_text(text.replace("[roles.watchdog]\n", more))
    campaign.register()


def test_after_so_many_runs_nothing_more_starts_and_somebody_looks_back_once(unregistered: Campaign) -> None:
    campaign = unregistered
    (campaign.root / "watchdog.md").write_text(f"DO {FINDING}")
    limited(campaign, "[stop]\nmax_runs = 2", slots=2, watchdog=("closing",))
    campaign.set_project(state="paused")
    ideas = [campaign.idea(f"idea {n}", f"commit number=1.{n} n{n}") for n in range(1, 4)]
    campaign.set_project(state="active")
    campaign.up()
    ended(campaign)
    assert campaign.value(STATE) == "stopped"
    assert "[stop] max_runs = 2" in campaign.value("SELECT state_reason FROM projects")
    # The last of them was not cut short: it was launched as the last, and came to its end.
    assert {row[0] for row in campaign.rows("SELECT end_cause FROM runs")} == {"finished"}
    assert campaign.status(ideas[2]) == "ready"
    assert sweeps(campaign) == [("watchdog", "closing", "done")]
    assert "The campaign has ended" in campaign.value("SELECT brief FROM sweeps")
    # A changed limit in the file lets it go on, and it stops there.
    text = (campaign.root / "piloop.toml").read_text().replace("max_runs = 2", "max_runs = 3")
    (campaign.root / "piloop.toml").write_text(text)
    campaign.settled(3)
    ended(campaign, 2)
    assert sweeps(campaign) == [("watchdog", "closing", "done")] * 2


def test_agents_at_work_are_told_and_have_time_to_wrap_up(unregistered: Campaign) -> None:
    campaign = unregistered
    limited(campaign, "[stop]\ntarget = 5", slots=2)
    campaign.set_project(state="paused")
    campaign.idea("winner", "wait go", "commit number=6 six")
    slow = campaign.idea("slow", "message", "commit number=2 two", "sleep 1000")
    queued = campaign.idea("later", "commit number=3 three")
    link(campaign, queued, "after", 1)
    campaign.set_project(state="active")
    campaign.up()
    wait_until(lambda: sum(" start " in line for line in campaign.said()) == 2, "both work")
    campaign.root.joinpath(campaign.value("SELECT worktree FROM runs WHERE idea_id = 1"), "go").touch()
    campaign.wait("SELECT state = 'stopped' FROM projects")
    wait_until(lambda: any(" got " in line for line in campaign.said()), "the other is told")
    (line,) = [line for line in campaign.said() if " got " in line]
    assert "The campaign stops: the head has reached the target of 5" in line
    wait_until(lambda: sum("committed" in line for line in campaign.said()) == 2, "it commits what it has")
    assert campaign.value("SELECT count(*) FROM agents WHERE state <> 'ended'") == 1
    # Ten minutes later it is ended; what it had committed is judged, and its idea has lost no attempt.
    campaign.kill()
    for column in ("projects SET stopped_at", "agents SET launched_at"):
        name = column.split()[-1]
        campaign.store.execute(f"UPDATE {column} = strftime('%Y-%m-%dT%H:%M:%fZ', {name}, '-1 hours')")
    campaign.up()
    campaign.settled(2)
    run = campaign.run_of(slow)
    assert (run.state, run.end_cause, run.counts) == ("cancelled", "stopped", False)
    assert campaign.status(slow) == campaign.status(queued) == "ready"
    assert campaign.value("SELECT verdict FROM candidates WHERE subject = 'two'") is not None
    assert campaign.value("SELECT count(*) FROM messages WHERE kind = 'wrap_up'") == 1


def test_a_person_who_resumes_has_decided(unregistered: Campaign) -> None:
    campaign = unregistered
    limited(campaign, "[stop]\nplateau = 1")
    campaign.idea("worse", "commit number=0 zero")
    campaign.up()
    campaign.wait("SELECT state = 'stopped' FROM projects")
    campaign.idea("better", "commit number=7 seven")
    campaign.ask(ResumeProject())
    campaign.settled(2)
    assert campaign.value(STATE) == "active"
    # A keep ended that plateau, so the next one stops the campaign again.
    campaign.idea("worse again", "commit number=0.5 half")
    campaign.settled(3)
    campaign.wait("SELECT state = 'stopped' FROM projects")


def test_what_is_spent_is_told_and_limits(unregistered: Campaign) -> None:
    campaign = unregistered
    spent = campaign.root.parent / "spent"
    spent.write_text("no idea yet\n")
    limited(campaign, f'[spend]\ncommand = ["cat", "{spent}"]\nlimit = 10\nnotices = [2, 5]\ninterval = 0.2')
    campaign.up()
    campaign.wait("SELECT spend_error FROM projects")
    assert "no idea yet" in campaign.value("SELECT spend_error FROM projects")
    notices = "SELECT body FROM comments WHERE priority IS NOT NULL ORDER BY id"
    spent.write_text("so far\n$3.20\n")
    campaign.wait("SELECT spent = 3.2 FROM projects")
    assert campaign.value("SELECT spend_error FROM projects") is None
    assert [row[0][:4] for row in campaign.rows(notices)] == ["3.20"]
    campaign.idea("cheap", "commit number=2 two")
    campaign.settled()
    spent.write_text("12.00 USD\n")
    campaign.wait("SELECT state = 'stopped' FROM projects")
    assert "12.00 of 10.00 US dollars" in campaign.value("SELECT state_reason FROM projects")
    assert len(campaign.rows(notices)) == 2
    # It is a hard limit: resuming does not lift it.
    campaign.ask(ResumeProject())
    campaign.wait("SELECT count(*) = 2 FROM events WHERE kind = 'project.stopped'")
