"""The contract once more where it is about branches, on the stand-ins with real git beside them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)
NAMES = (
    "test_a_pull_request_comes_back_as_it_was_opened",
    "test_a_pull_request_needs_commits_and_is_the_only_one_of_its_branch",
    "test_the_head_follows_pushes",
    "test_changed_files_are_all_named",
    "test_a_merge_keeps_both_sides",
    "test_a_conflict_is_refused_and_changes_nothing",
    "test_a_head_that_moved_is_not_merged",
    "test_a_closed_pull_request_is_not_merged",
    "test_a_branch_is_deleted_once",
)


def contract() -> Any:
    """The module of the contract; tests are no package that could be imported."""
    name = "polyresearch_forge_contract"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("test_contract.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["emulate", "myworld"])
def test_branches(name: str, kind: str, make_git_place: Callable[[str], Any]) -> None:
    getattr(contract(), name)(make_git_place(kind))
