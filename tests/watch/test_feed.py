"""When the screen reads what."""

from __future__ import annotations

import asyncio
import os
from types import SimpleNamespace
from typing import Any

import pytest

from herdr.ops.client import connect
from herdr.ops.comment import AddComment
from herdr.watch import feed as module
from herdr.watch.feed import PARTS, Feed


def test_it_reads_what_changed_and_the_live_part_when_it_grows_stale(
    full: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))

    async def follow(feed: Feed) -> None:
        nonlocal now
        assert await feed.changed() == PARTS
        assert await feed.changed() == frozenset()
        now += module.STALE
        assert await feed.changed() == {"agents"}
        assert await feed.changed() == frozenset()
        full.idea("Another")
        full.candidate(1, 3, None)
        assert await feed.changed() == {"agents", "ideas", "candidates"}
        assert await feed.changed() == frozenset()
        await feed.ask(AddComment(target="idea#1", body="mine", priority=1))
        assert await feed.changed() == frozenset(), "its own writes do not change the version"
        assert await feed.news() == {"agents", "inbox"}
        feed.forget()
        assert await feed.changed() == PARTS

    feed = Feed(connect(os.environ, full.root), "tiny")
    try:
        asyncio.run(follow(feed))
    finally:
        feed.close()
