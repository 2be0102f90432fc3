"""PROGRAM.md, node files, names and pinned versions."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from herdr_polyresearch.protocol import names
from herdr_polyresearch.protocol.node import DEFAULT_POLICY, Node, NodeError, node_id, read_node, show_node
from herdr_polyresearch.protocol.program import Program, ProgramError, problems, read_duration, read_program
from herdr_polyresearch.protocol.versions import VersionError, check_version
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "line",
    [
        "auto_approve: yes",
        "auto_approve: True",
        "metric_direction: higher",
        "metric_tolerance: 1_0",
        "metric_tolerance: a lot",
        "min_queue_depth: 5 # five",
        "min_queue_depth: -1",
        "required_confirmations: 2.0",
        "assignment_timeout: 24 h",
        "assignment_timeout: 24",
        "assignment_timeout: 1w",
        f"review_timeout: {10**18}d",
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_line(line: str) -> None:
    key = line.partition(":")[0]
    with pytest.raises(ProgramError, match=f"PROGRAM.md line 3: {key} cannot be") as caught:
        read_program(f"# Research\n\n{line}\n")
    assert key in str(caught.value.fix)


@pytest.mark.parametrize(
    "line",
    [
        "- min_queue_depth: 1",
        "**min_queue_depth**: 1",
        "min queue depth: 1",
        "min_queue_depth:",
        "# min_queue_depth: 1",
        "min_queue_depth 1",
        "Min_queue_depth: 1",
    ],
)
def test_other_lines_are_passed_over(line: str) -> None:
    assert read_program(line) == Program()


def test_all_keys_are_read() -> None:
    text = (
        "required_confirmations: 2\nmetric_tolerance: 1e-3\nmetric_direction: lower_is_better\n"
        "lead_github_login: alice\nmaintainer_github_login: replace-me\nauto_approve: false\n"
        "assignment_timeout: 90m\r\nreview_timeout: 30s\nmin_queue_depth: +3\nmax_queue_depth: 9\n"
        "cli_version: 0.3.2\ndefault_branch: trunk\n"
    )
    assert read_program(text) == Program(
        required_confirmations=2,
        metric_tolerance=0.001,
        metric_direction="lower_is_better",
        lead_github_login="alice",
        auto_approve=False,
        assignment_timeout=timedelta(minutes=90),
        review_timeout=timedelta(seconds=30),
        min_queue_depth=3,
        max_queue_depth=9,
        cli_version="0.3.2",
        default_branch="trunk",
    )


@given(st.text())
def test_any_text_is_a_program_or_an_error_for_people(text: str) -> None:
    with contextlib.suppress(ProgramError):
        read_program(text)


@pytest.mark.parametrize("text", ["", "h", "1", "h1", "-1h", "1.5h", "1H"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        read_duration(text)


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (Program(auto_approve=False), "maintainer_github_login is not set"),
        (Program(auto_approve=False, lead_github_login="a", maintainer_github_login="A"), "two GitHub accounts"),
        (Program(metric_tolerance=-1.0), "not a number from 0 up"),
        (Program(metric_tolerance=float("nan")), "not a number from 0 up"),
    ],
)
def test_values_that_do_not_fit_together_are_named(program: Program, problem: str) -> None:
    assert [problem in found for found in problems(program)] == [True]


def test_lead_and_maintainer_may_be_one_when_nobody_is_asked() -> None:
    assert problems(Program(lead_github_login="a", maintainer_github_login="a")) == []


# --- versions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pinned", [None, "1.0.0"])
def test_no_pin_or_our_own_version_is_fine(pinned: str | None) -> None:
    assert check_version(pinned, "1.0.0") is None


@pytest.mark.parametrize("pinned", ["0.3.2", "0.4.1", "v0.5.0", "0.4", "0.5.0-rc.1"])
def test_a_compatible_pin_is_taken_with_a_word(pinned: str) -> None:
    assert pinned in str(check_version(pinned, "1.0.0"))


@pytest.mark.parametrize("pinned", ["0.2.9", "0.6.0", "1.0", "latest", "0.30.1"])
def test_any_other_pin_is_refused(pinned: str) -> None:
    with pytest.raises(VersionError, match="compatible with") as caught:
        check_version(pinned, "1.0.0")
    assert caught.value.fix


# --- nodes ------------------------------------------------------------------------------------------------


def test_a_node_file_with_nothing_but_the_id_has_the_defaults() -> None:
    node = read_node({"node_id": "alice/mac"}, None)
    assert (node.capacity, node.api_budget, node.request_delay_ms) == (75, 5000, 100)
    assert node.policy == DEFAULT_POLICY
    assert read_node({"node_id": "a/b", "capacity": 0, "api_budget": 0}, None).capacity == 75
    assert read_node({"node_id": "a/b", "capacity": 250}, None).capacity == 100


def test_the_environment_wins_over_the_file() -> None:
    assert read_node({"node_id": "alice/mac"}, " alice/w2 ").node_id == "alice/w2"
    assert read_node(None, "alice/w2").node_id == "alice/w2"
    assert read_node({"node_id": "alice/mac"}, "  ").node_id == "alice/mac"


@pytest.mark.parametrize(
    "values",
    [
        None,
        {},
        {"node_id": " "},
        {"node_id": 3},
        {"node_id": "a", "capacity": "x"},
        {"node_id": "a", "resource_policy": 1},
    ],
)
def test_a_node_that_is_none_says_what_to_do(values: dict[str, object] | None) -> None:
    with pytest.raises(NodeError) as caught:
        read_node(values, None)
    assert caught.value.fix


def test_a_node_file_is_read_back_with_what_it_held_beside() -> None:
    import tomli

    node = Node(node_id="alice/mac", resource_policy='8 cores, "fast"\x7f\n', capacity=50)
    text = show_node(node, {"node_id": "old", "theirs": 1, "their-own": "x", "table": {}})
    values = tomli.loads(text)
    assert list(values)[:2] == ["node_id", "resource_policy"]
    assert (values["theirs"], values["their-own"]) == (1, "x")
    assert read_node(values, None) == Node(
        node_id="alice/mac", resource_policy='8 cores, "fast"\x7f', capacity=50
    )


def test_a_machine_name_cannot_add_a_part() -> None:
    assert node_id("alice", "mac/x y") == "alice/mac-x-y"
    with pytest.raises(NodeError):
        node_id("alice", " / ")


# --- names ------------------------------------------------------------------------------------------------


def test_branches_and_worktrees() -> None:
    assert names.thesis_branch(12, "RMSNorm!") == "thesis/12-rmsnorm"
    assert names.attempt_branch("thesis/12-rmsnorm", 2) == "thesis/12-rmsnorm-attempt-2"
    assert names.worktree_name(12, "RMSNorm!") == ".worktrees/12-rmsnorm"
    assert names.thesis_branch(12, "\N{SNOWMAN}") == "thesis/12-thesis"


@given(st.integers(1, 2**63), st.text(max_size=400))
def test_every_branch_belongs_to_its_thesis_and_fits(number: int, title: str) -> None:
    branch = names.attempt_branch(names.thesis_branch(number, title), 99)
    assert names.thesis_of(branch) == number
    assert names.belongs(branch, number)
    assert len(branch) < 200
    assert not branch.endswith((".", "/", ".lock"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a1b2c3d", "A1B2C3D4E5", True),
        ("a1b2c3d", "a1b2c3d", True),
        ("a1b2c3", "a1b2c3d4", False),
        ("abc", "abc", True),
        ("", "a1b2c3d", False),
        ("", "", False),
        ("a1b2c3d", "a1b2c3e", False),
    ],
)
def test_commits_compare_by_what_both_say(one: str, other: str, same: bool) -> None:
    assert names.same_commit(one, other) == names.same_commit(other, one) == same
