from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from herdr.errors import RefusedError, UsageError
from herdr.ops.apply import FindCommit
from herdr.ops.candidate.reading import CompareCandidates, ListCandidates, ShowCandidate
from herdr.ops.comment import AddComment, ListComments, ShowComment
from herdr.ops.event import ListEvents
from herdr.ops.idea.filing import AddIdea
from herdr.ops.message import SendMessage, ShowMessage
from herdr.ops.project import PauseProject, ResumeProject, ShowStatus
from herdr.ops.run import CancelRun, RunCancelled, ShowRun
from herdr.ops.status_snapshot import PluginFailure
from herdr.store.rows import Agent, Candidate, Message, Project, Run


def commit(root: Path, size: str) -> str:
    (root / "size").write_text(size)
    subprocess.run(["git", "commit", "-qam", f"size {size}"], cwd=root, check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_run_is_shown_with_all_that_happened_in_it(campaign: Any) -> None:
    idea = campaign.idea("Shrink")
    run = campaign.run(idea)
    agent = campaign.agent(run)
    candidate = campaign.commit(run, commit(campaign.root, "6\n"), 6.0, verdict="keep", reason="smaller")
    campaign.as_human(AddComment(target="run#1", body="watch out"))
    campaign.as_human(SendMessage(agent="worker#1", text="go on"))
    campaign.set(Agent, agent.id, state="ended", cause="auth", cause_detail="log in")
    campaign.home.agent_dir(agent.id).mkdir(parents=True)
    (campaign.home.agent_dir(agent.id) / "screen.txt").write_text("please log in")
    shown = campaign.as_human(ShowRun(run="run#1"))
    assert (shown.run.idea, shown.run.title, shown.project) == ("idea#1", "Shrink", "tiny")
    (one,) = shown.agents
    assert (one.agent.ref, one.agent.cause, one.agent.detail) == ("worker#1", "auth", "log in")
    assert Path(one.screen).read_text() == "please log in"
    (made,) = shown.commits
    assert (made.candidate.ref, made.candidate.gain) == (f"candidate#{candidate}", 2.0)
    assert [c.body for c in shown.comments] == ["watch out"]
    assert [(m.state, m.author) for m in shown.messages] == [("queued", "human")]
    assert [e.kind for e in shown.events][:2] == ["run.queued", "agent.launched"]
    assert agent.token_hash not in str(shown)


def test_candidates_show_their_score_against_their_bar(campaign: Any) -> None:
    run = campaign.run(campaign.idea())
    campaign.commit(run, commit(campaign.root, "6\n"), 6.0, verdict="keep")
    campaign.commit(run, commit(campaign.root, "9\n"), 9.0, verdict="discard")
    campaign.set(Project, 1, head_id=2)
    listed = campaign.as_human(ListCandidates())
    found = [(c.ref, c.value, c.gain, c.share, c.is_head) for c in listed.candidates]
    assert found == [
        ("candidate#1", 8.0, None, None, False),
        ("candidate#2", 6.0, 2.0, 0.25, True),
        ("candidate#3", 9.0, -1.0, -0.125, False),
    ]
    assert (listed.metric, listed.direction, listed.left_out) == ("size", "lower", 0)
    newest = campaign.as_human(ListCandidates(limit=1))
    assert ([c.ref for c in newest.candidates], newest.left_out) == (["candidate#3"], 2)
    kept = campaign.as_human(ListCandidates(verdict=("discard",)))
    assert [c.ref for c in kept.candidates] == ["candidate#3"]


def test_a_score_of_an_older_evaluator_is_not_shown(campaign: Any) -> None:
    campaign.store.execute(
        "INSERT INTO evaluators (project_id, key, commit_sha, definition, actor)"
        " VALUES (1, 'k', 'c', '{}', 'human')"
    )
    campaign.set(Project, 1, evaluator_id=2)
    shown = campaign.as_human(ShowCandidate(candidate="1")).candidate
    assert (shown.value, shown.metrics, shown.scoring) == (None, {}, None)


def test_a_diff_is_against_the_parent_or_another_and_bounded(
    campaign: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = campaign.run(campaign.idea())
    campaign.commit(run, commit(campaign.root, "6\n"), 6.0)
    campaign.commit(run, commit(campaign.root, "9\n"), 9.0)
    first = campaign.as_human(CompareCandidates(candidate="2"))
    assert "-8" in first.text
    assert "+6" in first.text
    other = campaign.as_human(CompareCandidates(candidate="candidate#3", against="candidate#2", stat=True))
    assert (other.old, "size | 2 +-" in other.text) == ("candidate#2", True)
    monkeypatch.setattr("herdr.ops.candidate.reading.DIFF_LENGTH", 10)
    cut = campaign.as_human(CompareCandidates(candidate="2"))
    assert (len(cut.text), cut.cut) == (10, True)
    with pytest.raises(UsageError, match="has no parent"):
        campaign.as_human(CompareCandidates(candidate="1"))


def test_only_an_open_run_is_cancelled(campaign: Any) -> None:
    campaign.run(campaign.idea(), state="queued")
    assert campaign.as_human(CancelRun(run="1")) == RunCancelled(ref="run#1", state="queued")
    campaign.as_human(CancelRun(run="run#1"))
    kinds = [e.kind for e in campaign.as_human(ListEvents(kind="run"))]
    assert kinds == ["run.queued", "run.cancel_requested"]
    campaign.set(Run, 1, state="cancelled")
    with pytest.raises(RefusedError, match="has ended already"):
        campaign.as_human(CancelRun(run="run#1"))


def test_only_a_live_agent_takes_a_message(campaign: Any) -> None:
    agent = campaign.agent(campaign.run(campaign.idea()))
    sent = campaign.as_human(SendMessage(agent="worker#1", text=" do this "))
    assert (sent.body, sent.state, sent.agent) == ("do this", "queued", "worker#1")
    campaign.set(Message, sent.id, state="received")
    assert campaign.as_human(ShowMessage(message=sent.id)).state == "received"
    with pytest.raises(UsageError, match="there is no research#1"):
        campaign.as_human(SendMessage(agent="research#1", text="x"))
    with pytest.raises(UsageError, match="the message is empty"):
        campaign.as_human(SendMessage(agent="1", text=" "))
    campaign.set(Agent, agent.id, state="ended")
    with pytest.raises(RefusedError, match="worker#1 has ended"):
        campaign.as_human(SendMessage(agent="1", text="x"))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"target": "idea#1", "body": "\n "}, "the comment is empty"),
    ({"target": "idea#9", "body": "x"}, "there is no idea#9"),
    ({"target": "message#1", "body": "x"}, "does not name"),
    ({"target": "project#5", "body": "x"}, "there is no project#5"),
    ({"target": "worker#5", "body": "x"}, "there is no worker#5"),
    ({"target": "idea#1", "body": "x", "kind": "shout"}, "Invalid enum value"),
    ({"target": "idea#1", "body": "x", "priority": 5}, "`int` <= 4"),
]


