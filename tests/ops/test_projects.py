"""Which project is meant by where one stands: more is taken for granted of who reads than of who writes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from herdr.errors import UsageError
from herdr.ops.client import DirectClient

WRITES: list[tuple[str, dict[str, str]]] = [
    ("project.pause", {}),
    ("project.resume", {}),
    ("idea.add", {"title": "Mine"}),
    ("comment.add", {"target": "project", "body": "here"}),
    ("apply.find", {}),
]
READS = ["idea.list", "project.live", "candidate.list"]


@pytest.mark.parametrize(("name", "arguments"), WRITES)
def test_nothing_is_written_to_the_only_project_from_elsewhere(
    campaign: Any, make_repo: Callable[..., Path], tmp_path: Path, name: str, arguments: dict[str, str]
) -> None:
    other = make_repo(name="other")
    for folder in (tmp_path, other):
        client = DirectClient(campaign.home, folder)
        with pytest.raises(UsageError, match=f"which project\\? {folder} is in the repo of none") as caught:
            client.call(name, **arguments)
        assert "tiny" in (caught.value.fix or "")
        client.close()
    assert campaign.store.execute("SELECT count(*) FROM ideas").fetchone()[0] == 0


@pytest.mark.parametrize("name", READS)
def test_the_only_project_is_read_from_anywhere_but_another_repo(
    campaign: Any, make_repo: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    anywhere, elsewhere = DirectClient(campaign.home, tmp_path), DirectClient(campaign.home, make_repo(name="o"))
    anywhere.call(name)
    with pytest.raises(UsageError, match="in the repo of none"):
        elsewhere.call(name)
    elsewhere.call(name, project="tiny")
    anywhere.close()
    elsewhere.close()


def test_a_worktree_elsewhere_is_in_the_repo_too(campaign: Any, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    subprocess.run(["git", "worktree", "add", "-q", "--detach", tree], cwd=campaign.root, check=True)
    (tree / "sub").mkdir()
    for folder in (tree, tree / "sub", campaign.root, campaign.root / ".git"):
        client = DirectClient(campaign.home, folder)
        assert client.call("project.pause")["name"] == "tiny"
        client.close()
