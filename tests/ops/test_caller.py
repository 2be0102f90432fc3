"""A process of an agent that has lost its token is no person; a person who stands in a worktree may read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from herdr.errors import RefusedError
from herdr.home import Home
from herdr.ops import caller
from herdr.ops.caller import agents_sign
from herdr.ops.client import DirectClient, MailboxClient, connect
from herdr.ops.idea.filing import AddIdea
from herdr.ops.idea.reading import ListIdeas
from herdr.ops.sql import RunStatement
from herdr.runtime import guard, wrapper
from herdr.store.rows import Run

SIGN = "import os; from herdr.ops.caller import agents_sign; print(agents_sign(os.environ))"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def said(argv: list[str], **environ: str) -> str:
    """How a command that was started like this knows that it is an agent's."""
    clean = {name: value for name, value in os.environ.items() if name not in caller.SIGNS}
    return subprocess.run(
        argv, env={**clean, **environ}, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_what_nobody_has_marked_is_a_persons() -> None:
    assert said([sys.executable, "-c", SIGN]) == "None"


@pytest.mark.parametrize("name", caller.SIGNS)
def test_a_mark_in_the_environment_is_seen(name: str) -> None:
    assert said([sys.executable, "-c", SIGN], **{name: "worker#1"}) == f"{name} is set"
    assert said([sys.executable, "-c", SIGN], **{name: ""}) == "None"


@LINUX
@pytest.mark.parametrize("name", caller.SIGNS)
@pytest.mark.parametrize(
    "line", ["env -i {}; true", "env -i setsid -w {}; true", "env -i sh -c '{}; true'; true"]
)
def test_a_mark_of_an_ancestor_is_seen(tmp_path: Path, name: str, line: str) -> None:
    (tmp_path / "sign.py").write_text(SIGN)
    words = line.format(f"{sys.executable} {tmp_path / 'sign.py'}")
    assert f"from which it was started, has {name}" in said(["sh", "-c", words], **{name: "worker#1"})


@LINUX
@pytest.mark.parametrize(("starter", "option"), [(wrapper, "--agent"), (guard, "--report")])
def test_who_was_started_by_what_starts_agents_is_an_agents(tmp_path: Path, starter: Any, option: Any) -> None:
    # Stands in for the wrapper: the path of its program and its words are what it is known by.
    program = tmp_path / "runtime" / Path(starter.__file__).name
    program.parent.mkdir()
    program.write_text(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {SIGN!r}], env={{}})\n")
    argv = [sys.executable, str(program), option, "1", "--dir", str(tmp_path)]
    assert said(argv).endswith("is what herdr starts agents by")
    assert said([sys.executable, str(program)]) == "None"


@LINUX
def test_what_starts_agents_is_known_by_its_real_path() -> None:
    for program in (wrapper, guard):
        assert any(str(program.__file__).encode().endswith(path) for path in caller.STARTERS)


def test_an_agent_without_a_token_is_refused_whatever_it_asks(campaign: Any) -> None:
    for name in caller.SIGNS:
        with pytest.raises(RefusedError, match="an agent without its token may not use piloop") as caught:
            connect({**os.environ, name: "worker#1"}, campaign.root)
        assert caught.value.fix


def test_a_token_still_says_who_it_is(campaign: Any) -> None:
    signs = dict.fromkeys(caller.SIGNS, "worker#1")
    assert isinstance(connect({**signs, "HERDR_MAILBOX": "/m"}, campaign.root), MailboxClient)
    client = connect({**os.environ, **signs, "HERDR_TOKEN": "a guess"}, campaign.root)
    with pytest.raises(RefusedError, match="not the orchestrator's"):
        client.ask(ListIdeas())
    client.close()


@pytest.fixture
def worktree(campaign: Any) -> Path:
    """A folder in the worktree of a run."""
    run = campaign.run(campaign.idea())
    folder: Path = campaign.root / ".worktrees" / "run-1-x" / "src"
    folder.mkdir(parents=True)
    campaign.set(Run, run, worktree=str(folder.parent))
    return folder


def test_who_stands_in_a_worktree_reads_and_is_asked_before_acting(campaign: Any, worktree: Path) -> None:
    client = connect(os.environ, worktree)
    assert client.ask(ListIdeas()).ideas
    assert client.ask(RunStatement(statement="select 1")).rows
    for request in (AddIdea(title="Mine"), RunStatement(statement="UPDATE ideas SET priority = 1 WHERE id = 1")):
        with pytest.raises(RefusedError, match=r"is in the worktree .*/run-1-x") as caught:
            client.ask(request)
        assert "--as-person" in (caught.value.fix or "")
    client.close()


def test_a_link_into_a_worktree_is_seen_through(campaign: Any, worktree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(worktree)
    client = connect(os.environ, tmp_path / "link")
    with pytest.raises(RefusedError):
        client.ask(AddIdea(title="Mine"))
    client.close()


def test_a_link_in_the_place_of_a_worktree_makes_nothing_else_one(campaign: Any, worktree: Path) -> None:
    worktree.rmdir()
    worktree.parent.rmdir()
    worktree.parent.symlink_to(campaign.root)
    client = connect(os.environ, campaign.root)
    assert client.ask(AddIdea(title="Mine"))
    client.close()


def test_a_person_says_so_or_stands_elsewhere(campaign: Any, worktree: Path) -> None:
    for cwd, yes in ((worktree, True), (campaign.root, False), (campaign.root / ".worktrees", False)):
        client = connect(os.environ, cwd, as_person=yes)
        assert isinstance(client, DirectClient)
        assert client.ask(AddIdea(title=f"{cwd}"))
        client.close()


def test_a_scorings_folder_is_no_place_for_a_person_either(campaign: Any) -> None:
    folder = Home.from_environ(os.environ).root / "evaluations" / "7-0123abcd" / "worktree"
    folder.mkdir(parents=True)
    client = connect(os.environ, folder)
    with pytest.raises(RefusedError, match="for agents and scorings"):
        client.ask(AddIdea(title="Mine"))
    client.close()


def test_nobody_asks_for_the_sign_of_a_process_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(caller, "PROC", tmp_path)
    assert agents_sign({}) is None
