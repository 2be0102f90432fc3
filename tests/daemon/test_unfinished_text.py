"""A text that was typed and may still stand in the input line holds up the next ones."""

from __future__ import annotations

import json
import sys

from .conftest import Campaign
from .test_many_comments import COMPOSER, HARNESS, log_of

#: A rule that finds the input line and never sees what stands in it.
BLIND = "^>(?P<text>(?!))?"


def test_nothing_is_typed_onto_a_text_that_was_not_entered(unregistered: Campaign) -> None:
    campaign = unregistered
    argv = [sys.executable, "-I", "-S", str(COMPOSER), str(campaign.root.parent / "composer.jsonl"), "15"]
    harness = HARNESS.format(argv=json.dumps(argv)).replace("^> ?(?P<text>.*)$", BLIND)
    campaign.configure(slots=1, timeout=3600, more=harness)
    text = campaign.root.joinpath("piloop.toml").read_text()
    campaign.root.joinpath("piloop.toml").write_text(text.replace('["scripted"]', '["composer"]'))
    campaign.register()
    campaign.idea("listens")
    campaign.up()
    campaign.wait("SELECT 1 FROM messages WHERE kind = 'brief' AND state = 'unconfirmed'")
    prompt = campaign.prompt(1, "and then this")
    why = campaign.wait("SELECT detail FROM messages WHERE id = ? AND detail NOT NULL", prompt)
    assert "an earlier text may still stand in its input line" in why
    assert campaign.value("SELECT state FROM messages WHERE id = ?", prompt) == "queued"
    assert log_of(campaign) == []

    # A restarted daemon knows it too; whoever enters or empties the line lets the next one through.
    campaign.kill()
    campaign.up()
    campaign.wait("SELECT 1 FROM events WHERE kind = 'agent.adopted'")
    pane = campaign.value("SELECT pane FROM agents WHERE id = 1")
    campaign.tmux("send-keys", "-t", pane, "Enter")
    campaign.wait("SELECT 1 FROM messages WHERE id = ? AND typed_at NOT NULL", prompt)
    ((kind, entered),) = log_of(campaign)
    assert kind == "message"
    assert "brief" in entered
    assert "and then this" not in entered
