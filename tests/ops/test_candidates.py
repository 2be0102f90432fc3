"""Starting points from anywhere, leads, new scores, and verdicts by people."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from herdr.errors import RefusedError, UsageError
from herdr.ops.candidate.changing import ImportCommit, NoteCandidate, OverruleVerdict, RemeasureCandidate
from herdr.ops.comment import AddComment, ListComments
from herdr.ops.history import TRIED, GatherHistory, gather, pack_of
from herdr.ops.idea.filing import AddIdea, PlantSeed
from herdr.ops.project import ShowStatus
from herdr.store.rows import Candidate, Idea, Measurement, Project, fetch, get


def git(campaign: Any, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=campaign.root, check=True, capture_output=True, text=True
    ).stdout.strip()


def branch(campaign: Any) -> str:
    git(campaign, "checkout", "-q", "-b", "elsewhere")
    (campaign.root / "size").write_text("5\n")
    git(campaign, "commit", "-qam", "From another campaign")
    sha = git(campaign, "rev-parse", "HEAD")
    git(campaign, "checkout", "-q", "main")
    return sha


def candidate(campaign: Any, number: int) -> Candidate:
    return get(campaign.store, Candidate, number)


def head(campaign: Any) -> int | None:
    return get(campaign.store, Project, 1).head_id


def test_any_commit_is_imported_measured_and_never_a_keep(campaign: Any) -> None:
    sha = branch(campaign)
    done = campaign.as_human(ImportCommit(commit="elsewhere"))
    assert (done.ref, done.commit, done.subject) == ("candidate#2", sha, "From another campaign")
    row = candidate(campaign, 2)
    assert (row.origin, row.verdict, row.parent_id, head(campaign)) == ("imported", None, None, 1)
    queued = fetch(campaign.store, Measurement, "WHERE candidate_id = 2")
    assert [(one.state, one.purpose) for one in queued] == [("queued", "score")]
    git(campaign, "branch", "-qD", "elsewhere")
    assert git(campaign, "rev-parse", f"refs/piloop/{campaign.home.id}/tiny/candidate/2") == sha
    assert campaign.as_human(AddIdea(title="From there", base="candidate#2")).status == "ready"
    with pytest.raises(RefusedError, match="is candidate#2 already"):
        campaign.as_human(ImportCommit(commit=sha[:12]))
    with pytest.raises(UsageError, match="names no commit"):
        campaign.as_human(ImportCommit(commit="nowhere"))
    with pytest.raises(RefusedError, match="a reference, never a keep"):
        campaign.as_human(OverruleVerdict(candidate="2", verdict="keep", reason="x"))


def test_a_note_makes_a_lead_and_its_seeds_start_there(campaign: Any) -> None:
    campaign.commit(campaign.run(campaign.idea()), "a" * 40, 9.0, verdict="discard", judged_by="daemon")
    done = campaign.as_human(NoteCandidate(candidate="2", reason="simpler", follow_up=("Tune it", "Combine it")))
    assert (done.verdict, done.seeds) == ("interesting", ["idea#2", "idea#3"])
    row = candidate(campaign, 2)
    assert (row.note, row.cause, row.judged_by) == ("simpler", "note", "human")
    seed = get(campaign.store, Idea, 2)
    assert (seed.status, seed.base_id, seed.provenance) == ("seed", 2, "candidate#2")


def test_a_new_score_replaces_the_old_one(campaign: Any) -> None:
    campaign.commit(campaign.run(campaign.idea()), "a" * 40, 7.0, verdict="keep", judged_by="daemon")
    campaign.as_human(RemeasureCandidate(candidate="2", reason="the machine was busy"))
    rows = fetch(campaign.store, Measurement, "WHERE candidate_id = 2 ORDER BY id")
    assert [(one.purpose, one.state) for one in rows] == [("earlier", "done"), ("score", "queued")]
    assert candidate(campaign, 2).judge_again
    with pytest.raises(RefusedError, match=r"being scored already \(queued\)"):
        campaign.as_human(RemeasureCandidate(candidate="2", reason="again"))
    campaign.as_human(RemeasureCandidate(candidate="1", reason="the baseline too"))
    assert not candidate(campaign, 1).judge_again
    payload = campaign.store.execute("SELECT payload FROM events WHERE kind = 'candidate.remeasure'").fetchone()[
        0
    ]
    assert json.loads(payload) == {"reason": "the machine was busy"}


def test_a_person_overrules_and_the_head_follows(campaign: Any) -> None:
    campaign.set(Candidate, 1, on_trunk=1)
    run = campaign.run(campaign.idea())
    campaign.commit(run, "a" * 40, 9.0, verdict="discard", judged_by="daemon")
    done = campaign.as_human(OverruleVerdict(candidate="2", verdict="keep", reason="a better way"))
    assert (done.verdict, done.head, head(campaign)) == ("keep", "candidate#2", 2)
    row = candidate(campaign, 2)
    assert (row.cause, row.judged_by, row.on_trunk, row.reason) == ("override", "human", True, "a better way")
    comment = campaign.as_human(ListComments(target="candidate#2"))[0]
    assert (comment.kind, comment.body) == ("decision", "keep: a better way")
    campaign.as_orchestrator(OverruleVerdict(candidate="2", verdict="discard", reason="no"))
    assert (head(campaign), candidate(campaign, 2).on_trunk) == (1, False)
    with pytest.raises(RefusedError, match="the only keep"):
        campaign.as_human(OverruleVerdict(candidate="1", verdict="discard", reason="x"))
    with pytest.raises(UsageError, match="the reason is empty"):
        campaign.as_human(OverruleVerdict(candidate="2", verdict="keep", reason=" "))


def test_a_keep_on_a_branch_never_moves_the_head(campaign: Any) -> None:
    run = campaign.run(campaign.idea(), is_branch=1)
    campaign.commit(run, "a" * 40, 7.0, verdict="discard", judged_by="daemon")
    campaign.as_human(OverruleVerdict(candidate="2", verdict="keep", reason="x"))
    assert (head(campaign), candidate(campaign, 2).on_trunk) == (1, False)


def test_keeps_are_counted_for_each_source(campaign: Any) -> None:
    for number, (source, verdict) in enumerate(
        [("research#3", "keep"), ("research#9", "discard"), ("human", "keep"), ("human", None)], 2
    ):
        idea = campaign.idea(f"Idea {number}", source=source)
        if verdict is not None:
            campaign.commit(campaign.run(idea), f"{number}" * 40, 7.0, verdict=verdict, judged_by="daemon")
    expected = [("human", 2, 1), ("research", 2, 1)]
    for sources in (campaign.as_human(ShowStatus())[0].sources, campaign.as_human(GatherHistory()).facts.sources):
        assert [(one.source, one.ideas, one.kept) for one in sources] == expected


def test_the_pack_tells_the_best_of_each_idea_and_what_was_found(campaign: Any) -> None:
    idea = campaign.idea("Trees", status="done", family="trees", source="research#1")
    run = campaign.run(idea)
    campaign.commit(run, "a" * 40, 6.0, verdict="discard", judged_by="daemon")
    campaign.commit(run, "b" * 40, 7.0, verdict="keep", on_trunk=1, judged_by="daemon")
    campaign.commit(run, "c" * 40, 6.5, verdict="keep", on_trunk=1, judged_by="daemon")
    worker = campaign.agent(run)
    campaign.as_agent(worker, AddComment(target="run#1", body="They help.\nA hunch: try two", kind="finding"))
    branch(campaign)
    campaign.as_human(ImportCommit(commit="elsewhere"))
    campaign.as_human(PlantSeed(hunch="Two trees", provenance="run#1"))
    text = campaign.as_agent(worker, GatherHistory()).text
    assert "- idea#1 (done, by research#1, trees) Trees: keep 6.5 (candidate#4); found: They help." in text
    assert "> A hunch: try two" in text
    assert "- idea#2 (seed, priority 2) Two trees (from: run#1)" in text
    kept = text.partition("## Kept")[2].partition("##")[0]
    assert kept.index("candidate#4") < kept.index("candidate#3")
    assert "candidate#5" in text.partition("## Starting points")[2].partition("##")[0]
    assert "- trees: 1 ideas (1 done), 1 with a keep" in text


def test_the_pack_takes_as_many_questions_however_long_the_campaign(campaign: Any) -> None:
    def count() -> int:
        asked: list[str] = []
        campaign.store.set_trace_callback(lambda text: asked.append(text) if not text.startswith("--") else None)
        gather(campaign.store, get(campaign.store, Project, 1))
        campaign.store.set_trace_callback(None)
        return len(asked)

    def grow(numbers: range) -> None:
        for number in numbers:
            idea = campaign.idea(f"Idea {number}", status="done", family=f"family {number % 9}")
            run = campaign.run(idea, state="succeeded", settled_at="2026-01-01T00:00:00.000Z")
            campaign.commit(run, f"{number:040}", 7.0, verdict="keep", on_trunk=1, judged_by="daemon")
            campaign.as_human(AddComment(target=f"run#{run}", body="found " * 300, kind="finding"))

    grow(range(3))
    few = count()
    grow(range(3, TRIED + 40))
    assert count() == few
    assert len(pack_of(campaign.store, get(campaign.store, Project, 1)).encode()) < 45_000
