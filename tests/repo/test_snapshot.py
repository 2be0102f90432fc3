"""What of the person's configuration is taken, and what is said of a change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.own import OwnRepository, refresh
from herdr.repo.snapshot import take_snapshot

Git = Callable[..., str]
OwnOf = Callable[[Path], OwnRepository]


@pytest.mark.parametrize(
    ("key", "value", "taken"),
    [
        ("user.name", "Ada", True),
        ("core.autocrlf", "input", True),
        ("filter.x.smudge", "tr a b", True),
        ("merge.x.driver", "true", True),
        ("core.fsmonitor", "true", False),
        ("core.hooksPath", "/x", False),
        ("core.sshCommand", "x", False),
        ("core.worktree", "/x", False),
        ("alias.x", "!x", False),
        ("diff.x.textconv", "x", False),
        ("gpg.program", "x", False),
        ("commit.gpgSign", "true", False),
        ("remote.origin.uploadpack", "x", False),
        ("trailer.x.command", "x", False),
        ("color.ui", "always", False),
        ("lfs.storage", "/x", False),
        ("lfs.fetchexclude", "x", True),
    ],
)
def test_what_is_taken(repo: Path, git: Git, key: str, value: str, taken: bool) -> None:
    git(repo, "config", key, value)
    assert ((key.lower(), value) in take_snapshot(repo).config) is taken


def test_values_come_as_they_are(repo: Path, git: Git, own_of: OwnOf) -> None:
    odd = {
        "filter.a b.clean": 'sed "s/\\\\/x/" # ; \t end ',
        'filter.q"uo\\te.smudge': "x",
        "user.name": 'Ä "B" \\ C\nD',
        "filter.Case.clean": "x",
    }
    for key, value in odd.items():
        git(repo, "config", key, value)
    own = own_of(repo)
    for key, value in odd.items():
        assert own.run("config", "--null", "--get", key).out == value.encode() + b"\0"


def test_a_change_is_named_and_no_secret_is_shown(repo: Path, git: Git, own_of: OwnOf) -> None:
    own = own_of(repo)
    assert refresh(own) == []
    git(repo, "remote", "add", "origin", "https://ada:secret@example.com/x")
    git(repo, "config", "core.eol", "lf")
    git(repo, "config", "core.hooksPath", "/hooks")
    git(
        repo, "replace", "-f", git(repo, "rev-parse", "HEAD:solve.py"), git(repo, "rev-parse", "HEAD:evaluate.py")
    )
    (repo / ".git/info/grafts").write_text("x")
    assert refresh(own) == [
        "core.eol: not set is now lf",
        "remote.origin.fetch is new",
        "remote.origin.url is new",
        "replaced objects (git replace), which herdr never obeys",
        "grafts, which herdr never obeys",
        "the folder of hooks (core.hooksPath)",
    ]
    git(repo, "config", "core.eol", "crlf")
    git(repo, "remote", "remove", "origin")
    assert refresh(own) == [
        "core.eol: lf is now crlf",
        "remote.origin.fetch is gone",
        "remote.origin.url is gone",
    ]


def test_a_repository_of_herdrs_own_is_made_anew_when_the_checkout_has_moved(
    repo: Path, own_of: OwnOf, tmp_path: Path
) -> None:
    from herdr.repo.own import open_own

    own = own_of(repo)
    moved = repo.rename(tmp_path / "moved")
    again = open_own(own.path, moved, own.pins)
    assert again.run("rev-parse", "HEAD", check=False, env={"GIT_DIR": str(moved / ".git")}).code == 0
    assert (own.path / "objects/info/alternates").read_text() == f"{moved}/.git/objects\n"
