"""Programs that herdr starts import nothing from the folder that they start in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from herdr.daemon.runs.launcher import write_shim
from herdr.demo.keeper import Keeper
from herdr.python import WITHOUT_FOLDER, module_argv

OLD = (sys.executable, "-c", WITHOUT_FOLDER.format("herdr.cli"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules named like what herdr needs, and with a clone's `herdr`; the test stands in it."""
    for name in ("click.py", "anyio.py", "msgspec.py", "runpy.py", "herdr/other.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise SystemExit('taken from the folder')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("argv", [module_argv("herdr.cli"), OLD], ids=["this python", "3.10"])
def test_a_module_is_run_from_the_installation(folder: Path, argv: tuple[str, ...]) -> None:
    done = subprocess.run([*argv, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[0], done.stderr) == (0, "piloop", "")


@pytest.mark.parametrize("argv", [module_argv("extra"), (*OLD[:2], WITHOUT_FOLDER.format("extra"))])
def test_pythonpath_and_arguments_work(folder: Path, tmp_path: Path, argv: tuple[str, ...]) -> None:
    more = tmp_path / "more"
    more.mkdir()
    (more / "extra.py").write_text("import sys\nassert __name__ == '__main__'\nprint(sys.argv[1:])\n")
    environ = {**os.environ, "PYTHONPATH": str(more)}
    done = subprocess.run([*argv, "a b"], env=environ, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['a b']\n", "")


def test_the_piloop_of_agents_is_run_from_the_installation(folder: Path, tmp_path: Path) -> None:
    write_shim(tmp_path / "bin")
    done = subprocess.run([tmp_path / "bin/piloop", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_keeper_of_the_demo_is_run_from_the_installation(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Keeper(os.environ, log):
        pass
    assert log.read_text() == ""


def test_a_keeper_that_has_ended_does_not_hide_the_fault(tmp_path: Path) -> None:
    def play() -> None:
        with Keeper(os.environ, tmp_path / "log") as keeper:
            assert keeper._process is not None
            keeper._process.kill()
            keeper._process.wait()
            keeper.start_daemon()

    with pytest.raises(Exception, match="the demo's keeper has ended"):
        play()
