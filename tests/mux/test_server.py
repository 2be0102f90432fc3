"""A server of our own, clean and in UTF-8, found again and brought back."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from herdr.errors import HerdrError
from herdr.mux.errors import TmuxError
from herdr.mux.server import TmuxServer, check_tmux


def fake_tmux(folder: Path, says: str) -> dict[str, str]:
    folder.mkdir()
    program = folder / "tmux"
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": str(folder)}


def test_check_tmux_names_what_is_wrong_and_the_fix(tmp_path: Path) -> None:
    with pytest.raises(HerdrError, match="not installed") as missing:
        check_tmux({"PATH": str(tmp_path)})
    assert "install tmux" in str(missing.value.fix)
    with pytest.raises(HerdrError, match=r"tmux 3\.1c .* too old"):
        check_tmux(fake_tmux(tmp_path / "old", "tmux 3.1c"))


@pytest.mark.parametrize("version", ["3.2", "3.3a", "3.10", "next-3.7", "master", "10.0"])
def test_check_tmux_takes_newer_ones(tmp_path: Path, version: str) -> None:
    assert check_tmux(fake_tmux(tmp_path / "bin", f"tmux {version}")) == version


def test_peoples_own_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HerdrError, match="your own"):
        TmuxServer("default", tmp_path / "tmux.conf", os.environ)


def test_our_configuration_rules(server: TmuxServer) -> None:
    options, windows, process = (
        {line.partition(" ")[0]: line.partition(" ")[2] for line in server.command("show-options", scope)}
        for scope in ("-g", "-gw", "-s")
    )
    assert (options["history-limit"], options["mouse"]) == ("50000", "on")
    assert (windows["remain-on-exit"], windows["allow-rename"]) == ("on", "off")
    assert (process["message-limit"], process["exit-empty"]) == ("0", "off")
    assert server.command("source-file", str(server.conf)) == []


def test_a_person_inside_tmux_changes_nothing(
    server: TmuxServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMUX", "/tmp/elsewhere,1,0")
    session = server.ensure_session("p", tmp_path, 200, 50)
    assert [one.session_id for one in server.model().sessions] == [session.id]


def test_the_servers_environment_is_clean_and_utf8(tmp_path: Path) -> None:
    extra = {"CLAUDECODE": "1", "TMUX": "/x,1,0", "OPENAI_API_KEY": "secret", "LC_ALL": "C"}
    server = TmuxServer("herdr-env", tmp_path / "tmux.conf", os.environ | extra)
    server.ensure()
    server.ensure_session("p", tmp_path, 200, 50)
    try:
        names = dict(line.split("=", 1) for line in server.command("show-environment", "-g"))
        (pane,) = server.model().panes
        shell = Path(f"/proc/{pane.pane_pid}/environ").read_bytes().decode()
    finally:
        server.kill()
    assert not {"CLAUDECODE", "TMUX", "OPENAI_API_KEY", "LC_ALL"} & set(names)
    assert "UTF-8" in names["LC_CTYPE"]
    assert "secret" not in shell
    assert "CLAUDECODE" not in shell


def test_a_session_is_found_by_its_project_never_by_its_name(server: TmuxServer, tmp_path: Path) -> None:
    first = server.ensure_session("my.proj: é;", tmp_path, 200, 50)
    assert first.name == "my-proj"
    assert server.ensure_session("my.proj: é;", tmp_path, 200, 50) == first
    second = server.ensure_session("my proj", tmp_path, 200, 50)
    assert (second.name, second.id != first.id) == ("my-proj-2", True)
    session = server.model().sessions.get(session_id=first.id)
    assert session is not None
    session.rename_session("my-proj-renamed")
    assert server.ensure_session("my.proj: é;", tmp_path, 200, 50).id == first.id


def test_the_first_window_is_home_in_the_repo(server: TmuxServer, tmp_path: Path) -> None:
    cwd = tmp_path / "a #(touch pwned) b;"
    cwd.mkdir()
    session = server.ensure_session("p", cwd, 120, 40)
    (found,) = server.model().sessions
    (window,) = found.windows
    assert (found.session_id, found.session_path) == (session.id, str(cwd))
    assert (window.window_name, window.window_width, window.window_height) == ("home", "120", "40")


def test_a_home_shell_that_was_left_is_there_again(server: TmuxServer, tmp_path: Path) -> None:
    session = server.ensure_session("p", tmp_path, 200, 50)
    server.command("respawn-pane", "-k", "-t", f"{session.id}:", "true")
    (pane,) = server.model().panes
    while pane.pane_dead == "0":
        pane.refresh()
    before = pane.pane_pid
    server.ensure_session("p", tmp_path, 200, 50)
    pane.refresh()
    assert pane.pane_pid != before


def test_a_deleted_socket_comes_back_with_everything_in_it(server: TmuxServer, tmp_path: Path) -> None:
    session = server.ensure_session("p", tmp_path, 200, 50)
    server.socket_path.unlink()
    server.socket_path.parent.rmdir()
    assert not server.alive()
    server.ensure()
    assert [one.session_id for one in server.model().sessions] == [session.id]


def test_a_pid_file_of_another_process_signals_nobody(server: TmuxServer) -> None:
    server.kill()
    with subprocess.Popen(["sleep", "60"]) as bystander:
        server.pid_file.write_text(f'{{"pid": {bystander.pid}, "started": 1.0}}')
        server.ensure()
        assert (server.alive(), bystander.poll()) == (True, None)
        bystander.kill()


def test_two_homes_have_two_servers(server: TmuxServer, tmp_path: Path) -> None:
    other = TmuxServer("herdr-other", tmp_path / "other" / "tmux.conf", os.environ)
    other.ensure()
    other.kill()
    assert (server.alive(), other.alive()) == (True, False)


def test_kill_of_a_server_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    TmuxServer("herdr-none", tmp_path / "tmux.conf", os.environ).kill()


def test_a_silent_failure_is_an_error(server: TmuxServer) -> None:
    with pytest.raises(TmuxError, match="invalid option: no-such-option"):
        server.command("set-option", "-g", "no-such-option", "1")


def test_a_socket_path_that_is_too_long_is_explained(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    server = TmuxServer("herdr-deep", tmp_path / "tmux.conf", os.environ | {"TMUX_TMPDIR": str(deep)})
    with pytest.raises(TmuxError, match="does not start") as error:
        server.ensure()
    assert "under 100 bytes" in str(error.value.fix)


def test_servers_of_one_home_keep_their_own_files(tmp_path: Path) -> None:
    one, two = (TmuxServer(name, tmp_path / "tmux.conf", os.environ) for name in ("herdr-one", "herdr-two"))
    one.ensure()
    two.ensure()
    for server in (one, two):
        server.socket_path.unlink()
        assert not server.alive()
        server.ensure()
        assert server.alive()
    pids = {server.command("display-message", "-p", "#{pid}")[0] for server in (one, two)}
    assert {json.loads(server.pid_file.read_text())["pid"] for server in (one, two)} == set(map(int, pids))
    one.kill()
    assert two.alive()
    two.kill()
