"""What a run's commits come to, from idea to head, in real panes."""

from __future__ import annotations

from .conftest import Campaign, wait_until


def test_a_better_commit_becomes_the_head(campaign: Campaign) -> None:
    idea = campaign.idea("five", "commit number=5 five")
    campaign.up()
    campaign.settled()
    assert campaign.verdicts() == [("five", "keep", "gain")]
    assert campaign.status(idea) == "done"
    head = campaign.value("SELECT head_id FROM projects")
    assert campaign.value("SELECT subject FROM candidates WHERE id = ?", head) == "five"


def test_every_commit_of_a_run_is_judged_in_order_each_keep_being_the_next_bar(campaign: Campaign) -> None:
    campaign.idea("steps", "commit number=3 three", "commit number=2 two", "commit number=4 four")
    campaign.up()
    campaign.settled()
    assert campaign.verdicts() == [
        ("three", "keep", "gain"),
        ("two", "discard", "no_gain"),
        ("four", "keep", "gain"),
    ]


def test_what_cannot_be_scored_is_a_crash_and_the_campaign_goes_on(campaign: Campaign) -> None:
    campaign.configure(slots=1)
    campaign.idea("broken", "commit number=oops broken")
    campaign.idea("fine", "commit number=2 fine")
    campaign.up()
    campaign.settled(2)
    assert campaign.verdicts() == [("broken", "crash", "error"), ("fine", "keep", "gain")]


def test_a_changed_evaluator_scores_nothing_and_is_named(campaign: Campaign) -> None:
    campaign.idea("cheat", "write evaluate.py print('METRIC score=99\\nMETRIC cost=0')", "commit number=1 cheat")
    campaign.up()
    campaign.settled()
    assert campaign.verdicts() == [("cheat", "discard", "protected")]
    assert "evaluate.py" in campaign.value("SELECT reason FROM candidates WHERE cause = 'protected'")
    assert '"score":1.0' in campaign.value("SELECT metrics FROM measurements ORDER BY id DESC")


def test_uncommitted_work_is_committed_separately_and_scored(campaign: Campaign) -> None:
    campaign.idea("careless", "commit number=2 two", "write number.txt 3")
    campaign.up()
    campaign.settled()
    rows = campaign.rows("SELECT origin, verdict FROM candidates WHERE origin <> 'baseline' ORDER BY id")
    assert [tuple(row) for row in rows] == [("run", "keep"), ("recovered", "keep")]


def test_trailers_skip_and_note(campaign: Campaign) -> None:
    campaign.idea(
        "trailers",
        "commit number=0.1 scaffold\\n\\nPiloop-Eval: skip",
        "commit number=0.5 worse\\n\\nPiloop-Note: a simpler base",
    )
    campaign.up()
    campaign.settled()
    assert campaign.verdicts() == [("scaffold", None, None), ("worse", "interesting", "no_gain")]
    assert campaign.value("SELECT count(*) FROM measurements") == 2
    assert campaign.value("SELECT cause FROM candidates WHERE subject = 'worse'") == "note"


def test_a_keep_that_the_head_passed_by_is_merged_onto_it_and_judged_there(campaign: Campaign) -> None:
    campaign.idea("extra", "write a.extra x", "wait go", "commit number=9 nine")
    campaign.idea("text", "write b.txt x", "commit number=1.5 text")
    campaign.up()
    campaign.wait("SELECT 1 FROM candidates WHERE subject = 'text' AND verdict = 'keep'")
    worktree = campaign.wait("SELECT worktree FROM runs WHERE idea_id = 1 AND started_at IS NOT NULL")
    campaign.root.joinpath(worktree, "go").touch()
    campaign.settled(2)
    assert ("nine", "interesting", "gain") in campaign.verdicts()
    # Both changed number.txt, so the merge conflicts: the gain is not lost, it becomes a seed.
    assert campaign.value("SELECT title FROM ideas WHERE status = 'seed'") == "Put candidate#3 onto the head"


def test_the_users_checkout_is_not_touched(campaign: Campaign) -> None:
    campaign.root.joinpath("number.txt").write_text("7, but not committed\n")
    campaign.idea("five", "commit number=5 five")
    campaign.up()
    campaign.settled()
    assert campaign.root.joinpath("number.txt").read_text() == "7, but not committed\n"
    assert campaign.value("SELECT count(*) FROM candidates WHERE verdict = 'keep'") == 2
    # A scored, clean and pinned worktree goes by itself.
    wait_until(lambda: not list(campaign.root.joinpath(".worktrees").glob("run-*")), "no worktree is left")
