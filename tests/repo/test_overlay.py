from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.checks import head_commit
from herdr.repo.isolated import Isolated, create
from herdr.repo.overlay import Protected, overlay, protected_entries, touched
from herdr.repo.own import OwnRepository

Git = Callable[..., str]
Commit = Callable[..., str]
Attack = Callable[[Path, Path], None]
OwnOf = Callable[[Path], OwnRepository]

PROTECT = ["evaluate.py", "eval/", ".polyresearch/", "**/*.csv"]
SYMLINK, SUBMODULE, FILE = 0o120000, 0o160000, 0o100644


@pytest.fixture
def evaluator(make_repo: Callable[..., Path], git: Git) -> Path:
    root = make_repo(
        {
            "evaluate.py": "honest\n",
            "eval/tool.py": "tool\n",
            "eval/deep/data.txt": "data\n",
            "src/x.csv": "1,2\n",
            "solve.py": "slow\n",
        }
    )
    (root / "eval" / "tool.py").chmod(0o755)
    (root / "eval" / "ref").symlink_to("tool.py")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "evaluator")
    return root


def scoring(own: OwnRepository, folder: Path, candidate: str) -> Isolated:
    """A candidate, checked out for scoring."""
    place = Isolated(repository=own.path.parent / "score.git", worktree=folder)
    create(place, own, commit=candidate, branch=None)
    return place


def edit(root: Path, outside: Path) -> None:
    (root / "evaluate.py").write_text("METRIC x=9\n")
    (root / "src" / "x.csv").write_text("9,9\n")


def remove(root: Path, outside: Path) -> None:
    (root / "evaluate.py").unlink()
    shutil.rmtree(root / "eval")


def symlink_in_place_of_a_file(root: Path, outside: Path) -> None:
    (root / "evaluate.py").unlink()
    (root / "evaluate.py").symlink_to(outside / "victim")


def symlink_in_place_of_a_parent(root: Path, outside: Path) -> None:
    shutil.rmtree(root / "eval")
    (root / "eval").symlink_to(outside)


def symlink_in_place_of_an_inner_parent(root: Path, outside: Path) -> None:
    shutil.rmtree(root / "eval" / "deep")
    (root / "eval" / "deep").symlink_to(outside)


def symlink_in_place_of_an_unprotected_parent(root: Path, outside: Path) -> None:
    shutil.rmtree(root / "src")
    (root / "src").symlink_to(outside)


def folder_in_place_of_a_file(root: Path, outside: Path) -> None:
    (root / "evaluate.py").unlink()
    (root / "evaluate.py").mkdir()
    (root / "evaluate.py" / "__main__.py").write_text("METRIC x=9\n")


def file_in_place_of_a_folder(root: Path, outside: Path) -> None:
    shutil.rmtree(root / "eval")
    (root / "eval").write_text("x")


def change_of_mode(root: Path, outside: Path) -> None:
    (root / "evaluate.py").chmod(0o755)
    (root / "eval" / "tool.py").chmod(0o644)


def additions(root: Path, outside: Path) -> None:
    (root / "eval" / "sitecustomize.py").write_text("cheat\n")
    (root / ".polyresearch").mkdir()
    (root / ".polyresearch" / "x").write_text("cheat\n")
    (root / "more" / "deep").mkdir(parents=True)
    (root / "more" / "deep" / "y.csv").write_text("cheat\n")


def link_where_nothing_was(root: Path, outside: Path) -> None:
    (root / ".polyresearch").symlink_to(outside)


def attributes(root: Path, outside: Path) -> None:
    (root / ".gitattributes").write_text("*.py text eol=crlf\n")
    (root / "eval" / ".gitattributes").write_text("* text eol=crlf\n")
    (root / "evaluate.py").unlink()


ATTACKS = [
    (edit, ["evaluate.py", "src/x.csv"]),
    (remove, ["eval/deep/data.txt", "eval/ref", "eval/tool.py", "evaluate.py"]),
    (symlink_in_place_of_a_file, ["evaluate.py"]),
    (symlink_in_place_of_a_parent, ["eval", "eval/deep/data.txt", "eval/ref", "eval/tool.py"]),
    (symlink_in_place_of_an_inner_parent, ["eval/deep", "eval/deep/data.txt"]),
    (symlink_in_place_of_an_unprotected_parent, ["src/x.csv"]),
    (folder_in_place_of_a_file, ["evaluate.py", "evaluate.py/__main__.py"]),
    (file_in_place_of_a_folder, ["eval/deep/data.txt", "eval/ref", "eval/tool.py"]),
    (change_of_mode, ["eval/tool.py", "evaluate.py"]),
    (additions, [".polyresearch/x", "eval/sitecustomize.py", "more/deep/y.csv"]),
    (link_where_nothing_was, [".polyresearch"]),
    (attributes, ["eval/.gitattributes", "evaluate.py"]),
]


