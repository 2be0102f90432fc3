"""A small campaign for tests: a repo whose score is the number in a file, and a real daemon."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from herdr.store.rows import Project, Run
from tests.campaigns import LiveCampaign
from tests.campaigns import wait_until as wait_until

WORKER = Path(__file__).with_name("worker.py")
EVALUATE = """\
from pathlib import Path

text = Path("number.txt").read_text().strip()
print(f"METRIC score={float(text)}")
print(f"METRIC cost={len(list(Path('.').glob('*.extra')))}")
"""
CONFIG = """\
name = "numbers"
runtime = "herdr"
evaluate = [{python}, "evaluate.py"]
harnesses = ["scripted"]
{top}

[[metrics]]
name = "score"
direction = "higher"
role = "primary"

[[metrics]]
name = "cost"
direction = "lower"
role = "guardrail"
margin = 1

[roles.worker]
max_concurrent = {slots}
timeout = {timeout}

[roles.research]
triggers = {research}

[roles.watchdog]
interval = 0
triggers = {watchdog}
{roles}
[harness.scripted]
interactive = [{python}, {worker}, "{{brief}}"]
received = "received: {{text}}"
env = {{ WORKER_LOG = {log} }}
{harness}
"""

#: Seconds that a test may take to end on a machine that is busy with other work.
LIMIT = 120.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT))


class Campaign(LiveCampaign):
    """Its workers do what their ideas' plans say, and write down what they did."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.log = root.parent / "worker.log"

    def configure(
        self,
        *,
        slots: int = 2,
        timeout: float = 60,
        research: Sequence[str] = (),
        watchdog: Sequence[str] = (),
        top: str = "",
        roles: str = "",
        harness: str = "",
        more: str = "",
    ) -> None:
        quoted = {"python": sys.executable, "worker": str(WORKER), "log": str(self.log)}
        words = {name: json.dumps(value) for name, value in quoted.items()}
        triggers = {"research": json.dumps(research), "watchdog": json.dumps(watchdog)}
        texts = {"top": top, "roles": roles, "harness": harness}
        text = CONFIG.format(slots=slots, timeout=timeout, **texts, **triggers, **words)
        (self.root / "piloop.toml").write_text(text + more)

    def idea(self, title: str = "Try it", *do: str, **columns: Any) -> int:
        """File an idea; `do` is what its worker does, step by step."""
        return super().idea(title, **{"plan": "\n".join(f"DO {line}" for line in do), **columns})

    def said(self) -> list[str]:
        """What the workers wrote into their log."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def verdicts(self) -> list[tuple[str, str | None, str | None]]:
        sql = "SELECT subject, verdict, rule FROM candidates WHERE origin <> 'baseline' ORDER BY id"
        return [tuple(row) for row in self.rows(sql)]

    def set_project(self, **columns: Any) -> None:
        Project.update(self.store, 1, **{**columns, "actor": "human"})

    def cancel(self, run_id: int) -> None:
        Run.update(self.store, run_id, cancel_requested=True, actor="human")


def install_plugin(folder: Path, code: str) -> dict[str, str]:
    """Install a plugin as a distribution of its own beside herdr; the environment that makes a daemon find it."""
    info = folder / "test_plugin-1.dist-info"
    info.mkdir(parents=True)
    (folder / "test_plugin.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: test-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[herdr]\ntest = test_plugin\n")
    return {"PYTHONPATH": str(folder)}


@pytest.fixture
def unregistered(make_repo: Callable[..., Path]) -> Iterator[Campaign]:
    campaign = Campaign(make_repo({"number.txt": "1\n", "evaluate.py": EVALUATE}))
    campaign.configure()
    yield campaign
    campaign.close()


@pytest.fixture
def campaign(unregistered: Campaign) -> Campaign:
    unregistered.register()
    return unregistered
