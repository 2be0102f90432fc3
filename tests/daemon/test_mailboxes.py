"""What agents do to their mailboxes, seen from the daemon."""

from __future__ import annotations

import os
import sys

from .conftest import Campaign


def test_a_fifo_in_a_mailbox_blocks_nobody(campaign: Campaign) -> None:
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


def test_a_link_in_place_of_the_folder_moves_no_ones_brief(campaign: Campaign) -> None:
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


def test_an_agent_that_cleans_its_environment_is_no_person(campaign: Campaign) -> None:
    herdr = f"{sys.executable} -c 'from herdr.cli.main import herdr; herdr()'"
    clean = f"env -i HOME={os.environ['HOME']} PILOOP_HOME={campaign.home.root} PATH=$PATH"
    out = campaign.root.parent / "said"
    campaign.idea(
        "person",
        f"sh {clean} {herdr} down >> {out} 2>&1; cd /; {clean} {herdr} down >> {out} 2>&1; true",
        f"sh cd /; {clean} {sys.executable} -m herdr.cli idea add Mine >> {out} 2>&1; true",
        f"sh cd /; {clean} setsid -w {herdr} clean >> {out} 2>&1; true",
        "commit number=2 two",
    )
    campaign.up()
    campaign.settled()
    lines = [line for line in out.read_text().splitlines() if line.startswith("error: ")]
    assert [line.partition(":")[2].partition(": process")[0] for line in lines] == [
        f" an agent without its token may not use {what}" for what in ("down", "down", "piloop", "clean")
    ]
    assert campaign.value("SELECT count(*) FROM ideas") == 1
