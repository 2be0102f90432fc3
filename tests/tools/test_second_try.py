"""CI's second try: what passes only then is named, what fails twice fails, a runner that broke is not excused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "second_try.py"
# No other plugin is needed, and loading them takes longer than such a suite.
ENVIRON = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}

#: What a fake suite's tests share: `first(name)` is true at the first try.
BEGIN = """
from pathlib import Path
import os

def first(name):
    try:
        Path(name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True

"""
GOOD = "def test_good(): pass\n"
SHAKY = "def test_shaky(): assert not first('shaky')\n"
BROKEN = "def test_broken(): assert False\n"
CRASH = "def test_crash(): os._exit(9)\n"


def try_twice(folder: Path, suite: str, *arguments: str) -> tuple[int, list[str], str]:
    """Run a fake suite with the tool; its exit status, what it found flaky, and what it printed."""
    (folder / "test_it.py").write_text(BEGIN + suite)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, str(TOOL), "flaky", "-q", *arguments, "test_it.py"]
    done = subprocess.run(command, cwd=folder, env=ENVIRON, capture_output=True, text=True, check=False)
    flaky = folder / "flaky"
    return done.returncode, flaky.read_text().splitlines() if flaky.exists() else [], done.stdout


def test_what_passes_at_the_second_try_only_is_named(tmp_path: Path) -> None:
    status, flaky, output = try_twice(tmp_path, GOOD + SHAKY)
    assert (status, flaky) == (0, ["test_it.py::test_shaky"])
    assert "1 passed" in output.splitlines()[-1], "the log ends with pytest's own closing line"


def test_what_fails_beside_others_or_takes_its_worker_down_is_tried_alone(tmp_path: Path) -> None:
    fatal = "def test_fatal(): first('fatal') and os._exit(9)\n"
    status, flaky, output = try_twice(tmp_path, GOOD + SHAKY + fatal, "-n", "2", "--dist", "worksteal")
    assert (status, sorted(flaky)) == (0, ["test_it.py::test_fatal", "test_it.py::test_shaky"])
    assert "nodes..." not in output.partition("One more try")[2], "not alone"


def test_when_all_pass_nothing_is_named_and_nothing_runs_again(tmp_path: Path) -> None:
    status, flaky, output = try_twice(tmp_path, GOOD)
    assert (status, flaky) == (0, [])
    assert "One more try" not in output


def test_what_fails_twice_fails_and_the_others_are_named(tmp_path: Path) -> None:
    status, flaky, _ = try_twice(tmp_path, GOOD + SHAKY + BROKEN)
    assert (status, flaky) == (1, ["test_it.py::test_shaky"])


def test_a_runner_that_crashed_is_not_excused_by_what_it_did_not_run(tmp_path: Path) -> None:
    status, flaky, output = try_twice(tmp_path, SHAKY + CRASH + BROKEN)
    assert (status, flaky) == (9, [])
    assert "One more try" not in output


def test_a_module_that_cannot_be_collected_at_first_is_named(tmp_path: Path) -> None:
    status, flaky, _ = try_twice(tmp_path, "assert not first('module')\n" + GOOD)
    assert status != 0, "pytest was interrupted: it did not run the tests"
    assert flaky == []


@pytest.mark.parametrize(
    ("suite", "status", "last"),
    [
        (GOOD + SHAKY, 0, "FLAKY: test_it.py::test_shaky"),
        (GOOD + SHAKY + BROKEN, 1, "FLAKY: test_it.py::test_shaky"),
        (GOOD, 0, ""),
    ],
    ids=["one flaky", "one flaky and one broken", "all good"],
)
def test_ci_s_last_line_names_them_below_pytest_s_own(tmp_path: Path, suite: str, status: int, last: str) -> None:
    for part in (".ci", "tools"):
        shutil.copytree(ROOT / part, tmp_path / part)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (tmp_path / "Makefile").write_text("test test-stand-ins:\n\t@$(PYTEST) -q test_it.py\n")
    (tmp_path / "test_it.py").write_text(BEGIN + suite)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run([tmp_path / ".ci" / "run"], env=ENVIRON, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert min(done.returncode, 1) == status, done.stderr
    named = [line for line in lines if line.startswith("FLAKY")]
    assert named == ([last] if last else [])
    assert not last or lines[-1] == last
    assert " in " in lines[-2 if last else -1], "pytest's own closing line"


def test_the_makefile_lets_ci_choose_the_runner_of_tests_and_of_nothing_else() -> None:
    command = ["make", "-n", "test", "test-stand-ins", "PYTEST=RUNNER"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    runs = [line for line in done.stdout.splitlines() if "RUNNER" in line]
    assert len(runs) == 2
    assert all("RUNNER -q -n" in line for line in runs)
    assert "pytest -q" not in done.stdout
