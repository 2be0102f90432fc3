"""The launch file: taken by one wrapper or revoked, never both and never neither."""

from __future__ import annotations

import json
import os
import select
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from herdr.errors import HerdrError, RefusedError
from herdr.runtime import kernel, wrapper
from herdr.runtime.launchfile import read_exit, read_process, revoke_launch, write_launch

ARGV = [sys.executable, "-I", "-S", "-X", "utf8", wrapper.__file__]
DEADLINE = 15


def run_wrapper(state_dir: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*ARGV, "--agent", "1", "--dir", str(state_dir)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )


def test_a_second_wrapper_starts_nothing(tmp_path: Path, request_for: Any) -> None:
    request = request_for(tmp_path, "sh", "-c", "echo ran >>ran")
    write_launch(request)
    wrappers = [run_wrapper(request.state_dir) for _ in range(3)]
    assert sorted(one.wait(DEADLINE) for one in wrappers) == [
        0,
        wrapper.NOTHING_TO_START,
        wrapper.NOTHING_TO_START,
    ]
    said = [one.communicate()[0].decode() for one in wrappers]
    assert (tmp_path / "ran").read_text() == "ran\n"
    assert sum("nothing to start for agent 1" in text for text in said) == 2


def test_a_revoked_launch_is_never_started(tmp_path: Path, request_for: Any) -> None:
    request = request_for(tmp_path, "touch", str(tmp_path / "ran"), env={"KEY": "sk-secret"})
    write_launch(request)
    assert revoke_launch(request.state_dir) is True
    assert revoke_launch(request.state_dir) is True
    with run_wrapper(request.state_dir) as one:
        assert one.wait(DEADLINE) == wrapper.NOTHING_TO_START
    assert not (tmp_path / "ran").exists()
    assert all(b"sk-secret" not in path.read_bytes() for path in request.state_dir.iterdir())


def test_a_started_launch_cannot_be_revoked_even_after_it_ended(tmp_path: Path, request_for: Any) -> None:
    request = request_for(tmp_path, "true")
    write_launch(request)
    with run_wrapper(request.state_dir) as one:
        assert one.wait(DEADLINE) == 0
    assert revoke_launch(request.state_dir) is False


def test_a_launch_that_was_never_written_counts_as_revoked(tmp_path: Path) -> None:
    assert revoke_launch(tmp_path) is True


def test_revoking_and_starting_at_once_is_one_or_the_other(tmp_path: Path, request_for: Any) -> None:
    """50 rounds: never both, never neither. The delay closes in on the moment at which the wrapper takes it."""
    delay, outcomes = 0.02, set()
    for index in range(50):
        folder = tmp_path / str(index)
        folder.mkdir()
        request = request_for(folder, "true")
        write_launch(request)
        with run_wrapper(request.state_dir) as one:
            select.select([], [], [], delay)
            revoked = revoke_launch(request.state_dir)
            status = one.wait(DEADLINE)
        assert (read_exit(request.state_dir) is not None) is not revoked
        assert status == (wrapper.NOTHING_TO_START if revoked else 0)
        delay *= 1.2 if revoked else 0.8
        outcomes.add(revoked)
    assert outcomes == {True, False}


def test_an_agent_is_launched_once_only(tmp_path: Path, request_for: Any) -> None:
    request = request_for(tmp_path, "true")
    write_launch(request)
    with pytest.raises(RefusedError, match="launched before"):
        write_launch(request)
    revoke_launch(request.state_dir)
    with pytest.raises(RefusedError, match="launched before"):
        write_launch(request)


@pytest.mark.parametrize("argv", [(), ("a\0b",)])
def test_a_command_that_no_system_can_start_is_refused(tmp_path: Path, argv: Any, request_for: Any) -> None:
    with pytest.raises(HerdrError, match="cannot be started"):
        write_launch(request_for(tmp_path, *argv))


def test_a_full_or_read_only_disk_is_told(tmp_path: Path, request_for: Any) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HerdrError, match="cannot write"):
        write_launch(request_for(tmp_path, "true", state_dir=tmp_path / "file" / "state"))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"status": "x"}', "\udcff"])
def test_files_that_cannot_be_read_are_no_answer(tmp_path: Path, content: Any) -> None:
    for name in ("pid.json", "exit.json"):
        (tmp_path / name).write_bytes(os.fsencode(content))
    assert read_process(tmp_path) is None
    assert read_exit(tmp_path) is None


def test_a_process_of_an_earlier_boot_is_none(tmp_path: Path) -> None:
    process = {"pid": os.getpid(), "started": kernel.start_time(os.getpid())}
    (tmp_path / "pid.json").write_text(
        json.dumps({"boot": kernel.boot_id(), "wrapper": process, "child": process})
    )
    assert read_process(tmp_path) is not None
    (tmp_path / "pid.json").write_text(json.dumps({"boot": "another", "wrapper": process, "child": process}))
    assert read_process(tmp_path) is None


def test_the_launch_file_is_its_owner_s_alone(tmp_path: Path, request_for: Any) -> None:
    request = request_for(tmp_path, "true")
    write_launch(request)
    assert stat.S_IMODE((request.state_dir / "launch.json").stat().st_mode) == 0o600
