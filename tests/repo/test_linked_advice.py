"""What init and doctor say of linked paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from herdr.repo import linked, linked_advice
from herdr.repo.linked_advice import Advice, advice


def of(repo: Path, *link: str, shared: tuple[str, ...] = ()) -> list[Advice]:
    return advice(repo, [repo], link=link, shared=shared)


def environment(repo: Path) -> Path:
    packages = repo / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (repo / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    (packages / "virtualenv.pth").write_text(f"{repo}/.venv/lib/other\n")
    return packages


def test_a_small_folder_is_copied_and_nothing_has_to_be_done(repo: Path) -> None:
    [one] = of(repo, "lib")
    assert one.message.startswith("lib: 0.0 MB are copied into each worktree")
    assert (one.fix, one.big) == ("", False)


def test_a_copy_that_takes_its_time_is_said(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked_advice, "WORTH_SAYING", 1)
    assert of(repo, "lib")[0].big


def test_what_is_too_big_is_named_as_writable(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked, "COPY_LIMIT", 1)
    [one] = of(repo, "lib")
    assert "agents get a link to yours and can write to it" in one.message
    assert '{ path = "lib", write = true }' in one.fix


def test_an_environment_and_what_to_do_about_it(repo: Path) -> None:
    environment(repo)
    [one] = of(repo, ".venv")
    assert ".venv is a virtual environment, of which no copy can be made" in one.message
    assert "[setup] command" in one.fix


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("proj.pth", "{root}/src\n"),
        ("__editable__.proj-1.pth", "{root}\n"),
        ("__editable___proj_1_finder.py", "MAPPING = {{'proj': '{root}/proj'}}\n"),
        ("proj-1.dist-info/direct_url.json", '{{"url": "file://{root}", "dir_info": {{"editable": true}}}}'),
        ("proj.egg-link", "{root}\n."),
    ],
)
def test_an_environment_that_scores_the_checkout(repo: Path, name: str, text: str) -> None:
    file = environment(repo) / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text.format(root=repo))
    first, second = of(repo, ".venv")
    assert "virtual environment" in first.message
    assert f".venv has this repo installed from its own folder ({name})" in second.message
    assert "with the code of your checkout" in second.message


def test_what_is_shared_and_what_is_missing(repo: Path) -> None:
    (repo / "cache").mkdir()
    shared, missing = of(repo, "cache", "nowhere", shared=("cache",))
    assert (shared.message, shared.fix) == ("cache is shared: agents and evaluators may write to it", "")
    assert missing.message == "link path nowhere does not exist"


def test_a_symlink_that_leads_out(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("r")
    (repo / "lib/raw").symlink_to(tmp_path / "raw")
    assert f"symlinks in lib lead to {tmp_path / 'raw'}" in of(repo, "lib")[1].message
