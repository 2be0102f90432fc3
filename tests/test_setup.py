"""`herdr init`, as far as it is not the command: what is registered, and what is taken up when it runs again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.home import Home
from herdr.repo.own import own_of
from herdr.repo.refs import pinned
from herdr.setup import NotReadyError, SetUp, set_up
from herdr.store.connection import open_store
from herdr.store.rows import Agent, Candidate, Evaluator, Idea, Project, Run, fetch

MakeRepo = Callable[..., Path]
CONFIG = """
name = "p"
runtime = "herdr"
evaluate = ["python3", "evaluate.py"]
[[metrics]]
name = "score"
direction = "higher"
role = "primary"
"""
FILES = {"piloop.toml": CONFIG, "evaluate.py": "print('METRIC score=1')\n"}


def init(root: Path, told: list[str] | None = None) -> SetUp:
    tell = (told if told is not None else []).append
    return set_up(Home.from_environ(os.environ), root, os.environ, actor="human", tell=tell)


def rows(kind: type[Any]) -> list[Any]:
    store = open_store(Home.from_environ(os.environ).database, mode="read", actor="human")
    try:
        return fetch(store, kind)
    finally:
        store.close()


def commit(root: Path) -> None:
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", "commit", "-qm", "edit"], cwd=root, check=True)


def test_a_repo_made_for_piloop_is_taken_as_it_is(make_repo: MakeRepo) -> None:
    root = make_repo(FILES)
    done = init(root / ".")
    assert (done.project.name, done.metrics, done.written) == ("p", {"score": 1.0}, [])
    assert [(one.origin, one.verdict) for one in rows(Candidate)] == [("baseline", "keep")]
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


def test_a_bare_repo_gets_files_and_is_not_registered_before_they_are_filled_in(make_repo: MakeRepo) -> None:
    root = make_repo()
    with pytest.raises(NotReadyError, match="does not measure anything"):
        init(root)
    assert {path.name for path in root.iterdir()} >= {"piloop.toml", "brief.md", "evaluate.py"}
    assert not Home.from_environ(os.environ).database.exists()


def test_again_takes_up_edits_without_measuring(make_repo: MakeRepo) -> None:
    root = make_repo(FILES)
    init(root)
    (root / "piloop.toml").write_text(CONFIG + "[roles.worker]\ntimeout = 7\n")
    assert init(root).metrics is None
    assert '"timeout":7.0' in rows(Project)[0].config
    assert len(rows(Evaluator)) == 1


def test_a_changed_evaluator_measures_the_head_again(make_repo: MakeRepo) -> None:
    root = make_repo(FILES)
    init(root)
    (root / "evaluate.py").write_text("print('METRIC score=2')\n")
    commit(root)
    assert init(root).metrics == {"score": 2.0}
    assert len(rows(Evaluator)) == 2
    assert len(rows(Candidate)) == 1


def test_a_baseline_that_cannot_be_scored_registers_nothing(make_repo: MakeRepo) -> None:
    root = make_repo({**FILES, "evaluate.py": "raise SystemExit('no data')\n"})
    with pytest.raises(HerdrError, match="no data"):
        init(root)
    assert rows(Project) == []


def test_edits_of_the_evaluator_that_are_not_committed_are_told(make_repo: MakeRepo) -> None:
    root = make_repo(FILES)
    (root / "evaluate.py").write_text("print('METRIC score=5')\n")
    told: list[str] = []
    assert init(root, told).metrics == {"score": 1.0}
    assert any("evaluate.py differs from the last commit" in line for line in told)


def test_a_second_repo_of_the_same_name_is_refused_and_a_moved_one_is_found(make_repo: MakeRepo) -> None:
    root = make_repo(FILES)
    init(root)
    other = make_repo(FILES, name="other")
    with pytest.raises(UsageError, match="registered already"):
        init(other)
    shutil.move(root, root.with_name("moved"))
    assert init(root.with_name("moved")).project.path == str(root.with_name("moved"))
    assert len(rows(Project)) == 1


def enter(**run: Any) -> None:
    """An idea with a run, and its agent, which lives until an update ends it."""
    store = open_store(Home.from_environ(os.environ).database, mode="person", actor="daemon")
    Idea.insert(store, project_id=1, title="Try it", source="human", actor="human")
    row: dict[str, Any] = {
        "project_id": 1,
        "idea_id": 1,
        "number": 1,
        "base_id": 1,
        "harness": "fake",
        "actor": "daemon",
    }
    Run.insert(store, **{**row, "state": "running", **run})
    agent: dict[str, Any] = {
        "project_id": 1,
        "run_id": 1,
        "harness": "fake",
        "session_id": "s",
        "token_hash": "h",
    }
    Agent.insert(store, **{**agent, "state": "busy", "actor": "daemon"})
    store.close()


def end(kind: type[Run] | type[Agent], **values: Any) -> None:
    store = open_store(Home.from_environ(os.environ).database, mode="person", actor="daemon")
    kind.update(store, 1, **values, actor="daemon")
    store.close()


def test_a_rename_waits_for_the_runs_and_takes_pins_and_workspace_along(make_repo: MakeRepo) -> None:
    root, home = make_repo(FILES), Home.from_environ(os.environ)
    init(root)
    enter()
    home.workspace("p").mkdir(parents=True)
    (home.workspace("p") / "data").touch()
    (root / "piloop.toml").write_text(CONFIG.replace('"p"', '"q"'))
    with pytest.raises(RefusedError, match="p cannot be renamed to q while 1 run of it is open") as caught:
        init(root)
    assert 'name = "p"' in (caught.value.fix or "")
    assert rows(Project)[0].name == "p"
    end(Run, state="succeeded", settled_at="2026-01-01T00:00:00.000Z")
    with pytest.raises(RefusedError, match="agents of it live"):
        init(root)
    end(Agent, state="ended")
    assert init(root).project.name == "q"
    assert (home.workspace("q") / "data").exists()
    assert pinned(own_of(home, root, "q")) == pinned(own_of(home, root, "p")) != {}


@pytest.mark.parametrize(
    ("edited", "what"),
    [
        (CONFIG + '[tmux]\nsocket = "other"\n', "[tmux] socket"),
        (CONFIG.replace('runtime = "herdr"', 'runtime = "subprocess"'), 'runtime = "subprocess"'),
    ],
)
def test_where_agents_run_is_not_changed_under_them(make_repo: MakeRepo, edited: str, what: str) -> None:
    root = make_repo(FILES)
    init(root)
    enter()
    before = rows(Project)[0].config
    (root / "piloop.toml").write_text(edited)
    with pytest.raises(RefusedError, match=f"the edited {re.escape(what)} of p takes effect once no agent"):
        init(root)
    assert rows(Project)[0].config == before
    end(Agent, state="ended")
    init(root)
    assert rows(Project)[0].config != before


def test_what_can_be_written_through_a_link_is_told(make_repo: MakeRepo) -> None:
    root = make_repo(
        {**FILES, "piloop.toml": 'link = [".venv", "data"]' + CONFIG, ".gitignore": ".venv/\ndata/\n"}
    )
    (root / "data").mkdir()
    packages = root / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (root / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    (packages / "proj.pth").write_text(f"{root}/src\n")
    told: list[str] = []
    init(root, told)
    notes = [line for line in told if line.startswith("note: .venv")]
    assert len(notes) == 2
    assert "agents get a link to yours and can write to it" in notes[0]
    assert "scored with the code of your checkout" in notes[1]
    assert not [line for line in told if "data" in line]


def test_the_time_of_the_set_up_is_told(make_repo: MakeRepo) -> None:
    told: list[str] = []
    init(make_repo({**FILES, "piloop.toml": CONFIG + '[setup]\ncommand = ["true"]\n'}), told)
    assert any(line.startswith("[setup] took ") for line in told)


def test_a_set_up_that_fails_registers_nothing(make_repo: MakeRepo) -> None:
    root = make_repo({**FILES, "piloop.toml": CONFIG + '[setup]\ncommand = ["sh", "-c", "echo no; exit 3"]\n'})
    with pytest.raises(HerdrError, match=r"\[setup\] sh -c .* exited with status 3: no"):
        init(root)
    assert rows(Project) == []
