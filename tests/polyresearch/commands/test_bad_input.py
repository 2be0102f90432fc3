"""Whatever is wrong is said once, with what to do about it, and nothing is posted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Git = Callable[..., str]
IMPROVED = "--metric 1.5 --baseline 1.0 --observation improved --summary better"


@pytest.fixture
def claimed(project: Any) -> Any:
    """A project whose thesis #1 is claimed by alice/n1 and closed #2; `project.tree` is the worktree."""
    project.thesis("RMSNorm")
    project.thesis("Closed by hand")
    project.place.open("lead").close_issue(2)
    project("alice/n1", "claim 1")
    project.tree = project.work("alice/n1", 1, {"train.py": "x = 2\n"})
    project("bob/n1", "duties", code=None)
    return project


def posted(project: Any) -> int:
    """How many comments, issues and pull requests there are."""
    snapshot = project.place.open("lead").snapshot()
    return sum(map(len, snapshot.comments.values())) + len(snapshot.issues) + len(snapshot.pulls)


def refused(project: Any, who: str, line: str, *more: str, cwd: Path | None = None) -> tuple[int, str]:
    """Type what cannot be done; gives the exit status and the message."""
    before = posted(project)
    answer = project(who, line, *more, cwd=cwd, code=None)
    assert answer.code not in (0, 130)
    assert answer.out == ""
    lines = [row for row in answer.err.splitlines() if not row.startswith("warning: ")]
    assert lines[0].startswith("error: "), answer.err
    assert lines[-1].startswith("fix: "), answer.err
    assert sum(row.startswith("error: ") for row in lines) == 1
    assert posted(project) == before
    return answer.code, " ".join(lines)


CANNOT = [
    ("bob/n1", "claim 99", 1, "#99 is no thesis"),
    ("bob/n1", "claim 2", 5, "#2 is not open"),
    ("bob/n1", "claim 1", 4, "alice/n1"),
    ("alice/n1", "claim 1", 3, "no attempt"),
    ("bob/n1", "claim x", 2, "not a valid integer"),
    ("bob/n1", "batch-claim --count 0", 2, "0"),
    ("bob/n1", "annotate 99 --text hello", 1, "#99"),
    ("bob/n1", "release 1 --reason timeout", 5, "alice/n1"),
    ("bob/n1", "release 1 --reason no-improvement", 2, "no_improvement"),
    ("bob/n1", "submit 1", 5, "alice/n1"),
    ("bob/n1", "review-claim 99", 1, "#99 is no pull request"),
    ("bob/n1", "review-claim 1", 1, "#1 is a thesis"),
    ("bob/n1", "review 99 --metric 1 --baseline 1 --observation improved", 1, "#99"),
    ("lead/l", "policy-check 99", 1, "#99"),
    ("lead/l", "decide 1", 1, "#1 is a thesis"),
    ("lead/l", "admin acknowledge-invalid 4711 --note seen", 1, "4711"),
    ("lead/l", "admin release-claim 1 --node bob/n1 --reason timeout", 5, "bob/n1"),
    ("lead/l", "admin reopen-thesis 1", 5, "open"),
    ("lead/l", "generate --title rmsnorm! --body again", 5, "#1"),
    ("lead/l", "claim 1", 5, "lead"),
    ("bob/n1", "sync", 5, "only the lead, lead"),
    ("bob/n1", "generate --title T --body B", 5, "only the lead"),
    ("bob/n1", "decide 1", 5, "only the lead"),
    ("bob/n1", "explain nothing.json", 1, "nothing.json"),
    ("bob/n1", "nonsense", 2, "nonsense"),
]  # fmt: skip


def test_what_cannot_be_done(claimed: Any) -> None:
    claimed("lead/l", "sync")  # from now on that node is the lead's
    for who, line, code, says in CANNOT:
        found, message = refused(claimed, who, line)
        assert says in message, line
        assert found == code, line


NO_NUMBERS = [
    ("--metric nan --baseline 1 --observation improved", "finite"),
    ("--metric 1 --baseline inf --observation improved", "finite"),
    ("--metric 1e400 --baseline 1 --observation improved", "finite"),
    ("--metric 1_0 --baseline 1 --observation improved", "not a number"),
    ("--metric x --baseline 1 --observation improved", "not a number"),
    ("--baseline 1 --observation improved", "--metric is needed"),
    ("--metric 1 --observation improved", "--baseline"),
    ("--metric 1 --baseline 1 --observation better", "improved"),
    ("--metric 3 --run 1 --run 2 --baseline 1 --observation improved", "mean"),
    ("--metric 2 --baseline 1 --observation improved --annotations {}", "annotations"),
    ("--metric 2 --baseline 1 --observation improved --annotations []", "category"),
]


def test_numbers_that_are_none(claimed: Any) -> None:
    for numbers, says in NO_NUMBERS:
        code, message = refused(claimed, "alice/n1", f"attempt 1 {numbers} --summary s", cwd=claimed.tree)
        assert (code, says in message) == (2, True), message


def test_negative_numbers_are_numbers(claimed: Any) -> None:
    line = "attempt 1 --metric -0.5 --baseline -.7e0 --observation improved --summary less --json"
    found = claimed("alice/n1", line, cwd=claimed.tree).json
    assert (found["metric"], found["baseline_metric"]) == (-0.5, -0.7)


