from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from herdr.api import DoctorCheck, DoctorResult
from herdr.cli.checks import home as of_home
from herdr.cli.checks import machine, project
from herdr.cli.doctor import examine
from herdr.home import Home
from herdr.plugins import PluginHost
from herdr.repo.git import Completed
from herdr.store.connection import Store
from herdr.store.rows import Run


def found(root: Path | None) -> dict[str, tuple[str, str]]:
    home = Home.from_environ(os.environ)
    return {f.check: (f.status, f.message) for f in examine(home, root)}


def test_a_healthy_project(project: Path, typed: Any) -> None:
    done = typed("herdr", "doctor")
    assert done.code == 0
    assert "ok       tmux: " in done.out
    assert "ok       harnesses: fake /" in done.out
    data = json.loads(typed("herdr", "doctor", "--json").out)
    assert {f["check"] for f in data} >= {"tmux", "git", "python", "home", "disk", "piloop.toml", "plugins"}


def test_an_error_is_an_exit_status_and_has_its_fix(root: Path, typed: Any) -> None:
    toml = (root / "piloop.toml").read_text()
    (root / "piloop.toml").write_text(toml.replace("[[metrics]]", 'runtine = "x"\n[[metrics]]', 1))
    done = typed("herdr", "doctor")
    assert done.code == 1
    assert "ERROR    piloop.toml: runtine = " in done.out
    assert "         fix: " in done.out
    assert "runtime" in done.out.partition("         fix: ")[2]
    assert "harnesses: not looked at" in done.out


def test_a_key_without_effect_yet_is_named_once(root: Path) -> None:
    with (root / "piloop.toml").open("a") as file:
        file.write("[roles.research.scout]\ninterval = 60\n")
    assert found(root)["piloop.toml"] == (
        "warning",
        "roles.research.scout has no effect yet (research outside the repo)",
    )


def test_a_harness_whose_program_is_missing(root: Path) -> None:
    text = (root / "piloop.toml").read_text().replace('["sh", "agent.sh"]', '["no-such-program"]')
    (root / "piloop.toml").write_text(text)
    status, message = found(root)["harnesses"]
    assert status == "error"
    assert "no-such-program" in message


def test_no_harness_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    results = project.harnesses(PluginHost(environ={}), {"PATH": "/nowhere"}, None)
    assert [r.status for r in results] == ["error"]


def test_a_home_that_others_can_read_and_share(project: Path) -> None:
    home = Home.from_environ(os.environ)
    home.root.chmod(0o755)
    (home.root / "piloop.db").write_text("another tool's")
    results = found(project)
    assert results["home"][0] == "warning"
    assert "piloop.db" in results["other files"][1]


