"""Chains, sharper ideas, lost prerequisites, and runs that explore."""

from __future__ import annotations

from .conftest import Campaign, wait_until


def link(campaign: Campaign, idea: int, kind: str, target: int) -> None:
    sql = "INSERT INTO idea_links (idea_id, target_id, kind, actor) VALUES (?, ?, ?, 'human')"
    campaign.store.execute(sql, (idea, target, kind))


def order(campaign: Campaign) -> list[int]:
    return [row[0] for row in campaign.rows("SELECT idea_id FROM runs ORDER BY id")]


def test_a_chain_runs_one_after_the_other_each_from_the_head_of_then(campaign: Campaign) -> None:
    campaign.set_project(state="paused")
    last = campaign.idea("three", "commit number=4 four", priority=0)
    middle = campaign.idea("two", "commit number=3 three", priority=0)
    first = campaign.idea("one", "commit number=2 two", priority=4)
    link(campaign, last, "after", middle)
    link(campaign, middle, "after", first)
    campaign.set_project(state="active")
    campaign.up()
    campaign.settled(3)
    assert order(campaign) == [first, middle, last]
    assert campaign.verdicts() == [("two", "keep", "gain"), ("three", "keep", "gain"), ("four", "keep", "gain")]
    bases = [row[0] for row in campaign.rows("SELECT base_id FROM runs ORDER BY id")]
    heads = [row[0] for row in campaign.rows("SELECT id FROM candidates WHERE verdict = 'keep' ORDER BY id")]
    assert bases == heads[:3]


def test_a_superseded_idea_that_never_ran_is_rejected_and_one_that_ran_is_not(campaign: Campaign) -> None:
    ran = campaign.idea("ran", "commit number=2 two")
    campaign.up()
    campaign.settled()
    campaign.set_project(state="paused")
    plain = campaign.idea("plain", "commit number=3 three")
    seed = campaign.idea("hunch", status="seed")
    sharp = campaign.idea("sharp", "commit number=4 four")
    for target in (ran, plain, seed):
        link(campaign, sharp, "supersedes", target)
    wait_until(lambda: campaign.status(seed) == campaign.status(plain) == "rejected", "both are rejected")
    notes = campaign.rows(
        "SELECT target_id, kind, actor, body FROM comments WHERE target_kind = 'idea' ORDER BY id"
    )
    assert [tuple(row)[:3] for row in notes] == [(plain, "note", "daemon"), (seed, "note", "daemon")]
    assert all(f"idea#{sharp}" in row[3] for row in notes)
    campaign.set_project(state="active")
    campaign.settled(2)
    assert campaign.status(ran) == campaign.status(sharp) == "done"


def test_a_person_who_takes_up_a_superseded_idea_again_has_the_last_word(campaign: Campaign) -> None:
    campaign.set_project(state="paused")
    plain, sharp = campaign.idea("plain", "commit number=2 two"), campaign.idea("sharp", status="proposed")
    link(campaign, sharp, "supersedes", plain)
    campaign.up()
    wait_until(lambda: campaign.status(plain) == "rejected", "it is rejected")
    campaign.store.execute("UPDATE ideas SET status = 'ready', actor = 'human' WHERE id = ?", (plain,))
    campaign.set_project(state="active")
    campaign.settled()
    assert campaign.status(plain) == "done"


def test_a_prerequisite_that_was_parked_is_raised_once(campaign: Campaign) -> None:
    campaign.set_project(state="paused")
    lost = campaign.idea("lost", status="parked")
    waiting = campaign.idea("waiting", "commit number=2 two")
    link(campaign, waiting, "after", lost)
    campaign.up()
    inbox = "SELECT count(*) FROM comments WHERE priority IS NOT NULL AND target_kind = 'idea' AND target_id = ?"
    campaign.wait(inbox, waiting)
    campaign.set_project(state="active")
    # Another idea that comes to its end shows that the daemon has looked again.
    campaign.idea("other", "commit number=3 three")
    campaign.settled()
    assert campaign.value(inbox, waiting) == 1
    assert f"idea#{lost}, which is parked" in campaign.value(
        "SELECT body FROM comments WHERE priority IS NOT NULL"
    )
    assert campaign.status(waiting) == "ready"
    campaign.store.execute(
        "UPDATE ideas SET status = 'ready', plan = 'DO commit number=4 four' WHERE id = ?", (lost,)
    )
    campaign.settled(3)
    assert order(campaign)[-2:] == [lost, waiting]


def test_at_least_one_run_in_so_many_starts_from_a_pinned_idea(campaign: Campaign) -> None:
    campaign.configure(slots=1, top="max_evaluations = 2")
    text = (
        (campaign.root / "piloop.toml").read_text().replace("timeout = 60\n", "timeout = 60\nexplore_every = 3\n")
    )
    (campaign.root / "piloop.toml").write_text(text)
    campaign.register()
    plains = [campaign.idea(f"plain {n}", f"commit number=1.{n} p{n}", priority=0) for n in (1, 2)]
    campaign.up()
    # Whether a run is a branch is known when it is queued, so the head has to have moved away by then.
    campaign.settled(2)
    campaign.set_project(state="paused")
    plains += [campaign.idea(f"plain {n}", f"commit number=1.{n} p{n}", priority=0) for n in (3, 4)]
    pinned = campaign.idea("pinned", "commit number=9 branch", priority=4, base_id=1)
    campaign.set_project(state="active")
    campaign.settled(5)
    assert order(campaign) == [*plains[:2], pinned, *plains[2:]]
    run = campaign.run_of(pinned)
    assert (run.is_branch, run.base_id) == (True, 1)
    # Its keep is a keep, of a branch: the head stays where the others brought it.
    assert ("branch", "keep", "gain") in campaign.verdicts()
    head = "SELECT subject FROM candidates WHERE id = (SELECT head_id FROM projects)"
    assert campaign.value(head).startswith("p")