def protected_state(root: Path) -> dict[str, object]:
    """Kind, content and exec bit of all that PROTECT names in a folder."""
    found: dict[str, object] = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if name.split("/")[0] not in ("evaluate.py", "eval", ".polyresearch") and path.suffix != ".csv":
            continue
        if path.is_symlink():
            found[name] = path.readlink()
        else:
            found[name] = (path.read_bytes(), bool(path.stat().st_mode & 0o100)) if path.is_file() else "folder"
    return found


@pytest.mark.parametrize(("attack", "flagged"), ATTACKS, ids=[attack.__name__ for attack, _ in ATTACKS])
def test_attacks(
    evaluator: Path, tmp_path: Path, git: Git, own_of: OwnOf, commit: Commit, attack: Attack, flagged: list[str]
) -> None:
    honest = head_commit(evaluator)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("precious")
    expected = protected_state(evaluator)
    attack(evaluator, outside)
    candidate = commit(evaluator, {"solve.py": "fast\n"})
    own = own_of(evaluator)
    made = scoring(own, tmp_path / "eval" / "wt", candidate)
    overlay(made, own, candidate=candidate, commit=honest, paths=PROTECT)
    assert protected_state(made.worktree) == expected
    assert (made.worktree / "solve.py").exists()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"victim": "precious"}
    assert touched(own_of(evaluator), honest, candidate, PROTECT) == flagged
    assert [path.name for path in made.worktree.parent.iterdir()] == ["wt"]


def test_an_honest_candidate(evaluator: Path, tmp_path: Path, own_of: OwnOf, commit: Commit) -> None:
    honest = head_commit(evaluator)
    candidate = commit(evaluator, {"solve.py": "fast\n", "src/evaluate.py": "mine", "evaluate.pyx": "mine"})
    own = own_of(evaluator)
    made = scoring(own, tmp_path / "wt", candidate)
    overlay(made, own, candidate=candidate, commit=honest, paths=PROTECT)
    assert touched(own_of(evaluator), honest, candidate, PROTECT) == []
    assert (made.worktree / "src" / "evaluate.py").read_text() == "mine"
    assert (made.worktree / "solve.py").read_text() == "fast\n"


def test_the_users_index_stays_as_it_is(
    evaluator: Path,
    tmp_path: Path,
    git: Git,
    own_of: OwnOf,
    commit: Commit,
    user_state: Callable[[Path], dict[str, object]],
) -> None:
    honest = head_commit(evaluator)
    candidate = commit(evaluator, {"evaluate.py": "cheat\n"})
    (evaluator / "evaluate.py").write_text("staged\n")
    git(evaluator, "add", "evaluate.py")
    before = user_state(evaluator)
    own = own_of(evaluator)
    made = scoring(own, tmp_path / "wt", candidate)
    overlay(made, own, candidate=candidate, commit=honest, paths=PROTECT)
    assert user_state(evaluator) == before


def test_renaming_a_protected_file_is_seen(evaluator: Path, git: Git, own_of: OwnOf, commit: Commit) -> None:
    honest = head_commit(evaluator)
    git(evaluator, "mv", "evaluate.py", "free.py")
    assert touched(own_of(evaluator), honest, commit(evaluator, {}), PROTECT) == ["evaluate.py"]


def test_a_submodule_in_place_of_a_protected_folder(
    evaluator: Path, tmp_path: Path, git: Git, own_of: OwnOf, commit: Commit
) -> None:
    honest = head_commit(evaluator)
    expected = protected_state(evaluator)
    git(tmp_path, "clone", "-q", str(evaluator), "cheat")
    git(evaluator, "rm", "-rq", "eval")
    git(evaluator, "submodule", "--quiet", "add", str(tmp_path / "cheat"), "eval")
    candidate = commit(evaluator, {})
    own = own_of(evaluator)
    made = scoring(own, tmp_path / "wt", candidate)
    assert (made.worktree / "eval" / "evaluate.py").exists()
    overlay(made, own, candidate=candidate, commit=honest, paths=PROTECT)
    assert protected_state(made.worktree) == expected
    assert "eval" in touched(own_of(evaluator), honest, candidate, PROTECT)


