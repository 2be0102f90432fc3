"""The wrapper: what it starts, what it passes on, and what it writes down."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from herdr.runtime import wrapper
from herdr.runtime.launchfile import read_exit, read_process, write_launch
from herdr.runtime.processes import alive

ARGV = [sys.executable, "-I", "-S", "-X", "utf8", wrapper.__file__]


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_the_exit_status_is_written_down_and_passed_on(start: Any, tmp_path: Path, request_for: Any) -> None:
    one = start(request_for(tmp_path, "sh", "-c", "exit 7"))
    before = time.time()
    ended = one.exit()
    assert (ended.status, ended.signal, ended.error) == (7, None, None)
    assert abs(ended.ended_at - before) < 15
    assert one.process.returncode == 7


def test_the_signal_that_ended_it_is_written_down(start: Any, tmp_path: Path, request_for: Any) -> None:
    one = start(request_for(tmp_path, "sleep", "100"))
    agent = one.agent()
    assert alive(agent.child)
    assert alive(agent.wrapper)
    os.kill(agent.child.pid, signal.SIGKILL)
    ended = one.exit()
    assert (ended.status, ended.signal) == (None, signal.SIGKILL)
    assert one.process.returncode == 128 + signal.SIGKILL
    assert not alive(agent.child)


def test_its_process_is_on_record_before_its_first_instruction(
    start: Any, tmp_path: Path, request_for: Any
) -> None:
    pid_file = str(tmp_path / "state" / "pid.json")
    code = f"import json, os; print(json.load(open({pid_file!r}))['child']['pid'] == os.getpid())"
    start(request_for(tmp_path, *python(code))).shows(b"True")


def test_ctrl_c_reaches_the_harness_and_not_the_wrapper(start: Any, tmp_path: Path, request_for: Any) -> None:
    one = start(
        request_for(
            tmp_path, "sh", "-c", "trap 'echo got-int; exit 3' INT; echo up; while :; do sleep 0.05; done"
        )
    )
    one.shows(b"up")
    one.type(b"\x03")
    assert one.exit().status == 3
    assert b"got-int" in one.read()


def test_ctrl_c_and_ctrl_backslash_that_the_harness_ignores_end_nothing(
    start: Any, tmp_path: Path, request_for: Any
) -> None:
    one = start(request_for(tmp_path, "sh", "-c", "trap '' INT QUIT; echo up; read line; echo \"<$line>\""))
    one.shows(b"up")
    one.type(b"\x03\x1c")
    one.type(b"on\n")
    one.shows(b"<on>")
    assert one.exit().status == 0


def test_a_stopped_harness_is_resumed_and_has_the_keyboard_again(
    start: Any, tmp_path: Path, request_for: Any
) -> None:
    one = start(request_for(tmp_path, *python("import sys; print('up', flush=True); print('<' + input() + '>')")))
    one.shows(b"up")
    one.type(b"\x1a")
    one.type(b"on\n")
    one.shows(b"<on>")
    assert one.exit().status == 0


@pytest.mark.parametrize("name", ["TERM", "HUP", "USR1", "USR2"])
def test_signals_to_the_wrapper_are_passed_on(start: Any, tmp_path: Path, name: str, request_for: Any) -> None:
    script = f"trap 'echo got; exit 4' {name}; echo up; while :; do sleep 0.05; done"
    one = start(request_for(tmp_path, "sh", "-c", script))
    one.shows(b"up")
    os.kill(one.process.pid, getattr(signal, f"SIG{name}"))
    assert one.exit().status == 4


def test_sigterm_reaches_what_a_shell_started_too(
    start: Any, tmp_path: Path, request_for: Any, wait_for: Any
) -> None:
    one = start(request_for(tmp_path, "sh", "-c", "sleep 100; echo after"))
    wait_for(
        lambda: Path(f"/proc/{one.agent().child.pid}/task/{one.agent().child.pid}/children").read_text(), "sleep"
    )
    os.kill(one.process.pid, signal.SIGTERM)
    assert one.exit().signal == signal.SIGTERM


def test_the_end_is_written_down_when_the_terminal_goes_away(
    start: Any, tmp_path: Path, request_for: Any
) -> None:
    one = start(request_for(tmp_path, "sleep", "100"))
    one.agent()
    os.close(one.master)
    one.master = os.open(os.devnull, os.O_RDONLY)
    assert one.exit().signal == signal.SIGHUP


def test_signals_are_as_a_program_expects_them(start: Any, tmp_path: Path, request_for: Any) -> None:
    code = "print(open('/proc/self/status').read())"
    one = start(request_for(tmp_path, sys.executable, "-I", "-S", "-c", code))
    one.exit()
    status = dict(
        line.split(":\t") for line in one.read().decode().replace("\r", "").splitlines() if ":\t" in line
    )
    # The interpreter that reads this ignores SIGPIPE and SIGXFSZ by itself.
    ignored = int(status["SigIgn"], 16) & (1 << 31) - 1  # what is above is no signal of a program's
    assert ignored == 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    assert int(status["SigBlk"], 16) == 0


def test_a_pipe_that_closes_ends_a_program_as_in_a_shell(start: Any, tmp_path: Path, request_for: Any) -> None:
    one = start(request_for(tmp_path, "sh", "-c", "yes | head -1; echo done"))
    one.exit()
    assert b"done" in one.read()
    assert b"roken pipe" not in one.read()


DUMP = "import json, os, sys; json.dump([sys.argv[1:], dict(os.environ), os.getcwd()], open('dump.json', 'w'))"
AWKWARD = [
    "", ";", "a;", "-x", "--", "$HOME `id` $(id)", "it's \"quoted\" \\ back", "two\nlines\r\n\ttab",
    "#(touch x) #{pid} %H", "~", "*", "naïve ☃ \U0001f600", "{brief}", "\x1b[31m",
    os.fsdecode(b"not-utf8-\xff\xfe"), "x" * 100_000, "y" * 100_000,
]  # fmt: skip


def test_arguments_environment_and_folder_arrive_byte_for_byte(
    start: Any, tmp_path: Path, request_for: Any
) -> None:
    cwd = tmp_path / "a folder;'\"\n#(x)"
    cwd.mkdir()
    env = {"PATH": os.environ["PATH"], "ODD": AWKWARD[6] + AWKWARD[7], "EMPTY": "", "BYTES": AWKWARD[14]}
    one = start(request_for(tmp_path, *python(DUMP), *AWKWARD, cwd=cwd, env=env), LANG="de_DE.ISO-8859-1")
    assert one.exit().status == 0
    argv, got, where = json.loads((cwd / "dump.json").read_text())
    assert argv == AWKWARD
    assert {name: got[name] for name in env} == env
    assert where == got["PWD"] == str(cwd)


def test_the_environment_is_the_launch_s_in_the_pane_s_terminal(
    start: Any, tmp_path: Path, request_for: Any
) -> None:
    env = {"PATH": os.environ["PATH"], "TERM": "xterm-kitty", "TERM_PROGRAM": "kitty", "TMUX": "/other,1,0",
           "COLUMNS": "80", "CLAUDECODE": "1", "KEPT": "1", "LC_ALL": "C.UTF-8"}  # fmt: skip
    pane = {
        "TERM": "tmux-256color",
        "TERM_PROGRAM": "tmux",
        "TMUX": "/ours,1,0",
        "TMUX_PANE": "%1",
        "SERVER_ONLY": "1",
    }
    one = start(request_for(tmp_path, *python(DUMP), env=env, clear=["CLAUDECODE"]), **pane)
    assert one.exit().status == 0
    got = json.loads((tmp_path / "dump.json").read_text())[1]
    assert got == {
        "PATH": env["PATH"], "KEPT": "1", "LC_ALL": "C.UTF-8", "TERM": "tmux-256color", "TERM_PROGRAM": "tmux",
        "PWD": str(tmp_path),
    }  # fmt: skip


def test_secrets_are_nowhere_once_it_runs(start: Any, tmp_path: Path, request_for: Any) -> None:
    secret = "sk-0123456789"
    env = {"PATH": os.environ["PATH"], "API_KEY": secret}
    request = request_for(tmp_path, "sh", "-c", "echo up; sleep 100", env=env)
    one = start(request)
    one.shows(b"up")
    for path in request.state_dir.iterdir():
        assert secret not in path.read_text(), path
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(request.state_dir.stat().st_mode) == 0o700
    for pid in (one.agent().wrapper.pid, one.agent().child.pid):
        assert secret.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert secret.encode() not in Path(f"/proc/{one.agent().wrapper.pid}/environ").read_bytes()
    assert secret.encode() in Path(f"/proc/{one.agent().child.pid}/environ").read_bytes()


def unreadable(tmp_path: Path) -> str:
    path = tmp_path / "not-a-program"
    path.write_text("#!/bin/sh\n")
    return str(path)


def binary_rubbish(tmp_path: Path) -> str:
    path = tmp_path / "rubbish"
    path.write_bytes(b"\x00\x01\x02")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("argv", "error", "status"),
    [
        (lambda _: ["no-such-program-here"], "not_found", 127),
        (lambda _: ["/no/such/program"], "not_found", 127),
        (lambda tmp: [unreadable(tmp)], "permission", 126),
        (lambda tmp: [str(tmp)], "permission", 126),
        (lambda tmp: [binary_rubbish(tmp)], "exec", 126),
        (lambda _: ["true", "x" * 300_000], "exec", 126),
    ],
)
def test_what_cannot_be_started_says_why(
    start: Any, tmp_path: Path, argv: Any, error: Any, status: Any, request_for: Any
) -> None:
    one = start(request_for(tmp_path, *argv(tmp_path)))
    ended = one.exit()
    assert (ended.status, ended.signal, ended.error) == (status, None, error)
    assert one.process.returncode == status
    one.shows(b"herdr: cannot start")


def test_a_folder_that_is_gone_says_so(start: Any, tmp_path: Path, request_for: Any) -> None:
    one = start(request_for(tmp_path, "true", cwd=tmp_path / "gone"))
    assert one.exit().error == "cwd"
    one.shows(b"cannot work in")
    assert read_process(tmp_path / "state") is None


def test_a_program_is_found_by_the_path_of_the_launch(start: Any, tmp_path: Path, request_for: Any) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "my-agent"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o755)
    one = start(
        request_for(tmp_path, "my-agent", env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}), PATH="/nowhere"
    )
    assert one.exit().status == 0
    assert b"mine" in one.read()


def test_nothing_runs_that_cannot_be_recorded(start: Any, tmp_path: Path, request_for: Any) -> None:
    request = request_for(tmp_path, "touch", str(tmp_path / "ran"))
    (request.state_dir / "pid.json" / "in the way").mkdir(parents=True)
    one = start(request)
    assert one.exit().error == "record"
    assert one.process.returncode == wrapper.CANNOT_RECORD
    assert not (tmp_path / "ran").exists()


def test_a_broken_launch_file_is_an_end_and_not_a_traceback(start: Any, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "launch.json").write_text("[1, 2")
    done = subprocess.run(
        [*ARGV, "--agent", "1", "--dir", str(state)], capture_output=True, text=True, check=False
    )
    assert done.returncode == wrapper.CANNOT_START
    assert "cannot read the launch file of agent 1" in done.stdout
    assert done.stderr == ""
    assert read_exit(state).error == "launch"  # type: ignore[union-attr]


def test_it_runs_without_a_terminal(tmp_path: Path, request_for: Any) -> None:
    request = request_for(tmp_path, "sh", "-c", "exit 5")
    write_launch(request)
    done = subprocess.run(
        [*ARGV, "--agent", "1", "--dir", str(request.state_dir)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (5, b"")