def test_comments_that_do_not_fit(campaign: Any) -> None:
    campaign.idea()
    for arguments, said in WRONG:
        with pytest.raises(UsageError) as error:
            campaign.as_human(AddComment(**arguments))
        assert said in error.value.message
    assert campaign.as_human(ListComments()) == []


def test_an_escalation_has_a_priority_and_a_comment_can_be_answered(campaign: Any) -> None:
    first = campaign.as_human(AddComment(target="project", body="help", kind="escalation"))
    campaign.as_human(AddComment(target=first.ref, body="coming"))
    campaign.agent(campaign.run(campaign.idea()))
    campaign.as_human(AddComment(target="worker#1", body="slow"))
    found = campaign.as_human(ListComments())
    assert [(c.target, c.priority) for c in found] == [
        ("project#1", 2),
        ("comment#1", None),
        ("worker#1", None),
    ]
    assert campaign.as_human(ShowComment(comment="2")).body == "coming"
    assert [c.ref for c in campaign.as_human(ListComments(kind=("escalation",)))] == ["comment#1"]


def test_the_status_says_how_it_stands(campaign: Any) -> None:
    idea = campaign.idea("Shrink", status="scheduled")
    run = campaign.run(idea)
    campaign.agent(run, last_line="reading")
    campaign.as_human(SendMessage(agent="1", text="hurry"))
    campaign.set(Message, 1, detail="a dialog is open")
    campaign.commit(run, commit(campaign.root, "6\n"), 6.0, verdict="keep", judged_by="daemon")
    campaign.set(Project, 1, head_id=2)
    campaign.idea("Then this")
    campaign.as_human(AddIdea(title="And that", after=("idea#2",)))
    campaign.store.execute("INSERT INTO plugin_cursors VALUES ('notify', 1, 3, NULL, 'no network')")
    campaign.agent(None, state="ended", failed_start=1, cause="auth", ended_at="2999-01-01T00:00:00.000Z")
    (now,) = campaign.as_human(ShowStatus())
    assert (now.head.value, now.head.gain, now.head.share) == (6.0, 2.0, 0.25)
    (live,) = now.agents
    assert (live.agent.ref, live.idea, live.title) == ("worker#1", "idea#1", "Shrink")
    assert (live.waiting, live.waiting_for) == ("hurry", "a dialog is open")
    assert [(q.ref, q.blocked_by) for q in now.queue] == [("idea#2", []), ("idea#3", ["idea#2"])]
    assert (now.runs, now.candidates) == ({"running": 1}, {"keep": 2})
    assert [(f.harness, f.cause, f.count) for f in now.failed_starts] == [("fake", "auth", 1)]
    assert now.plugin_failures == [PluginFailure(plugin="notify", failures=3, error="no network")]
    assert now.slots == 4


def test_a_project_is_paused_and_resumed(campaign: Any) -> None:
    assert campaign.as_human(PauseProject(reason="lunch")).state == "paused"
    (now,) = campaign.as_human(ShowStatus())
    assert (now.state, now.state_reason) == ("paused", "lunch")
    campaign.as_human(ResumeProject())
    (now,) = campaign.as_human(ShowStatus())
    assert (now.state, now.state_reason) == ("active", None)


def test_events_go_on_after_one(campaign: Any) -> None:
    before = campaign.as_human(ListEvents(limit=1))[0].id
    campaign.idea()
    campaign.set(Candidate, 1, verdict="discard")
    after = campaign.as_human(ListEvents(after=before))
    assert [e.kind for e in after] == ["idea.added", "candidate.judged"]
    assert [e.kind for e in campaign.as_human(ListEvents(after=before, kind="idea.added"))] == ["idea.added"]


def test_apply_finds_the_head_or_a_candidate(campaign: Any) -> None:
    run = campaign.run(campaign.idea())
    made = commit(campaign.root, "6\n")
    campaign.commit(run, made, 6.0)
    head = campaign.as_human(FindCommit())
    assert (head.candidate, head.is_head) == ("candidate#1", True)
    other = campaign.as_human(FindCommit(candidate="candidate#2"))
    assert (other.commit, other.is_head, other.root) == (made, False, str(campaign.root))