@pytest.mark.parametrize("attack", ["another commit", "gone", "symlink", "folder"])
def test_a_protected_submodule(
    evaluator: Path, tmp_path: Path, git: Git, own_of: OwnOf, commit: Commit, attack: str
) -> None:
    other = tmp_path / "data"
    git(tmp_path, "init", "-q", "data")
    commit(other, {"d.txt": "honest"})
    git(evaluator, "submodule", "--quiet", "add", str(other), "data")
    honest = commit(evaluator, {})
    outside = tmp_path / "outside"
    outside.mkdir()
    if attack == "another commit":
        commit(evaluator / "data", {"d.txt": "cheat"})
    else:
        git(evaluator, "rm", "-q", "--cached", "data")
        shutil.rmtree(evaluator / "data")
        if attack == "symlink":
            (evaluator / "data").symlink_to(outside)
        if attack == "folder":
            (evaluator / "data").mkdir()
            (evaluator / "data" / "d.txt").write_text("cheat")
    candidate = commit(evaluator, {})
    own = own_of(evaluator)
    made = scoring(own, tmp_path / "wt", candidate)
    overlay(made, own, candidate=candidate, commit=honest, paths=["data/"])
    assert (made.worktree / "data" / "d.txt").read_text() == "honest"
    assert not (made.worktree / "data").is_symlink()
    assert not list(outside.iterdir())
    assert "data" in touched(own_of(evaluator), honest, candidate, ["data/"])


def test_filters_of_the_evaluator_apply(
    evaluator: Path, tmp_path: Path, git: Git, own_of: OwnOf, commit: Commit
) -> None:
    git(evaluator, "config", "filter.up.smudge", "tr a-z A-Z")
    honest = commit(evaluator, {".gitattributes": "evaluate.py filter=up\n"})
    candidate = commit(evaluator, {".gitattributes": None, "evaluate.py": "cheat\n"})
    own = own_of(evaluator)
    made = scoring(own, tmp_path / "wt", candidate)
    overlay(made, own, candidate=candidate, commit=honest, paths=["evaluate.py"])
    assert (made.worktree / "evaluate.py").read_text() == "HONEST\n"


def test_the_protected_entries_of_a_commit(evaluator: Path, git: Git, own_of: OwnOf, commit: Commit) -> None:
    found = protected_entries(own_of(evaluator), head_commit(evaluator), PROTECT)
    assert sorted(found) == ["eval/deep/data.txt", "eval/ref", "eval/tool.py", "evaluate.py", "src/x.csv"]
    assert found["eval/tool.py"] == (0o100755, git(evaluator, "rev-parse", "HEAD:eval/tool.py"))
    assert found["eval/ref"][0] == SYMLINK
    assert protected_entries(own_of(evaluator), commit(evaluator, {"solve.py": "fast"}), PROTECT) == found


@pytest.mark.parametrize(
    ("pattern", "path", "mode", "covered"),
    [
        ("evaluate.py", "evaluate.py", FILE, True),
        ("evaluate.py", "sub/evaluate.py", FILE, False),
        ("/evaluate.py", "evaluate.py", FILE, True),
        ("dir", "dir/a/b", FILE, True),
        ("dir/", "dir/a/b", FILE, True),
        ("dir/", "dir", FILE, False),
        ("dir/", "dir", SYMLINK, True),
        ("dir/", "dir", SUBMODULE, True),
        ("*.csv", "a.csv", FILE, True),
        ("*.csv", "d/a.csv", FILE, False),
        ("**/*.csv", "d/a.csv", FILE, True),
        ("data[1].txt", "data[1].txt", FILE, True),
        ("#note", "#note", FILE, True),
    ],
)
def test_patterns(pattern: str, path: str, mode: int, covered: bool) -> None:
    assert Protected([pattern]).covers(path, mode) is covered


def test_a_later_pattern_can_take_back() -> None:
    protected = Protected(["eval/*", "!eval/free.py"])
    assert protected.covers("eval/x.py", FILE)
    assert not protected.covers("eval/free.py", FILE)