def test_little_room_on_the_disk(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herdr.cli.checks.home.shutil.disk_usage", lambda _path: Free())
    assert found(project)["disk"][0] == "error"


class Free:
    free = 1_000


def test_a_stale_socket_and_a_live_one(tmp_path: Path) -> None:
    folder = Path(os.environ["TMUX_TMPDIR"]) / f"tmux-{os.getuid()}"
    folder.mkdir()
    live, stale = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    live.bind(str(folder / "herdr-1"))
    live.listen()
    stale.bind(str(folder / "herdr-2"))
    stale.close()
    home = Home.from_environ(os.environ)
    (result,) = of_home.sockets(home, os.environ)
    assert (result.status, "a tmux server of other homes" in result.message) == ("ok", True)
    ours = socket.socket(socket.AF_UNIX)
    ours.bind(str(folder / home.socket_name))
    ours.close()
    (result,) = of_home.sockets(home, os.environ)
    live.close()
    assert (result.status, result.fix) == ("warning", f"rm {folder / home.socket_name}")


def test_another_program_of_our_name_comes_first(tmp_path: Path) -> None:
    other = tmp_path / "herdr"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    ours = str(Path(sys.executable).parent)
    (first,) = machine.on_path("herdr", {"PATH": f"{tmp_path}:{ours}"})
    (second,) = machine.on_path("herdr", {"PATH": f"{ours}:{tmp_path}"})
    (missing,) = machine.on_path("herdr", {"PATH": "/nowhere"})
    expected = ("warning", "ok") if (Path(ours) / "herdr").exists() else ("ok", "ok")
    assert (first.status, second.status, missing.status) == (*expected, "warning")


def test_locales() -> None:
    assert [r.status for r in machine.locale({"LANG": "C", "LC_ALL": "en_US.UTF-8"})] == ["ok"]
    assert [r.status for r in machine.locale({"LANG": "C"})] == ["warning"]


def test_a_damaged_database_and_failures_of_the_daemon(project: Path, store: Store) -> None:
    store.execute(
        "INSERT INTO emit (kind, actor, payload)"
        ' VALUES (\'daemon.fault\', \'daemon\', \'{"what": "scoring", "error": "boom"}\')'
    )
    store.execute("INSERT INTO plugin_cursors VALUES ('notify', 1, 3, NULL, 'no network')")
    results = found(project)
    assert results["daemon"] == ("warning", "1 failures in the last hour, such as scoring: boom")
    assert "notify failed 3 times" in results["plugins in the daemon"][1]
    store.close()
    database = Home.from_environ(os.environ).database
    database.write_bytes(b"not a database at all" * 100)
    assert found(project)["database"][0] == "error"


def test_a_plugins_checks_are_run_and_a_broken_one_is_a_finding(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_root: Path | None) -> list[DoctorResult]:
        raise ZeroDivisionError("oops")

    def fine(root: Path | None) -> list[DoctorResult]:
        return [DoctorResult(status="ok", message=str(root))]

    def setup(self: PluginHost, hook: str, registrar: Any) -> None:
        if hook == "herdr_doctor_checks":
            for name, run in (("broken", fail), ("fine", fine)):
                registrar("theirs")(DoctorCheck(name=name, run=run))

    monkeypatch.setattr(PluginHost, "setup", setup)
    results = found(project)
    assert results["broken"] == ("error", "the check itself failed: ZeroDivisionError: oops")
    assert results["fine"] == ("ok", str(project))


def test_harnesses_and_plugins_are_listed(project: Path, typed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "fake     ok" in typed("herdr", "harness", "list").out
    names = [h["name"] for h in json.loads(typed("herdr", "harness", "list", "--json").out)]
    assert names[:3] == ["claude", "codex", "aider"]
    assert "ready within" in typed("herdr", "harness", "show", "fake").out
    assert json.loads(typed("herdr", "harness", "show", "fake", "--json").out)["from"] == "piloop.toml"
    assert typed("herdr", "harness", "check", "fake").code == 0
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert typed("herdr", "harness", "check", "claude").code == 1
    monkeypatch.setenv("HERDR_BLOCK_PLUGINS", "aider")
    listed = typed("herdr", "plugins").out
    assert "blocked" in listed
    assert "herdr_register_harnesses" in listed
    states = {p["name"]: p["state"] for p in json.loads(typed("herdr", "plugins", "--json").out)}
    assert (states["aider"], states["claude"]) == ("blocked", "ok")


def test_hooks_that_agents_will_not_run_are_told_with_the_key(project: Path) -> None:
    assert found(project)["hooks"] == ("ok", "the repo has none")
    hook = project / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    said = found(project)["hooks"][1]
    assert (
        said == "pre-commit will not run for the commits of agents; if they should: hooks = true in piloop.toml"
    )
    toml = project / "piloop.toml"
    toml.write_text("hooks = true\n" + toml.read_text())
    assert found(project)["hooks"][1] == "pre-commit run for the commits of agents, too (hooks = true)"


@pytest.mark.parametrize(
    ("said", "status"),
    [("git version 2.43.0", "warning"), ("git version 2.43.4", "ok"), ("git version 2.47.1", "ok")],
)
def test_a_git_that_cannot_be_kept_from_fetching(monkeypatch: pytest.MonkeyPatch, said: str, status: str) -> None:
    version = Completed(code=0, out=said.encode(), err="")
    for module in ("herdr.repo.checks", "herdr.cli.checks.machine"):
        monkeypatch.setattr(f"{module}.run_git", lambda *_args, **_more: version)
    (result,) = machine.git()
    assert result.status == status
    assert said in result.message


def test_what_other_homes_keep_in_the_repo(project: Path) -> None:
    assert found(project)["other homes"] == ("ok", "none works in this repo")
    git = ["git", "-C", str(project), "update-ref", "refs/piloop/0123abcd/tiny/run-1/1-x", "HEAD"]
    subprocess.run(git, check=True)
    (project / ".worktrees" / "run-1-x-0123abcd").mkdir(parents=True)
    said = found(project)["other homes"][1]
    assert "1 pin under refs/piloop/0123abcd; 1 folder in .worktrees (run-1-x-0123abcd)" in said
    assert found(project)["run folders"][0] == "ok"


def test_folders_that_ended_runs_left_are_for_clean(project: Path, one_run: Any, store: Store) -> None:
    one_run()
    folder = project / ".worktrees" / "run-1-x"
    folder.mkdir(parents=True)
    Run.update(store, 1, worktree=str(folder), actor="daemon")
    assert found(project)["run folders"] == ("ok", "no ended run has left one")
    Run.update(store, 1, state="failed", settled_at="2026-01-01T00:00:00.000Z", actor="daemon")
    assert found(project)["run folders"] == ("warning", "1 ended run left run-1-x")
    assert found(project)["other homes"] == ("ok", "none works in this repo")
