"""Nodes: how a project and a session begin, who somebody is, what a node may use, and what a review carries."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from importlib import resources
from pathlib import Path
from typing import Any

import click
import pytest

Make = Callable[..., Any]
Git = Callable[..., str]


def test_a_project_is_set_up(project: Any, git: Git) -> None:
    clone = project.clone("lead/l")
    (clone / "PROGRAM.md").unlink()
    said = project("lead/l", "init --bootstrap --node", "my box/2", cwd=clone).out
    assert "as node `lead/my-box-2`" in said
    text = (clone / "POLYRESEARCH.md").read_bytes()
    assert text == resources.files("herdr_polyresearch").joinpath("templates/POLYRESEARCH.md").read_bytes()
    assert text.startswith(b"Polyresearch protocol\n")
    assert "lead_github_login: lead\n" in (clone / "PROGRAM.md").read_text()
    assert (clone / "PREPARE.md").exists()
    # What was just written is a project that can be worked on, and no file of this machine's is in git's sight.
    project("lead/l", "status", cwd=clone)
    assert ".polyresearch-node.toml" not in git(clone, "status", "--porcelain")
    (clone / "PROGRAM.md").write_text("mine\n")
    assert project("lead/l", "init --bootstrap --json", cwd=clone).json["files"] == []
    assert (clone / "PROGRAM.md").read_text() == "mine\n"


def test_a_node_keeps_its_name(project: Any) -> None:
    clone = project.clone("alice/n1")
    first = project("alice/n1", "init --json").json
    assert re.fullmatch(r"alice/[\w-]+-[0-9a-f]{4}", first["node"])
    file = clone / ".polyresearch-node.toml"
    file.write_text(f"{file.read_text()}mine = 3\n")
    second = project("alice/n1", "init --capacity 40 --json --resource-policy", "Be kind.").json
    assert (second["node"], second["capacity"], second["resource_policy"]) == (first["node"], 40, "Be kind.")
    text = file.read_text()
    assert "capacity = 40\n" in text
    assert "mine = 3\n" in text
    project("alice/n1", "init --capacity 0", code=2)


def test_a_session_begins(project: Any, git: Git) -> None:
    clone = project.clone("alice/n1")
    (clone / ".polyresearch").mkdir()
    (clone / ".polyresearch/setup.sh").write_text("true\n")
    said = project(" ", "session --as alice", cwd=clone).out
    assert "PROGRAM.md" in said
    assert "setup.sh" in said
    assert git(clone, "log", "-1", "--format=%h") in said
    slots = {project(" ", f"session --export --as alice --slot s{one}", cwd=clone).out for one in (1, 2)}
    assert len(slots) == 2
    for line in slots:
        assert re.fullmatch(r"export POLYRESEARCH_NODE_ID=alice/[\w-]+-[0-9a-f]{4}-s[12]\n", line)


def exported(answer: Any) -> str:
    """The node that `session --export` names."""
    return str(answer.out.strip().partition("=")[2])


def test_a_session_of_the_lead_is_the_leads(project: Any) -> None:
    number = project.thesis("RMSNorm")
    clone = project.clone("lead/l")

    def type_in(node: str, line: str, code: int = 0) -> Any:
        environ = {"PILOOP_HOME": str(project.place.home), "POLYRESEARCH_LOGIN": "lead"}
        project.environ = lambda who: {**environ, "POLYRESEARCH_NODE_ID": node}
        return project("lead", line, cwd=clone, code=code)

    type_in(" ", "init --role lead --node box")
    lead = exported(type_in(" ", "session --export"))
    assert "the lead does not" in type_in(lead, f"claim {number}", code=5).err
    found = type_in(lead, "session --json").json
    assert (found["node"], found["role"]) == (lead, "lead")
    # A worker on the lead's machine, and who stops being the lead, contribute.
    for option in ("--slot s1", "--role contributor"):
        worker = exported(type_in(lead, f"session --export {option}"))
        assert worker != lead
        type_in(worker, f"claim {number}")
        type_in(worker, f"release {number} --reason timeout")
        type_in(worker, "prune")
        shutil.rmtree(clone / ".worktrees")
    assert type_in(" ", "session --role contributor --json").json["role"] == "contributor"


def test_the_leads_session_needs_its_login(project: Any) -> None:
    found = project("lead/m", "session --role lead --json").json
    assert (found["node"], found["role"]) == ("lead/m", "lead")
    assert "the lead does not" in project("lead/m", "claim 1", code=5).err
    assert "only the lead" in project("alice/n1", "session --role lead", code=5).err


def test_somebody_else_may_not_go_on(make_project: Make) -> None:
    project = make_project("emulate")
    for line in ("session", "status", "claim 1"):
        stopped = project("alice/n1", f"{line} --as bob", code=1)
        assert "belongs to alice, not to bob" in stopped.err


def test_pace_compares(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from herdr_polyresearch.forge.base import RateStatus
    from herdr_polyresearch.forge.local import LocalForge

    number = project.thesis("RMSNorm")
    project("alice/n1", f"claim {number}")
    said = project("alice/n1", "pace").out
    assert "Maximize throughput." in said
    assert "Active claims: 1" in said
    found = project("alice/n1", "pace --json").json
    assert (found["active_claims"], found["idle_minutes"], found["rate_limit"]) == (1, 0, None)
    assert found["budget"]["cores"] >= 1

    soon = datetime.now(timezone.utc) + timedelta(minutes=10)
    short = RateStatus(limit=5000, remaining=2, resets_at=soon)
    monkeypatch.setattr(LocalForge, "rate_status", lambda self: short)
    stopped = project("alice/n1", "pace --json", code=75)
    assert "RATE LIMITED: wait about 10 minutes" in stopped.err
    assert stopped.json["rate_limit"]["derive_cost"] == 3


def test_a_review_says_in_which_environment(make_project: Make, git: Git) -> None:
    project = make_project(required_confirmations="1")
    clone = project.clone("bob/r1")
    for name in ("setup.sh", "data/a b.txt", "Zeta"):
        (clone / ".polyresearch" / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / ".polyresearch" / name).write_text(name)
    pull, _ = project.candidate("alice/n1", project.thesis("RMSNorm"), {"train.py": "x = 2\n"})
    project("lead/l", f"policy-check {pull}")
    claimed = project("bob/r1", f"review-claim {pull} --json").json
    assert claimed["base_sha"] == git(clone, "rev-parse", "origin/main")
    line = f"review {pull} --metric 1.5 --baseline 1.0 --observation improved --json"
    wrong = project("bob/r1", f"{line} --candidate-sha {claimed['base_sha']}", code=5)
    assert "you evaluated" in wrong.err
    found = project("bob/r1", line).json
    pipeline = "find .polyresearch/ -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
    shell = subprocess.run(pipeline, shell=True, cwd=clone, capture_output=True, text=True, check=True)
    assert found["env_sha"] == shell.stdout.split()[0]
    assert found["candidate_sha"] == claimed["candidate_sha"]
    assert "reviewed" in project("bob/r1", line, code=5).err
    (review,) = project("bob/r1", "status --json").json["theses"][0]["pull_requests"][0]["reviews"]
    assert review["env_sha"] == found["env_sha"]


def test_saved_threads_are_explained(project: Any, tmp_path: Path) -> None:
    cases = Path(__file__).parents[1] / "cases.json"
    found = project("alice/n1", f"explain {cases} --json", cwd=tmp_path).json
    known = json.loads(cases.read_text())["cases"]
    assert [case["id"] for case in found] == [case["id"] for case in known]
    single = tmp_path / "one.json"
    single.write_text(json.dumps(known[0]))
    assert known[0]["id"] in project("alice/n1", "explain one.json", cwd=tmp_path).out
    assert isinstance(project("alice/n1", "explain one.json --json", cwd=tmp_path).json, dict)


@pytest.mark.parametrize(
    "line", ["--help", "--version", "claim --help", "admin --help", "forge --help", "forge pr"]
)
def test_help(project: Any, line: str) -> None:
    answer = project("alice/n1", line, code=None)
    assert answer.code in (0, 2)
    assert "sage:" in answer.out + answer.err or "polyresearch " in answer.out


def test_every_command_can_be_loaded() -> None:
    from herdr_polyresearch.commands.table import COMMANDS, polyresearch

    for name in COMMANDS:
        command = polyresearch.get_command(click.Context(polyresearch), name)
        assert command is not None
        assert command.name == name
        assert command.help
