from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.checks import head_commit
from herdr.repo.commits import read_commit, read_commits
from herdr.repo.git import GitError
from herdr.repo.own import OwnRepository

Git = Callable[..., str]
Commit = Callable[..., str]
OwnOf = Callable[[Path], OwnRepository]

SKIP = ("Piloop-Eval", "skip")


@pytest.mark.parametrize(
    ("message", "trailers", "note", "skip"),
    [
        ("subject only", (), None, False),
        ("subject\n\nPiloop-Eval: skip", (SKIP,), None, True),
        ("subject\n\nbody\n\npiloop-eval:SKIP  ", (("piloop-eval", "SKIP"),), None, True),
        ("subject\n\nPILOOP-NOTE: why", (("PILOOP-NOTE", "why"),), "why", False),
        (
            "s\n\nPiloop-Note: one\nPiloop-Note: two",
            (("Piloop-Note", "one"), ("Piloop-Note", "two")),
            "one; two",
            False,
        ),
        ("s\n\nPiloop-Note: long\n  and folded", (("Piloop-Note", "long and folded"),), "long and folded", False),
        ("s\n\nPiloop-Note: ü → x", (("Piloop-Note", "ü → x"),), "ü → x", False),
        ("s\n\nPiloop-Note: a: b", (("Piloop-Note", "a: b"),), "a: b", False),
        ("s\n\nPiloop-Note: x\n\nlast paragraph", (), None, False),
        ("Piloop-Eval: skip", (), None, False),
        ("s\n\nI thought about Piloop-Eval: skip but no", (), None, False),
        ("s\n\nPiloop-Eval: skipped", (("Piloop-Eval", "skipped"),), None, False),
        ("s\n\nPiloop-Eval: skip\nSigned-off-by: A <a@b>", (SKIP, ("Signed-off-by", "A <a@b>")), None, True),
        ("s\n\nPiloop-Eval : skip", (("Piloop-Eval", "skip"),), None, True),
        ("s\n\n---\n\nPiloop-Eval: skip", (SKIP,), None, True),
        ("s\n\nPiloop-Note:", (("Piloop-Note", ""),), None, False),
    ],
)
def test_trailers(
    repo: Path, own_of: OwnOf, commit: Commit, message: str, trailers: object, note: str | None, skip: bool
) -> None:
    found = read_commit(own_of(repo), commit(repo, {"a": "1"}, message))
    assert found.trailers == trailers
    assert found.note == note
    assert found.skip is skip


def test_commits_come_oldest_first_through_all_parents(
    repo: Path, own_of: OwnOf, git: Git, commit: Commit
) -> None:
    base = head_commit(repo)
    one = commit(repo, {"a": "1"}, "one\n\nwith a\nbody")
    git(repo, "switch", "-q", "-c", "side", base)
    side = commit(repo, {"b": "1"}, "side")
    git(repo, "switch", "-q", "main")
    git(repo, "merge", "-q", "-m", "join", "side")
    own = own_of(repo)
    found = read_commits(own, [head_commit(repo), f"^{base}"])
    assert {c.sha for c in found[:2]} == {one, side}
    assert found[2].subject == "join"
    assert set(found[2].parents) == {one, side}
    first = next(c for c in found if c.sha == one)
    assert (first.subject, first.body, first.parents) == ("one", "with a\nbody", (base,))
    assert first.tree == git(repo, "rev-parse", f"{one}^{{tree}}")
    assert str(first.time) == git(repo, "log", "-1", "--format=%at", one)
    assert read_commits(own, [base, f"^{base}"]) == []
    with pytest.raises(GitError):
        read_commits(own, ["1" * 40])


def test_messages_in_other_encodings_are_read(repo: Path, own_of: OwnOf, git: Git) -> None:
    git(repo, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--allow-empty", "-q", "-F", _latin1(repo))
    git(repo, "config", "i18n.logOutputEncoding", "ISO-8859-1")
    assert read_commit(own_of(repo), head_commit(repo)).subject == "über"


def test_what_the_person_likes_to_see_does_not_change_what_is_read(
    repo: Path, own_of: OwnOf, git: Git, commit: Commit
) -> None:
    settings = {
        "color.ui": "always", "log.showSignature": "true", "log.date": "relative", "trailer.separators": "#",
        "trailer.ifexists": "doNothing", "format.pretty": "oneline", "core.abbrev": "4", "log.follow": "true",
    }  # fmt: skip
    for key, value in settings.items():
        git(repo, "config", key, value)
        git(repo, "config", "--global", key, value)
    sha = commit(repo, {"a": "1"}, "s\n\nPiloop-Note: one\nPiloop-Note: two")
    assert read_commit(own_of(repo), sha).note == "one; two"


def _latin1(repo: Path) -> str:
    (repo / ".git" / "message").write_bytes("über".encode("latin-1"))
    return str(repo / ".git" / "message")
