"""Which project is meant by where one stands: more is taken for granted of who reads than of who writes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from herdr.errors import UsageError
from herdr.ops.apply import FindCommit
from herdr.ops.candidate.reading import ListCandidates
from herdr.ops.client import DirectClient
from herdr.ops.comment import AddComment
from herdr.ops.core import Request
from herdr.ops.idea.filing import AddIdea
from herdr.ops.idea.reading import ListIdeas
from herdr.ops.project import PauseProject, ResumeProject, ShowLive

WRITES: list[Request[Any]] = [
    PauseProject(),
    ResumeProject(),
    AddIdea(title="Mine"),
    AddComment(target="project", body="here"),
    FindCommit(),
]
READS = (ListIdeas, ShowLive, ListCandidates)


@pytest.mark.parametrize("wanted", WRITES, ids=lambda one: one.operation)
def test_nothing_is_written_to_the_only_project_from_elsewhere(
    campaign: Any, make_repo: Callable[..., Path], tmp_path: Path, wanted: Request[Any]
) -> None:
    other = make_repo(name="other")
    for folder in (tmp_path, other):
        client = DirectClient(campaign.home, folder)
        with pytest.raises(UsageError, match=f"which project\\? {folder} is in the repo of none") as caught:
            client.ask(wanted)
        assert "tiny" in (caught.value.fix or "")
        client.close()
    assert campaign.store.execute("SELECT count(*) FROM ideas").fetchone()[0] == 0


@pytest.mark.parametrize("kind", READS, ids=lambda one: one.operation)
def test_the_only_project_is_read_from_anywhere_but_another_repo(
    campaign: Any,
    make_repo: Callable[..., Path],
    tmp_path: Path,
    kind: Any,
) -> None:
    anywhere, elsewhere = DirectClient(campaign.home, tmp_path), DirectClient(campaign.home, make_repo(name="o"))
    anywhere.ask(kind())
    with pytest.raises(UsageError, match="in the repo of none"):
        elsewhere.ask(kind())
    elsewhere.ask(kind(project="tiny"))
    anywhere.close()
    elsewhere.close()


def test_a_worktree_elsewhere_is_in_the_repo_too(campaign: Any, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    subprocess.run(["git", "worktree", "add", "-q", "--detach", tree], cwd=campaign.root, check=True)
    (tree / "sub").mkdir()
    for folder in (tree, tree / "sub", campaign.root, campaign.root / ".git"):
        client = DirectClient(campaign.home, folder)
        assert client.ask(PauseProject()).name == "tiny"
        client.close()
