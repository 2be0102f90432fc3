"""What agents do to their mailboxes, seen from the daemon."""

from __future__ import annotations

from typing import Any


def test_a_fifo_in_a_mailbox_blocks_nobody(campaign: Any) -> None:
    campaign.idea(
        "fifo",
        "sh mkfifo .herdr/mailbox/requests/a.json",
        "piloop comment|add|run#1|still heard",
        "piloop comment|add|run#1|and again",
        "commit number=2 two",
    )
    campaign.up()
    campaign.settled()
    bodies = [row[0] for row in campaign.rows("SELECT body FROM comments WHERE target_kind = 'run' ORDER BY id")]
    [broken] = [body for body in bodies if "is broken" in body]
    assert "requests/a.json is no plain file" in broken
    assert [body for body in bodies if body not in (broken,)][:2] == ["still heard", "and again"]
    campaign.down()


def test_a_link_in_place_of_the_folder_moves_no_ones_brief(campaign: Any) -> None:
    (campaign.root / "brief.md").write_text("the person's own\n")
    campaign.git("add", "brief.md")
    campaign.git("commit", "-qm", "brief")
    campaign.idea(
        "link", f"first 1 sh rm -r .herdr; ln -s {campaign.root} .herdr; kill -9 $PPID", "commit number=2 two"
    )
    campaign.up()
    campaign.settled()
    assert (campaign.root / "brief.md").read_text() == "the person's own\n"
    assert not (campaign.root / "mailbox").exists()
