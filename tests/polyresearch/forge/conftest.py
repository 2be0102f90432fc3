"""The forges that the contract is held to: the local one, and GitHub's client on two stand-ins."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from github import Auth, Github, GithubException
from github.ContentFile import ContentFile
from herdr_polyresearch.forge.address import Address
from herdr_polyresearch.forge.base import CAPABILITIES, Forge
from herdr_polyresearch.forge.github import GitHubForge
from herdr_polyresearch.forge.local_forges import create_local, open_local
from herdr_polyresearch.forge.waiting import Clock

# What each stand-in does otherwise than GitHub, or not at all.
EMULATE_LACKS = frozenset(
    {"changed_files", "collaborators", "conflicts", "expected_sha", "follows_pushes", "permissions",
     "pulls_as_issues", "rejects_empty_pull", "since"}
)  # fmt: skip
MYWORLD_LACKS = frozenset(
    {
        "assign",
        "collaborators",
        "comment_listing",
        "delete_comment",
        "edit_comment",
        "pages",
        "permissions",
        "since",
    }
)
FILES = {"README.md": "# lab\n", "train.py": "x = 1\n", "gone.py": "old\n"}


def load(name: str) -> ModuleType:
    """A helper beside this file; tests are no package that could be imported."""
    full = f"polyresearch_forge_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
    return sys.modules[full]


stand_ins = load("standins")


def git(cwd: Path, *args: str) -> str:
    """Run git and give what it printed."""
    done = subprocess.run(["git", *args], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr}"
    return done.stdout.strip()


def one_file(found: ContentFile | list[ContentFile]) -> ContentFile:
    """What a path that is no folder names."""
    assert not isinstance(found, list)
    return found


class Place:
    """A repository with FILES on main, on one of the forges; `open` gives the forge as seen by a user."""

    kind = ""
    lacks: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.opened: list[Any] = []

    def open(self, login: str = "lead", **options: Any) -> Forge:
        """The forge as this user sees it."""
        forge: Forge = self._open(login, **options)
        self.opened.append(forge)
        return forge

    def _open(self, login: str, **options: Any) -> Any:
        raise AssertionError

    def push(self, branch: str, files: dict[str, str | None]) -> str:
        """Commit these files on a branch (None deletes one), made from main when it is new; gives the commit."""
        raise AssertionError

    def read(self, branch: str) -> dict[str, str]:
        """The files of a branch."""
        raise AssertionError

    def needs(self, *capabilities: str) -> None:
        """Skip where the forge cannot do it, by the gap's name."""
        for name in capabilities:
            assert name in CAPABILITIES
            if name in self.lacks:
                pytest.skip(f"{self.kind} has a gap: {name}")


