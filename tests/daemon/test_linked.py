"""What an agent, or a candidate, does to linked data: the person's files stay, and no keep comes of it."""

from __future__ import annotations

from pathlib import Path

from herdr.ops.candidate.changing import RemeasureCandidate
from herdr.ops.inbox import ReplyToComment

from .conftest import EVALUATE, Campaign

#: The smaller the corpus, the better the score; the number still counts.
READS_CORPUS = EVALUATE.replace(
    'float(text)}")', "float(text) + 100000 / (1 + Path('data/corpus.md').stat().st_size)}\")"
)
CORPUS = "a line of the corpus\n" * 5000
TRIM = "sh printf short > data/corpus.md"
ESCALATION = "SELECT id FROM comments WHERE kind = 'escalation' AND acked_at IS NULL"


def with_corpus(campaign: Campaign, *, lent: bool = False, evaluate: str = READS_CORPUS) -> Path:
    """A project with ignored data; lent: as a folder that cannot be copied."""
    data = campaign.root / "data"
    data.mkdir()
    (data / "corpus.md").write_text(CORPUS)
    if lent:
        (data / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (campaign.root / ".gitignore").write_text("/data/\n")
    (campaign.root / "evaluate.py").write_text(evaluate)
    campaign.configure(top='link = ["data"]')
    campaign.git("add", "-A")
    campaign.git("commit", "-qm", "reads a corpus")
    campaign.register()
    return data / "corpus.md"


def test_an_agent_that_trims_the_data_changes_no_file_of_the_persons_and_gets_no_keep(campaign: Campaign) -> None:
    corpus = with_corpus(campaign)
    before = (corpus.read_bytes(), corpus.stat())
    campaign.idea("trim the corpus", TRIM, "commit number=1 trimmed")
    campaign.idea("honest", "commit number=5 five")
    campaign.up()
    campaign.settled(2)
    assert (corpus.read_bytes(), corpus.stat()) == before
    assert campaign.value("SELECT count(*) FROM candidates WHERE verdict = 'keep' AND origin <> 'baseline'") == 1
    assert campaign.value("SELECT subject FROM candidates WHERE id = (SELECT head_id FROM projects)") == "five"


def test_what_an_agent_changed_of_lent_data_has_no_verdict_until_a_person_decides(campaign: Campaign) -> None:
    corpus = with_corpus(campaign, lent=True)
    campaign.idea("trim the corpus", TRIM, "commit number=3 trimmed")
    campaign.up()
    campaign.settled()
    assert corpus.read_text() == "short"
    trimmed = campaign.rows("SELECT id, verdict, held, reason FROM candidates WHERE subject = 'trimmed'")[0]
    assert (trimmed["verdict"], trimmed["held"]) == (None, 1)
    assert trimmed["reason"] == "no verdict yet: data/corpus.md changed, a person decides"
    body = campaign.value("SELECT body FROM comments WHERE kind = 'escalation'")
    assert body.startswith("data/corpus.md: changed while run#1 worked")
    assert f"candidate#{trimmed['id']} gets no verdict" in body
    # The next run is measured with the same data, so it has none either.
    campaign.idea("after it", "commit number=4 four")
    campaign.settled(2)
    assert campaign.value("SELECT held FROM candidates WHERE subject = 'four'") == 1
    assert campaign.value("SELECT head_id FROM projects") == 1
    # A restart forgets nothing.
    campaign.kill()
    campaign.up()
    corpus.write_text(CORPUS)
    campaign.ask(RemeasureCandidate(candidate=f"candidate#{trimmed['id']}", reason="the corpus is whole again"))
    campaign.wait("SELECT 1 FROM candidates WHERE subject = 'trimmed' AND verdict = 'keep'")
    score = campaign.value(
        "SELECT json_extract(metrics, '$.score') FROM measurements"
        " WHERE candidate_id = ? AND purpose <> 'earlier'",
        trimmed["id"],
    )
    assert score < 5
    assert campaign.value("SELECT held FROM candidates WHERE subject = 'four'") == 1


def test_an_answer_in_the_inbox_decides_and_the_bar_is_measured_with_the_same_files(campaign: Campaign) -> None:
    with_corpus(campaign, lent=True)
    campaign.idea("trim the corpus", TRIM, "commit number=1.5 trimmed")
    campaign.up()
    campaign.settled()
    # The person lets the short corpus stand.
    campaign.ask(ReplyToComment(comment=f"comment#{campaign.value(ESCALATION)}", body="remeasure, it is fine"))
    campaign.wait("SELECT 1 FROM candidates WHERE subject = 'trimmed' AND verdict NOT NULL")
    assert campaign.value("SELECT verdict FROM candidates WHERE subject = 'trimmed'") == "keep"
    reason = campaign.value("SELECT reason FROM candidates WHERE subject = 'trimmed'")
    assert "16667" in reason, "both were measured with the short corpus"
    assert (
        campaign.value(
            "SELECT count(*) FROM measurements WHERE candidate_id = 1"
            " AND evaluator_id = (SELECT evaluator_id FROM projects)"
        )
        == 2
    )


def test_a_person_can_discard_by_an_answer(campaign: Campaign) -> None:
    with_corpus(campaign, lent=True)
    campaign.idea("trim the corpus", TRIM, "commit number=9 trimmed")
    campaign.up()
    campaign.settled()
    campaign.ask(ReplyToComment(comment=f"comment#{campaign.value(ESCALATION)}", body="Discard: it cheated"))
    row = campaign.rows("SELECT verdict, held, judged_by FROM candidates WHERE subject = 'trimmed'")[0]
    assert tuple(row) == ("discard", 0, "human")


def test_a_candidate_that_writes_to_lent_data_while_it_is_scored_has_no_verdict(campaign: Campaign) -> None:
    """It puts back what it changed; that somebody wrote there is enough."""
    runs_code = READS_CORPUS + "import runpy\nrunpy.run_path('code.py') if Path('code.py').exists() else None\n"
    with_corpus(campaign, lent=True, evaluate=runs_code)
    meddle = "p = 'data/corpus.md'; t = open(p).read(); open(p, 'w').write(t)"
    campaign.idea("meddle", f"write code.py {meddle}", "commit number=9 meddler")
    campaign.up()
    campaign.settled()
    assert campaign.value("SELECT held FROM candidates WHERE subject = 'meddler'") == 1
    assert campaign.value("SELECT head_id FROM projects") == 1
