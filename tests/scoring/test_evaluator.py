"""What the evaluator of a project is, and when two scores are comparable."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from herdr.config import Config, read_config
from herdr.errors import HerdrError
from herdr.repo.checks import head_commit
from herdr.repo.own import OwnRepository, open_own
from herdr.scoring.contents import EvaluatorDiffersError, compare
from herdr.scoring.evaluator import Definition, complete, define, read_definition
from herdr.store.rows import Evaluator

CONFIG = """
name = "p"
evaluate = ["python3", "evaluate.py"]
[[metrics]]
name = "score"
direction = "higher"
role = "primary"
"""
FILES = {"evaluate.py": "print(1)\n", "PREPARE.md": "prose\n", "code.py": "x = 1\n", "piloop.toml": CONFIG}

MakeRepo = Callable[..., Path]


def own(root: Path) -> OwnRepository:
    return open_own(root.parent / "own.git", root, "refs/piloop/0123abcd/p/")


def definition(root: Path) -> Definition:
    return define(config(root), own(root), head_commit(root))


def config(root: Path) -> Config:
    return read_config(root, {})


def edit(root: Path, path: str, text: str) -> None:
    (root / path).write_text(text)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", "commit", "-qm", "edit"], cwd=root, check=True)


@pytest.mark.parametrize(
    ("path", "text", "same"),
    [
        ("code.py", "x = 2\n", True),
        ("PREPARE.md", "other prose\n", True),
        ("piloop.toml", CONFIG + "[roles.worker]\ntimeout = 5\n", True),
        ("piloop.toml", CONFIG.replace("higher", "lower"), False),
        ("piloop.toml", CONFIG.replace('"score"', '"points"'), False),
        ("piloop.toml", CONFIG.replace('"evaluate.py"]', '"evaluate.py", "--fast"]'), False),
        ("evaluate.py", "print(2)\n", False),
    ],
)
def test_only_what_changes_a_score_changes_the_key(make_repo: MakeRepo, path: str, text: str, same: bool) -> None:
    root = make_repo(FILES)
    before = definition(root)
    edit(root, path, text)
    assert (definition(root).key == before.key) is same


def test_an_evaluate_script_that_is_not_committed_is_named(make_repo: MakeRepo) -> None:
    root = make_repo({"piloop.toml": CONFIG})
    (root / "evaluate.py").write_text("print(1)\n")
    with pytest.raises(HerdrError, match=r"evaluate\.py is not in commit") as caught:
        definition(root)
    assert "git add evaluate.py" in (caught.value.fix or "")


def test_what_each_file_holds_is_recorded_and_is_no_part_of_the_key(make_repo: MakeRepo) -> None:
    root = make_repo(FILES)
    (root / "evaluate.py").chmod(0o755)
    (root / ".polyresearch").mkdir()
    (root / ".polyresearch" / "link").symlink_to("../code.py")
    edit(root, "code.py", "x = 3\n")
    found = definition(root)
    said = hashlib.sha256(b"print(1)\n").hexdigest()
    assert found.contents["evaluate.py"] == f"program {said}"
    assert found.contents[".polyresearch/link"].startswith("link ")
    assert found.contents.keys() == found.files.keys()
    assert msgspec.structs.replace(found, contents={}).key == found.key


def test_a_definition_that_an_older_herdr_stored_is_completed(make_repo: MakeRepo) -> None:
    root = make_repo(FILES)
    found = definition(root)
    stored = msgspec.json.decode(msgspec.json.encode(found))
    del stored["contents"]
    text = msgspec.json.encode(stored).decode()
    row = Evaluator(id=1, project_id=1, key=found.key, commit_sha=head_commit(root), definition=text)
    old = read_definition(row)
    assert old.contents == {}
    assert complete(old, own(root), row.commit_sha).contents == found.contents


@pytest.mark.parametrize("act", ["edit", "delete", "link", "chmod", "parent"])
def test_a_difference_is_named(make_repo: MakeRepo, tmp_path: Path, act: str) -> None:
    root = make_repo({**FILES, "data/set.csv": "1\n"})
    recorded = {**definition(root).contents, "data/set.csv": "file " + hashlib.sha256(b"1\n").hexdigest()}
    compare(root, recorded)
    path = root / "data" / "set.csv"
    if act == "edit":
        path.write_text("2\n")
    elif act == "chmod":
        path.chmod(0o755)
    elif act == "parent":
        (root / "data").rename(tmp_path / "elsewhere")
        (root / "data").symlink_to(tmp_path / "elsewhere")
    else:
        path.unlink()
    if act == "link":
        (tmp_path / "same").write_text("1\n")
        path.symlink_to(tmp_path / "same")
    with pytest.raises(EvaluatorDiffersError, match=r"evaluator's data/set\.csv, as checked out"):
        compare(root, recorded)


def test_the_key_of_plain_links_is_what_older_herdrs_wrote(make_repo: MakeRepo) -> None:
    """A key of theirs that changed would have every candidate scored again."""
    root = make_repo({**FILES, "piloop.toml": 'link = ["data", "b"]' + CONFIG})
    found = definition(root)
    scored = {path: blob for path, blob in sorted(found.files.items()) if path == "evaluate.py"}
    content = [["python3", "evaluate.py"], ["b", "data"], [["score", "higher"]], scored]
    assert found.key == hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]
    edit(root, "piloop.toml", 'link = [{ path = "data" }, "b"]' + CONFIG)
    assert definition(root).key == found.key


@pytest.mark.parametrize(
    ("top", "end", "same"),
    [
        ('link = [{ path = "data" }]', "", True),
        ('link = [{ path = "data", write = true }]', "", False),
        ('link = ["data"]', '[setup]\ncommand = ["make"]', False),
    ],
)
def test_what_is_shared_and_the_set_up_are_part_of_the_key(
    make_repo: MakeRepo, top: str, end: str, same: bool
) -> None:
    root = make_repo({**FILES, "piloop.toml": 'link = ["data"]' + CONFIG})
    before = definition(root)
    edit(root, "piloop.toml", top + CONFIG + end)
    assert (definition(root).key == before.key) is same


def test_the_time_that_the_set_up_may_take_is_no_part_of_the_key(make_repo: MakeRepo) -> None:
    root = make_repo({**FILES, "piloop.toml": CONFIG + '[setup]\ncommand = ["make"]'})
    before = definition(root)
    edit(root, "piloop.toml", CONFIG + '[setup]\ncommand = ["make"]\ntimeout = 5')
    assert definition(root).key == before.key