class LocalPlace(Place):
    kind = "local"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.home = folder / "piloop"
        self.work = folder / "work"
        forge = create_local("lab", home=self.home, owner="lead", collaborators=["alice", "bob"])
        self.opened.append(forge)
        self.work.mkdir()
        git(self.work, "init", "-q", "-b", "main")
        git(self.work, "remote", "add", "origin", forge.clone_url())
        self.push("main", dict(FILES))

    def _open(self, login: str, **options: Any) -> Any:
        return open_local("lab", home=self.home, login=login, **options)

    def push(self, branch: str, files: dict[str, str | None]) -> str:
        known = git(self.work, "branch", "--list", branch)
        if branch != "main":
            git(self.work, "checkout", "-q", *([branch] if known else ["-b", branch, "main"]))
        for name, text in files.items():
            if text is None:
                git(self.work, "rm", "-q", name)
            else:
                (self.work / name).write_text(text)
        git(self.work, "add", "-A")
        git(self.work, "commit", "-q", "-m", f"change {branch}")
        git(self.work, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
        sha = git(self.work, "rev-parse", "HEAD")
        if branch != "main":
            git(self.work, "checkout", "-q", "main")
        return sha

    def read(self, branch: str) -> dict[str, str]:
        git(self.work, "fetch", "-q", "origin", branch)
        names = git(self.work, "ls-tree", "-r", "--name-only", "FETCH_HEAD").splitlines()
        return {name: git(self.work, "show", f"FETCH_HEAD:{name}") + "\n" for name in names}


class ServedPlace(Place):
    """A stand-in; files go through its API, as it speaks no git."""

    def __init__(self, folder: Path, api: str | None, name: str, tokens: dict[str, str]) -> None:
        super().__init__()
        self.home = folder / "piloop"
        self.api = api
        self.slug = f"lead/{name}"
        self.tokens = tokens
        options: dict[str, Any] = {} if api is None else {"base_url": api}
        self.admin = Github(
            auth=Auth.Token(tokens["lead"]),
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            **options,
        )
        self.opened.append(self.admin)

    def _open(self, login: str, **options: Any) -> Any:
        defaults = {"spacing": 0.0, "clock": Clock(say=lambda _: None)}
        return GitHubForge(
            Address("github.com", *self.slug.split("/")),
            self.tokens[login],
            home=options.pop("home", self.home),
            api=self.api,
            lacks=self.lacks,
            **{**defaults, **options},
        )

    def push(self, branch: str, files: dict[str, str | None]) -> str:
        repo = self.admin.get_repo(self.slug)
        try:
            repo.get_branch(branch)
        except GithubException:
            repo.create_git_ref(f"refs/heads/{branch}", repo.get_branch("main").commit.sha)
        there = self.read(branch)
        for name, text in files.items():
            old = one_file(repo.get_contents(name, ref=branch)).sha if name in there else None
            if text is None:
                repo.delete_file(name, "delete", str(old), branch=branch)
            elif old is None:
                repo.create_file(name, "add", text, branch=branch)
            else:
                repo.update_file(name, "change", text, old, branch=branch)
        return str(repo.get_branch(branch).commit.sha)

    def read(self, branch: str) -> dict[str, str]:
        repo = self.admin.get_repo(self.slug)
        found: dict[str, str] = {}
        for name in ("README.md", "train.py", "gone.py", "new.py", "other.py"):
            try:
                found[name] = one_file(repo.get_contents(name, ref=branch)).decoded_content.decode()
            except GithubException:
                continue
        return found


class EmulatePlace(ServedPlace):
    kind = "emulate"
    lacks = EMULATE_LACKS


class MyWorldPlace(ServedPlace):
    kind = "myworld"
    lacks = MYWORLD_LACKS


@pytest.fixture(scope="session")
def emulate_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with stand_ins.emulate(tmp_path_factory.mktemp("emulate") / "log") as url:
        yield url


@pytest.fixture(scope="session")
def my_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with stand_ins.myworld(tmp_path_factory.mktemp("myworld")) as server:
        yield server


@pytest.fixture
def make_place(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Place]]:
    """`make_place("emulate")` gives a fresh repository there."""
    made: list[Place] = []

    def make(kind: str, faults: list[dict[str, Any]] | None = None) -> Place:
        folder = tmp_path / kind
        folder.mkdir()
        if kind == "local":
            made.append(LocalPlace(folder))
        elif kind == "emulate":
            made.append(emulate_place(folder, request.getfixturevalue("emulate_url")))
        else:
            server = request.getfixturevalue("my_world")
            for name, value in server.environ.items():
                monkeypatch.setenv(name, value)
            made.append(MyWorldPlace(folder, None, "lab", server.new(FILES, faults)))
        return made[-1]

    yield make
    for place in made:
        for forge in place.opened:
            forge.close()


def emulate_place(folder: Path, url: str) -> EmulatePlace:
    """A new repository on the one emulate of this session."""
    name = f"lab-{abs(hash(folder)):x}"
    place = EmulatePlace(folder, url, name, {user: f"tok_{user}" for user in stand_ins.USERS})
    place.admin.get_user().create_repo(name, auto_init=True)
    place.push("main", dict(FILES))
    return place


@pytest.fixture(params=["local", "emulate", "myworld"])
def place(request: pytest.FixtureRequest, make_place: Callable[..., Place]) -> Place:
    """A fresh repository on each forge in turn."""
    return make_place(request.param)


# --- a GitHub that fails as it is told to -----------------------------------------------------------------------

fakehub = load("fakehub")


