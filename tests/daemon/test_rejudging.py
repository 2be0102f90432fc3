"""Starting points from outside, scores made again, verdicts by people, and an evaluator that changes."""

from __future__ import annotations

from herdr.ops.candidate.changing import ImportCommit, OverruleVerdict, RemeasureCandidate

from .conftest import EVALUATE, Campaign, wait_until

HEAD = "SELECT subject FROM candidates WHERE id = (SELECT head_id FROM projects)"


def test_an_imported_commit_is_measured_and_never_a_keep_and_runs_start_from_it(campaign: Campaign) -> None:
    campaign.git("checkout", "-q", "-b", "side")
    (campaign.root / "number.txt").write_text("50\n")
    campaign.git("commit", "-qam", "fifty")
    campaign.git("checkout", "-q", "main")
    campaign.up()
    imported = campaign.ask(ImportCommit(commit="side", summary="from the side")).ref
    campaign.wait("SELECT 1 FROM measurements WHERE candidate_id = 2 AND state = 'done'")
    campaign.idea("from there", "commit number=60 sixty", base_id=2)
    campaign.settled()
    rows = campaign.rows("SELECT subject, origin, verdict, on_trunk FROM candidates ORDER BY id")
    assert [tuple(row) for row in rows][1:] == [
        ("from the side", "imported", None, 0),
        ("sixty", "run", "keep", 0),
    ]
    assert imported == "candidate#2"
    assert campaign.value("SELECT head_id FROM projects") == 1
    assert campaign.value("SELECT bar_id FROM candidates WHERE subject = 'sixty'") == 2


def test_a_new_score_is_judged_and_the_head_follows_it(campaign: Campaign) -> None:
    """The evaluator reads a file outside the repo here, so that a score can change."""
    bonus = campaign.root.parent / "bonus"
    bonus.write_text("0")
    text = EVALUATE.replace(
        'float(text)}")', f'float(text) + (float(text) > 1) * float(open({str(bonus)!r}).read())}}")'
    )
    (campaign.root / "evaluate.py").write_text(text)
    campaign.git("commit", "-qam", "with a bonus")
    campaign.register()
    campaign.idea("five", "commit number=5 five")
    campaign.up()
    campaign.settled()
    assert campaign.value(HEAD) == "five"
    five = campaign.value("SELECT id FROM candidates WHERE subject = 'five'")
    bonus.write_text("-10")
    campaign.ask(RemeasureCandidate(candidate=f"candidate#{five}", reason="it was luck"))
    campaign.wait("SELECT verdict = 'discard' FROM candidates WHERE id = ?", five)
    assert campaign.value("SELECT origin FROM candidates WHERE id = (SELECT head_id FROM projects)") == "baseline"
    assert campaign.value("SELECT count(*) FROM measurements WHERE candidate_id = ?", five) == 2
    bonus.write_text("1")
    campaign.ask(RemeasureCandidate(candidate=f"candidate#{five}", reason="once more"))
    campaign.wait("SELECT verdict = 'keep' FROM candidates WHERE id = ?", five)
    assert campaign.value(HEAD) == "five"


def test_a_keep_that_is_one_only_by_its_new_score_is_merged_onto_the_head_of_now(campaign: Campaign) -> None:
    bonus = campaign.root.parent / "bonus"
    bonus.write_text("0")
    more = f"float(text) + Path('b.txt').exists() * float(open({str(bonus)!r}).read())"
    (campaign.root / "evaluate.py").write_text(EVALUATE.replace("float(text)", more))
    campaign.git("commit", "-qam", "with a bonus for b.txt")
    campaign.configure(slots=1)
    campaign.register()
    campaign.idea("odd", "write b.txt x", "commit number=1 odd")
    campaign.idea("two", "commit number=2 two", priority=4)
    campaign.up()
    campaign.settled(2)
    assert campaign.value(HEAD) == "two"
    odd = campaign.value("SELECT id FROM candidates WHERE subject = 'odd'")
    bonus.write_text("5")
    campaign.ask(RemeasureCandidate(candidate=f"candidate#{odd}", reason="the bonus was not counted"))
    campaign.wait("SELECT origin = 'rebase' FROM candidates WHERE id = (SELECT head_id FROM projects)")
    verdicts = dict(campaign.rows("SELECT subject, verdict FROM candidates WHERE origin = 'run'"))
    assert verdicts == {"odd": "interesting", "two": "keep"}
    assert '"score":7.0' in campaign.value("SELECT metrics FROM measurements ORDER BY id DESC")


def test_a_verdict_by_a_person_stands_and_the_next_run_starts_from_the_head_before(campaign: Campaign) -> None:
    campaign.idea("five", "commit number=5 five")
    campaign.up()
    campaign.settled()
    five = campaign.value("SELECT id FROM candidates WHERE subject = 'five'")
    campaign.ask(OverruleVerdict(candidate=f"candidate#{five}", verdict="discard", reason="it cheats"))
    campaign.idea("three", "commit number=3 three")
    campaign.settled(2)
    assert campaign.value("SELECT base_id FROM runs ORDER BY id DESC") == 1
    assert campaign.value(HEAD) == "three"
    assert campaign.value("SELECT verdict FROM candidates WHERE id = ?", five) == "discard"


def test_a_noted_regression_becomes_a_seed_that_starts_from_it(campaign: Campaign) -> None:
    campaign.idea("simpler", "commit number=0.5 worse\\n\\nPiloop-Note: a simpler base")
    campaign.up()
    campaign.settled()
    seed = campaign.rows("SELECT title, base_id, source, provenance FROM ideas WHERE status = 'seed'")
    worse = campaign.value("SELECT id FROM candidates WHERE subject = 'worse'")
    expected = (f"Go on from candidate#{worse}: a simpler base", worse, "daemon", f"candidate#{worse}, run#1")
    assert [tuple(row) for row in seed] == [expected]


def test_a_changed_evaluator_measures_the_head_and_what_is_open_again_and_nothing_else(
    campaign: Campaign,
) -> None:
    campaign.idea("two", "commit number=2 two")
    campaign.up()
    campaign.settled()
    campaign.idea("three", "wait go", "commit number=3 three")
    wait_until(lambda: sum(" start " in line for line in campaign.said()) == 2, "the agent works")
    text = (campaign.root / "piloop.toml").read_text().replace('direction = "lower"', 'direction = "higher"')
    (campaign.root / "piloop.toml").write_text(text)
    campaign.wait("SELECT 1 FROM events WHERE kind = 'project.evaluator' AND id > 10")
    campaign.root.joinpath(campaign.value("SELECT worktree FROM runs WHERE idea_id = 2"), "go").touch()
    campaign.settled(2)
    sql = (
        "SELECT c.subject FROM measurements m JOIN candidates c ON c.id = m.candidate_id"
        " WHERE m.evaluator_id = (SELECT evaluator_id FROM projects) ORDER BY c.id"
    )
    assert [row[0] for row in campaign.rows(sql)] == ["two", "three"]
    assert campaign.value(HEAD) == "three"