def test_small_numbers_keep_their_digits(claimed: Any, git: Git) -> None:
    line = "attempt 1 --metric 0.00001234 --baseline 0.00002 --observation crashed --summary tiny"
    claimed("alice/n1", line, cwd=claimed.tree)
    (attempt,) = claimed("bob/n1", "status --json").json["theses"][0]["attempts"]
    assert attempt["metric"] == 0.00001234


def test_a_wrong_node_branch_or_commit(claimed: Any, git: Git) -> None:
    tree = claimed.tree
    assert "alice/n1" in refused(claimed, "alice/other", f"attempt 1 {IMPROVED}", cwd=tree)[1]
    assert "none of thesis #1" in refused(claimed, "alice/n1", f"attempt 1 {IMPROVED}")[1]
    (tree / "train.py").write_text("x = 3\n")
    assert "train.py" in refused(claimed, "alice/n1", f"attempt 1 {IMPROVED}", cwd=tree)[1]
    git(tree, "checkout", "-q", "train.py")
    assert "no improved attempt" in refused(claimed, "alice/n1", "submit 1", cwd=tree)[1]
    claimed("alice/n1", f"attempt 1 {IMPROVED}", cwd=tree)
    assert "attempt already" in refused(claimed, "alice/n1", f"attempt 1 {IMPROVED}", cwd=tree)[1]
    (tree / "train.py").write_text("x = 4\n")
    assert "train.py" in refused(claimed, "alice/n1", "submit 1", cwd=tree)[1]
    git(tree, "commit", "-q", "-am", "not measured")
    code, message = refused(claimed, "alice/n1", "submit 1", cwd=tree)
    assert code == 5
    assert "measured" in message
    git(tree, "reset", "-q", "--hard", "HEAD~1")
    claimed("alice/n1", "submit 1", cwd=tree)
    assert "open pull request" in refused(claimed, "alice/n1", "submit 1", cwd=tree)[1]


def test_a_branch_without_a_commit_improves_nothing(claimed: Any, git: Git) -> None:
    git(claimed.tree, "checkout", "-q", "-b", "thesis/1-rmsnorm-attempt-2", "thesis/1-rmsnorm")
    assert "no commit" in refused(claimed, "alice/n1", f"attempt 1 {IMPROVED}", cwd=claimed.tree)[1]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"metric_direction": "up"}, "metric_direction"),
        ({"metric_tolerance": "0.01 # small"}, "metric_tolerance"),
        ({"metric_tolerance": "nan"}, "metric_tolerance"),
        ({"assignment_timeout": "1 day"}, "assignment_timeout"),
        ({"auto_approve": "yes"}, "auto_approve"),
        ({"cli_version": "9.1.0"}, "9.1.0"),
        ({"auto_approve": "false", "maintainer_github_login": "lead"}, "two GitHub accounts"),
        ({"auto_approve": "false", "maintainer_github_login": "replace-me"}, "maintainer_github_login"),
    ],
)
def test_a_program_that_makes_no_sense(project: Any, parameters: dict[str, str], says: str) -> None:
    project.program(**parameters)
    assert says in refused(project, "lead/l", "generate --title T --body B")[1]
    assert says in refused(project, "alice/n1", "claim 1")[1]


def test_another_version_that_writes_the_same_is_welcome(project: Any) -> None:
    project.program(cli_version="0.4.1")
    assert "warning: PROGRAM.md pins polyresearch 0.4.1" in project("alice/n1", "status").err


def test_there_is_no_program(project: Any, git: Git) -> None:
    (project.clone("alice/n1") / "PROGRAM.md").unlink()
    for line in ("status", "claim 1", "duties", "audit", "sync"):
        assert "init --bootstrap" in refused(project, "alice/n1", line)[1]


def test_there_is_no_origin(project: Any, git: Git) -> None:
    git(project.clone("alice/n1"), "remote", "remove", "origin")
    for line in ("status", "claim 1", "init", "sync"):
        assert "origin" in refused(project, "alice/n1", line)[1]


def test_there_is_no_repository_and_no_node(
    project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no git repository" in refused(project, "alice/n1", "status", cwd=tmp_path)[1]
    project.thesis("RMSNorm")
    for line in ("claim 1", "pace", "annotate 1 --text t"):
        assert "polyresearch init" in refused(project, " ", line, cwd=project.clone("alice/n1"))[1]


def test_a_node_file_that_cannot_be_read(project: Any) -> None:
    (project.clone("alice/n1") / ".polyresearch-node.toml").write_text("node_id = \n")
    assert "node.toml" in refused(project, " ", "pace", cwd=project.clone("alice/n1"))[1]
    # A node that is named in the environment does not need the file.
    project("alice/n1", "pace")


def test_a_results_file_with_broken_rows(claimed: Any) -> None:
    claimed.push_main({"results.tsv": "thesis\tattempt\tmetric\n#1\tbranch\n"})
    for line in ("sync", "generate --title T --body B"):
        assert "no rows" in refused(claimed, "lead/l", line)[1]
    # Everybody may look, and is told.
    assert "results.tsv holds a line that is no row" in claimed("lead/l", "status").err


def test_a_dry_run_posts_nothing(claimed: Any) -> None:
    before = posted(claimed)
    claimed("alice/n1", f"attempt 1 {IMPROVED} --dry-run", cwd=claimed.tree)
    claimed("lead/l", "--dry-run generate --title T --body B")
    claimed("lead/l", "sync --dry-run")
    assert claimed("alice/n1", "release 1 --reason timeout --dry-run --json").json["dry_run"] is True
    assert posted(claimed) == before
