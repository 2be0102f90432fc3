"""A project on each forge, and `polyresearch` as people and nodes type it there."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from herdr_polyresearch.cli import run
from herdr_polyresearch.protocol.program import read_program

FORGES = Path(__file__).parents[1] / "forge" / "conftest.py"
spec = importlib.util.spec_from_file_location("polyresearch_forge_places", FORGES)
assert spec
assert spec.loader
places = importlib.util.module_from_spec(spec)
spec.loader.exec_module(places)

spec = importlib.util.spec_from_file_location("polyresearch_existing", Path(__file__).parents[1] / "existing.py")
assert spec
assert spec.loader
reader = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reader)

# The fixtures of the forges' own tests: pytest finds them by their names here.
emulate_url = places.emulate_url
my_world = places.my_world
make_place = places.make_place
make_git_place = places.make_git_place

SURFACE = """
## What you CAN modify
- `train.py` - the model
- `src/**`

## What you CANNOT modify
- `src/fixed/**`
"""
PROGRAM = {
    "lead_github_login": "lead",
    "maintainer_github_login": "boss",
    "metric_tolerance": "0.01",
    "min_queue_depth": "3",
}
CLEARED = ("POLYRESEARCH_LOGIN", "GITHUB_TOKEN", "GH_REPO", "POLYRESEARCH_NODE_ID")


class Answer(msgspec.Struct, frozen=True):
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as data."""
        return json.loads(self.out)