class TestClock:
    """Time that passes only when somebody sleeps; `slept` and `told` are what a person would have seen."""

    __test__ = False

    def __init__(self) -> None:
        self.passed = 0.0
        self.slept: list[float] = []
        self.told: list[str] = []
        self.during: Callable[[], None] | None = None

    def clock(self, **options: Any) -> Clock:
        return Clock(now=lambda: 1_800_000_000 + self.passed, sleep=self.sleep, say=self.told.append, **options)

    def sleep(self, seconds: float) -> None:
        self.passed += seconds
        self.slept.append(seconds)
        if self.during is not None:
            self.during()


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def hub() -> Iterator[Any]:
    server = fakehub.FakeHub()
    yield server
    server.close()


@pytest.fixture
def hub_home(tmp_path: Path) -> Path:
    return tmp_path / "piloop"


@pytest.fixture
def open_hub(hub: Any, clock: TestClock, hub_home: Path) -> Iterator[Callable[..., GitHubForge]]:
    """`open_hub("alice")` gives lead/lab on the failing GitHub, as seen by alice."""
    opened: list[GitHubForge] = []

    def make(user: str = "lead", **options: Any) -> GitHubForge:
        defaults = {"home": hub_home, "api": hub.url, "clock": clock.clock(), "timeout": 5}
        token = options.pop("token", f"tok_{user}")
        opened.append(GitHubForge(Address("github.com", "lead", "lab"), token, **{**defaults, **options}))
        return opened[-1]

    yield make
    for forge in opened:
        forge.close()


# --- a stand-in with real git beside it -------------------------------------------------------------------------

git_side = load("gitside")
WITH_GIT = frozenset({"changed_files", "conflicts", "expected_sha", "follows_pushes", "rejects_empty_pull"})


class GitPlace(LocalPlace):
    """A stand-in for issues and comments, real git for branches."""

    def __init__(self, folder: Path, served: ServedPlace, side: Any, work: Path) -> None:
        Place.__init__(self)
        self.kind = f"{served.kind}-git"
        self.home = folder / "piloop"
        self.slug, self.tokens, self.side, self.work = served.slug, served.tokens, side, work
        self.lacks = (served.lacks - WITH_GIT) | {"pulls_as_issues"}

    def _open(self, login: str, **options: Any) -> Any:
        defaults = {"spacing": 0.0, "clock": Clock(say=lambda _: None), "home": self.home}
        address = Address("github.com", *self.slug.split("/"))
        return GitHubForge(
            address, self.tokens[login], api=self.side.url, lacks=self.lacks, **{**defaults, **options}
        )

    def environ(self, login: str) -> dict[str, str]:
        """What a command needs in its environment to work here as this user."""
        return {
            "POLYRESEARCH_API": self.side.url,
            "POLYRESEARCH_API_LACKS": ",".join(sorted(self.lacks)),
            "POLYRESEARCH_WRITE_SPACING": "0",
            "GITHUB_TOKEN": self.tokens[login],
            "GH_REPO": self.slug,
        }


@pytest.fixture
def make_git_place(make_place: Callable[..., Place], tmp_path: Path) -> Iterator[Callable[[str], GitPlace]]:
    """`make_git_place("emulate")` gives a repository with FILES whose branches are real."""
    made: list[GitPlace] = []

    def make(kind: str) -> GitPlace:
        served = make_place(kind)
        assert isinstance(served, ServedPlace)
        bare, work = tmp_path / "origin.git", tmp_path / "checkout"
        git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
        git(tmp_path, "clone", "-q", str(bare), str(work))
        git(work, "checkout", "-q", "-B", "main")
        options: dict[str, Any] = {}
        if kind == "myworld":
            options = {
                "proxies": {"https": os.environ["HTTPS_PROXY"]},
                "verify": os.environ["REQUESTS_CA_BUNDLE"],
            }
        upstream = served.api or "https://api.github.com"
        side = git_side.GitSide(upstream, served.slug, bare, served.tokens["lead"], **options)
        made.append(GitPlace(tmp_path / kind, served, side, work))
        made[-1].push("main", dict(FILES))
        return made[-1]

    yield make
    for place in made:
        for forge in place.opened:
            forge.close()
        place.side.close()


@pytest.fixture
def missing() -> Callable[[str, str], None]:
    """What a stand-in that cannot be had does to a test."""
    said: Callable[[str, str], None] = stand_ins.missing
    return said
