from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path

import pytest
import tomli

from herdr.demo.create import create_project
from herdr.demo.ideas import ADDED, IDEAS, STEPS, DemoIdea
from herdr.demo.steps import PROJECT, Add, CommitAll, Find, Listen, Replace, Set, apply_edit
from herdr.errors import HerdrError

BY_KEY = {idea.key: idea for idea in IDEAS}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_project(tmp_path_factory.mktemp("demo") / "tour")


@pytest.fixture
def baseline(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy", ignore=shutil.ignore_patterns(".git")))


@pytest.fixture
def score(made: Path, tmp_path: Path) -> Callable[..., float]:
    """The length with some ideas applied to the baseline."""
    known: dict[tuple[frozenset[str], str | None], float] = {}

    def measure(*keys: str, kicks: str | None = None) -> float:
        what = frozenset(keys), kicks
        if what not in known:
            copy = tmp_path / str(len(known))
            shutil.copytree(made, copy, ignore=shutil.ignore_patterns(".git"))
            apply(copy, keys, kicks)
            known[what] = length(copy)
        return known[what]

    return measure


def evaluate(root: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-B", "evaluate.py"]
    return subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)


def length(root: Path) -> float:
    done = evaluate(root)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^METRIC length=(\S+)$", done.stdout, flags=re.MULTILINE)
    assert len(found) == 1
    return float(found[0])


def apply(root: Path, keys: Iterable[str], kicks: str | None = None) -> None:
    for key in keys:
        for step in BY_KEY[key].script:
            if isinstance(step, Add | Set | Replace):
                apply_edit(root, step)
            elif isinstance(step, Listen) and kicks:
                apply_edit(root, Set(step.path, step.name, kicks))


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_project_is_a_clean_repo_without_the_modules_of_the_ideas(made: Path) -> None:
    assert git(made, "status", "--porcelain") == ""
    assert git(made, "branch", "--show-current").strip() == "main"
    files = set(git(made, "ls-files").split())
    assert {"evaluate.py", "cities.tsp", "piloop.toml", "brief.md", ".gitignore"} <= files
    assert ADDED
    assert not files & ADDED
    config = tomli.loads((made / "piloop.toml").read_text())
    assert config["harness"]["scripted"]["interactive"][0] == sys.executable
    assert config["evaluate"] == [sys.executable, "evaluate.py"]


def test_a_directory_in_use_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(HerdrError, match="is not empty"):
        create_project(tmp_path)
    with pytest.raises(HerdrError, match="cannot make the demo"):
        create_project(tmp_path / "mine.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_missing_git_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HerdrError, match="git is not installed"):
        create_project(tmp_path / "new")


def test_the_cities_are_the_ones_that_their_script_makes() -> None:
    spec = importlib.util.spec_from_file_location("make_cities", PROJECT / "make_cities.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert len(module.cities()) == 250
    assert module.tsplib(module.cities()) == (PROJECT / "cities.tsp").read_text()


def test_the_baseline_scores_the_same_each_time(baseline: Path) -> None:
    first, second = (re.sub(r"seconds=\S+", "", evaluate(baseline).stdout) for _ in range(2))
    assert first == second == "METRIC length=13507\nMETRIC longest_leg=1029\nMETRIC \n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("city + 1", "7", "not a tour: 250 stops, 1 of the 250 cities"),
        ("in route.order)", "in route.order[1:])", "not a tour: 249 stops"),
        ("city + 1", "city / 0", "ZeroDivisionError"),
    ],
)
def test_what_is_no_tour_has_no_score(baseline: Path, old: str, new: str, message: str) -> None:
    apply_edit(baseline, Replace("tour/__main__.py", old, new))
    done = evaluate(baseline)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_other_cities_have_no_score(baseline: Path) -> None:
    cities = baseline / "cities.tsp"
    cities.write_text(re.sub(r"^(\d+) \d+ \d+$", r"\1 5 5", cities.read_text(), flags=re.MULTILINE))
    assert "the cities are the task" in evaluate(baseline).stderr


def test_the_ideas_that_fail_do_so_as_intended(baseline: Path, tmp_path: Path) -> None:
    for key in ("hilbert", "exchange", "thousands"):
        shutil.copytree(baseline, tmp_path / key)
        apply(tmp_path / key, [key])
    assert length(tmp_path / "hilbert") > 13507
    crashed = evaluate(tmp_path / "exchange")
    assert crashed.returncode == 1
    assert "IndexError" in crashed.stderr
    assert "METRIC" not in crashed.stdout
    assert length(tmp_path / "thousands") == 13.507
    shutil.copyfile(baseline / "evaluate.py", tmp_path / "thousands" / "evaluate.py")
    assert length(tmp_path / "thousands") == 13507


@pytest.mark.timeout(120)
def test_each_first_step_wins_on_top_of_any_of_the_others(score: Callable[..., float]) -> None:
    for chosen in (set(some) for size in range(len(STEPS)) for some in combinations(STEPS, size)):
        for step in set(STEPS) - chosen:
            assert score(*chosen, step) < score(*chosen), f"{step} on {chosen}"


@pytest.mark.timeout(120)
def test_the_hilbert_start_loses_once_2_opt_is_there(score: Callable[..., float]) -> None:
    assert BY_KEY["hilbert"].after == ("two_opt",)
    others = ("greedy", "or_opt", "or_three_opt")
    for chosen in (some for size in range(len(others) + 1) for some in combinations(others, size)):
        # It replaces the greedy start.
        assert score("two_opt", *(set(chosen) - {"greedy"}), "hilbert") > score("two_opt", *chosen)


def test_kicks_win_on_top_of_all_steps_and_more_so_when_steered(score: Callable[..., float]) -> None:
    assert BY_KEY["kicks"].after == BY_KEY["neighbours"].after == STEPS
    steer = BY_KEY["kicks"].steer
    assert steer
    number = re.search(r"(\d+) kicks", steer)
    assert number
    before, alone = score(*STEPS), score(*STEPS, "kicks")
    assert score(*STEPS, "kicks", kicks=number[1]) < alone < before
    # Whichever of the two comes first.
    neighbours, both = score(*STEPS, "neighbours"), score(*STEPS, "kicks", "neighbours", kicks=number[1])
    assert both < neighbours < before
    assert both < score(*STEPS, "kicks", kicks=number[1])


def test_parallel_branches_of_all_kept_ideas_merge_without_conflict(made: Path, tmp_path: Path) -> None:
    root = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(made), str(root))
    keys = ["two_opt", "greedy", "or_opt", "or_three_opt", "kicks", "neighbours"]
    for key in keys:
        git(root, "checkout", "-q", "-b", key, "origin/main")
        apply(root, [key])
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", key)
    git(root, "checkout", "-q", "main")
    for key in keys:
        git(root, "merge", "-q", "--no-edit", key)
    assert ADDED - {"tour/starts/hilbert.py", "tour/polish/exchange.py"} <= set(git(root, "ls-files").split())


def test_an_edit_that_does_not_fit_is_refused(baseline: Path) -> None:
    for edit in (Set("tour/settings.py", "NOTHING", "1"), Replace("evaluate.py", "no such text", "x")):
        with pytest.raises(HerdrError, match="found 0 places"):
            apply_edit(baseline, edit)


def test_titles_and_messages_are_told_apart() -> None:
    def messages(idea: DemoIdea) -> list[str]:
        return [step.message for step in idea.script if isinstance(step, CommitAll)]

    titles = [idea.title for idea in IDEAS]
    assert len(set(titles)) == len(titles) >= 9
    brief = (PROJECT / "brief.md").read_text()
    for title in titles:
        assert title not in brief
        assert not any(title in message for idea in IDEAS for message in messages(idea))
    assert all(any(isinstance(step, Find) for step in idea.script) for idea in IDEAS)