class Project:
    """A repository with PROGRAM.md on one of the forges; every node has a clone of its own."""

    def __init__(self, place: Any, folder: Path, monkeypatch: Any, capsys: Any) -> None:
        self.place, self.folder, self.monkeypatch, self.capsys = place, folder, monkeypatch, capsys

    def program(self, **parameters: str) -> Project:
        """Put PROGRAM.md on main."""
        lines = [f"{key}: {value}" for key, value in {**PROGRAM, **parameters}.items()]
        self.place.push("main", {"PROGRAM.md": "\n".join(lines) + "\n" + SURFACE})
        return self

    def environ(self, who: str) -> dict[str, str]:
        """The environment of a node `login/machine`."""
        login = who.partition("/")[0]
        found = {"PILOOP_HOME": str(self.place.home), "POLYRESEARCH_NODE_ID": who}
        if self.place.kind == "local":
            return {**found, "POLYRESEARCH_LOGIN": login}
        return {**found, **self.place.environ(login)}

    def clone(self, who: str) -> Path:
        """The clone of a node."""
        path = self.folder / who.replace("/", "-")
        if not path.exists():
            origin = places.git(self.place.work, "remote", "get-url", "origin")
            places.git(self.folder, "clone", "-q", origin, str(path))
        return path

    def __call__(self, who: str, line: str, *more: str, cwd: Path | None = None, code: int | None = 0) -> Answer:
        """Type a command as a node, in its clone or in `cwd`, and expect this exit status."""
        with self.monkeypatch.context() as patch:
            for name in CLEARED:
                patch.delenv(name, raising=False)
            for name, value in self.environ(who).items():
                patch.setenv(name, value)
            patch.chdir(cwd or self.clone(who))
            self.capsys.readouterr()
            status = run([*line.split(), *more])
            out, err = self.capsys.readouterr()
        assert code is None or status == code, f"polyresearch {line}: {status}\n{out}\n{err}"
        return Answer(status, out, err)

    def start(self, who: str, line: str) -> subprocess.Popen[str]:
        """Start a command as a process of its own."""
        kept = {name: value for name, value in os.environ.items() if name not in CLEARED}
        return subprocess.Popen(
            [sys.executable, "-c", "from herdr_polyresearch.cli import main; main()", *line.split()],
            cwd=self.clone(who),
            env={**kept, **self.environ(who)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def push_main(self, files: dict[str, str]) -> None:
        """Change main, as a person does."""
        places.git(self.place.work, "pull", "-q", "--ff-only", "origin", "main")
        self.place.push("main", files)

    # --- what a life is made of -------------------------------------------------------------------------------

    def thesis(self, title: str) -> int:
        """Have the lead open a thesis."""
        number = self("lead/l", "generate --json --title", title, "--body", "worth a try").json["issue_number"]
        assert isinstance(number, int)
        return number

    def work(self, who: str, number: int, files: dict[str, str], attempt: int = 1) -> Path:
        """Commit on the branch of an attempt; gives the worktree."""
        (tree,) = self.clone(who).glob(f".worktrees/{number}-*")
        stem = f"thesis/{tree.name}"
        places.git(tree, "checkout", "-q", "-b", f"{stem}-attempt-{attempt}", stem)
        commit(tree, files)
        return tree

    def candidate(self, who: str, number: int, files: dict[str, str], metric: float = 1.5) -> tuple[int, Path]:
        """Claim a thesis, record an improvement and submit it; gives the pull request and the worktree."""
        self(who, f"claim {number}")
        tree = self.work(who, number, files)
        numbers = f"--metric {metric} --baseline 1.0 --observation improved --summary"
        self(who, f"attempt {number} {numbers}", "tried it", cwd=tree)
        pull = self(who, f"submit {number} --json", cwd=tree).json["pr_number"]
        assert isinstance(pull, int)
        return pull, tree

    def review(self, who: str, pull: int, metric: float, observation: str = "improved") -> Answer:
        """Claim and post a review."""
        self(who, f"review-claim {pull}")
        return self(who, f"review {pull} --metric {metric} --baseline 1.0 --observation {observation} --json")

    def sync(self) -> list[str]:
        """Have the lead sync; gives the statuses of the rows that are new."""
        before = len(self.rows())
        self("lead/l", "sync")
        self.clean()
        assert self.existing().findings == []
        return [row[4] for row in self.rows()[before:]]

    def rows(self) -> list[list[str]]:
        """The rows of results.tsv as it is at origin."""
        places.git(self.place.work, "fetch", "-q", "origin")
        names = places.git(self.place.work, "ls-tree", "--name-only", "origin/main").splitlines()
        if "results.tsv" not in names:
            return []
        text = places.git(self.place.work, "show", "origin/main:results.tsv")
        return [line.split("\t") for line in text.splitlines()[1:]]

    def existing(self) -> Any:
        """What a node on the existing tool sees."""
        program = read_program((self.clone("lead/l") / "PROGRAM.md").read_text())
        snapshot = self.place.open("lead").snapshot()
        return reader.ExistingReader(snapshot, program, datetime.now(timezone.utc))

    def clean(self) -> None:
        """The audit has nothing to say."""
        found = self("lead/l", "audit --json").json
        assert found["clean"], found
        assert found["findings"] == []

    def phase(self, number: int) -> str:
        """The phase of a thesis, with its outcome."""
        theses = self("lead/l", "status --json").json["theses"]
        (found,) = (thesis["phase"] for thesis in theses if thesis["issue"]["number"] == number)
        return found if isinstance(found, str) else f"resolved:{found['resolved']['outcome']}"


def commit(tree: Path, files: dict[str, str]) -> None:
    """Commit these files."""
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    places.git(tree, "add", "-A")
    places.git(tree, "commit", "-q", "-m", "try it")


@pytest.fixture
def make_project(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Project]:
    """`make_project("emulate", required_confirmations="2")` gives a project there."""

    def make(kind: str = "local", **parameters: str) -> Project:
        if kind == "local":
            place = request.getfixturevalue("make_place")("local")
        elif "STAND_INS" not in os.environ:
            pytest.skip(f"a whole life on {kind} takes long: make test-stand-ins")
        else:
            place = request.getfixturevalue("make_git_place")(kind)
        folder = tmp_path / "clones"
        folder.mkdir()
        return Project(place, folder, monkeypatch, capsys).program(**parameters)

    return make


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    """A project on the local forge, decided without reviews."""
    return make_project()


@pytest.fixture
def git() -> Callable[..., str]:
    """`git(folder, "log")` runs it there and gives what it printed."""
    run_git: Callable[..., str] = places.git
    return run_git
