"""What an agent may do to its repository; the person's checkout and git folder are the same afterwards."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.checks import head_commit
from herdr.repo.isolated import Isolated, create
from herdr.repo.merge import merge_onto
from herdr.repo.overlay import overlay
from herdr.repo.run_folder import RunFolder

Git = Callable[..., str]
Commit = Callable[..., str]
Start = Callable[..., RunFolder]
State = Callable[[Path], dict[str, object]]

#: Settings of an agent in its run's config; each names a program that leaves a trace, or leads elsewhere.
SETTINGS: dict[str, dict[str, str]] = {
    "fsmonitor": {"core.fsmonitor": "RUN"},
    "hooks": {"core.hooksPath": "HOOKS"},
    "ssh": {"core.sshCommand": "RUN"},
    "pager and editor": {"core.pager": "RUN", "core.editor": "RUN", "sequence.editor": "RUN"},
    "include": {"include.path": "INCLUDED"},
    "signing": {"gpg.program": "RUN", "commit.gpgSign": "true", "log.showSignature": "true"},
    "merge driver": {"merge.x.driver": "RUN", "merge.default": "x"},
    "textconv": {"diff.x.textconv": "RUN", "diff.external": "RUN", "diff.x.command": "RUN"},
    "promisor": {"extensions.partialClone": "x", "remote.x.promisor": "true", "remote.x.uploadpack": "RUN",
                 "remote.x.url": "REPO", "core.repositoryFormatVersion": "1"},
    "trailers": {"trailer.x.command": "RUN", "trailer.x.key": "Piloop-Note", "trailer.separators": "#"},
    "another worktree": {"core.worktree": "REPO"},
    "filter": {"filter.x.smudge": "EVIL", "filter.x.clean": "EVIL", "filter.x.required": "true"},
    "filter process": {"filter.x.process": "RUN", "filter.x.required": "true"},
    "submodules": {"submodule.x.update": "!RUN", "submodule.recurse": "true"},
    "attributes elsewhere": {"core.attributesFile": "ATTRIBUTES", "filter.x.smudge": "EVIL"},
    "alternate refs": {"core.alternateRefsCommand": "RUN"},
    "credentials": {"credential.helper": "!RUN", "core.askPass": "RUN"},
    "bare": {"core.bare": "true"},
    "another format": {"core.repositoryFormatVersion": "9", "extensions.nonsense": "true"},
}  # fmt: skip


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that leaves a trace."""
    script = tmp_path / "program"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    script.chmod(0o755)
    return script


def whole_life(folder: RunFolder, since: int, commits: int) -> None:
    """All that herdr does with a run's folder: take over, recover, read, merge, check out for scoring, remove."""
    own = folder.own
    assert folder.collect(since) == []
    folder.recover("worker#1")
    made = folder.commits()
    assert len(made) == commits
    tip = made[-1].sha
    merged = merge_onto(own, onto=head_commit(own.root), commit=tip, message="m")
    assert isinstance(merged, str)
    place = Isolated(repository=own.path.parent / "score.git", worktree=own.path.parent / "score")
    create(place, own, commit=merged, branch=None)
    overlay(place, own, candidate=merged, commit=folder.base, paths=["evaluate.py"])
    assert (place.worktree / "evaluate.py").read_text() == "score\n"
    assert folder.removable() is None
    folder.remove()


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_settings_of_an_agent(
    repo: Path, start: Start, git: Git, commit: Commit, tmp_path: Path, program: Path, since: int,
    user_state: State, settings: dict[str, str],
) -> None:  # fmt: skip
    later = commit(repo, {"solve.py": "print(1)\n# later\n"})
    folder = start(1, base=git(repo, "rev-parse", f"{later}~1"))
    worktree, repository = folder.place.worktree, folder.place.repository
    commit(worktree, {"lib/data.txt": "e\n", ".gitattributes": "* filter=x merge=x diff=x\n"})
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("reference-transaction", "post-index-change", "pre-commit", "post-checkout"):
        (hooks / hook).symlink_to(program)
    (tmp_path / "included").write_text(f"[core]\n\tfsmonitor = {program}\n\thooksPath = {hooks}\n")
    (tmp_path / "attributes").write_text("* filter=x\n")
    values = {"RUN": str(program), "HOOKS": str(hooks), "INCLUDED": str(tmp_path / "included"), "REPO": str(repo),
              "EVIL": f"{program} | sed s/score/999/", "ATTRIBUTES": str(tmp_path / "attributes")}  # fmt: skip
    for key, value in settings.items():
        subprocess.run(
            [
                "git",
                "config",
                "-f",
                repository / "config",
                key,
                values.get(value, value.replace("RUN", str(program))),
            ],
            check=True,
        )
    (repository / "info" / "attributes").write_text("* filter=x merge=x diff=x\n")
    (worktree / "left").write_text("l")
    before = user_state(repo)
    whole_life(folder, since, commits=2)
    assert user_state(repo) == before
    assert not (tmp_path / "ran").exists()


def test_replace_objects(
    repo: Path, start: Start, git: Git, commit: Commit, since: int, user_state: State
) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    (worktree / "evil").write_text("999\n")
    evil = git(worktree, "hash-object", "-w", "evil")
    commit(worktree, {"a": "1"})
    git(worktree, "replace", git(worktree, "rev-parse", "main:evaluate.py"), evil)
    before = user_state(repo)
    whole_life(folder, since, commits=1)
    assert user_state(repo) == before
    # Without a wall an agent reaches the person's repository too: there they are not obeyed either.
    git(repo, "replace", git(repo, "rev-parse", "main:evaluate.py"), git(repo, "rev-parse", "main:solve.py"))
    second = start(2)
    assert (second.place.worktree / "evaluate.py").read_text() == "score\n"
    commit(second.place.worktree, {"b": "1"})
    whole_life(second, since, commits=1) if not (folder.own.path.parent / "score").exists() else None


def _forged_pack(worktree: Path, repository: Path, victim: str, content: bytes, git: Git) -> None:
    """A pack whose index says that other content has the victim's name."""
    (worktree / "evil").write_bytes(content)
    evil = git(worktree, "hash-object", "-w", "evil")
    (worktree / "evil").unlink()
    done = subprocess.run(["git", "pack-objects", str(repository / "objects/pack/pack")], cwd=worktree,
                          input=f"{evil}\n", text=True, capture_output=True, check=True)  # fmt: skip
    index = repository / f"objects/pack/pack-{done.stdout.strip()}.idx"
    data = bytearray(index.read_bytes())
    at = data.index(bytes.fromhex(evil))
    data[at : at + 20] = bytes.fromhex(victim)
    # The fan-out: how many names begin with a byte of at most so much.
    for byte in range(256):
        place = 8 + 4 * byte
        data[place : place + 4] = (1 if byte >= bytes.fromhex(victim)[0] else 0).to_bytes(4, "big")
    index.chmod(0o644)
    index.write_bytes(data)
    (repository / "objects" / evil[:2] / evil[2:]).unlink()


def test_a_forged_pack_that_names_the_evaluators_blob(
    repo: Path, start: Start, git: Git, commit: Commit, since: int, user_state: State
) -> None:
    folder = start(1)
    worktree, repository = folder.place.worktree, folder.place.repository
    commit(worktree, {"a": "1"})
    victim = git(worktree, "rev-parse", "main:evaluate.py")
    _forged_pack(worktree, repository, victim, b"999\n", git)
    # A clone without the person's objects shows that the forgery would work on who reads by names alone.
    alternates = (repository / "objects/info/alternates").read_text()
    (repository / "objects/info/alternates").write_text("")
    assert git(worktree, "cat-file", "blob", victim) == "999"
    (repository / "objects/info/alternates").write_text(alternates)
    before = user_state(repo)
    whole_life(folder, since, commits=1)
    assert user_state(repo) == before
    assert git(repo, "cat-file", "blob", victim) == "score"


def test_a_forged_blob_of_ones_own(repo: Path, start: Start, git: Git, commit: Commit, since: int) -> None:
    folder = start(1)
    worktree, repository = folder.place.worktree, folder.place.repository
    one = commit(worktree, {"a": "honest"})
    victim = git(worktree, "rev-parse", "HEAD:a")
    _forged_pack(worktree, repository, victim, b"forged", git)
    (repository / "objects" / victim[:2] / victim[2:]).unlink()
    assert git(worktree, "cat-file", "blob", victim) == "forged"
    (problem,) = folder.collect(since)
    assert one[:12] in problem
    assert folder.commits() == []


def test_an_alternate_of_the_runs_that_the_agent_writes(
    repo: Path, start: Start, git: Git, commit: Commit, since: int, make_repo: Callable[..., Path]
) -> None:
    elsewhere = make_repo({"x": "1"}, name="elsewhere")
    folder = start(1)
    worktree, repository = folder.place.worktree, folder.place.repository
    with (repository / "objects/info/alternates").open("a") as file:
        file.write(f"{elsewhere}/.git/objects\n/nonexistent\n")
    commit(elsewhere, {"big": "b"})
    borrowed = git(elsewhere, "rev-parse", "HEAD:big")
    git(worktree, "update-index", "--add", "--cacheinfo", f"100644,{borrowed},big")
    git(worktree, "commit", "-q", "-m", "borrowed")
    # What is not in the run's own repository is not there.
    (problem,) = folder.collect(since)
    assert head_commit(worktree)[:12] in problem
    assert borrowed[:12] in problem or "unable to read" in problem or "missing" in problem, problem


@pytest.mark.parametrize("how", ["ends in the middle", "a fifo in a pack's place", "not in the folder"])
def test_a_run_that_is_no_repository_any_more(
    repo: Path, start: Start, commit: Commit, since: int, user_state: State, how: str
) -> None:
    folder = start(1)
    one = commit(folder.place.worktree, {"a": "1"})
    repository = folder.place.repository
    if how == "ends in the middle":
        subprocess.run(["rm", "-rf", repository / "config", repository / "HEAD", repository / "info"], check=True)
    elif how == "not in the folder":
        subprocess.run(["rm", "-rf", folder.place.worktree], check=True)
    else:
        for name in (f"pack-{'1' * 40}.pack", f"pack-{'1' * 40}.idx"):
            os.mkfifo(repository / "objects/pack" / name)
    before = user_state(repo)
    assert folder.collect(since) == []
    assert [c.sha for c in folder.commits()] == [one]
    assert user_state(repo) == before


def test_the_persons_config_is_obeyed_as_it_was_at_up(
    repo: Path, start: Start, git: Git, commit: Commit, tmp_path: Path, program: Path, since: int
) -> None:
    from herdr.repo.own import refresh

    git(repo, "config", "filter.known.smudge", str(program))
    folder = start(1)
    commit(folder.place.worktree, {"a": "1", ".gitattributes": "a filter=x\n"})
    git(repo, "config", "filter.x.smudge", str(program))
    git(repo, "config", "core.fsmonitor", str(program))
    (repo / ".git/info/attributes").write_text("* filter=x\n")
    config = Path(os.environ["HOME"]) / ".config/git"
    config.mkdir(parents=True)
    (config / "attributes").write_text("* filter=x\n*.py filter=known\n")
    whole_life(folder, since, commits=1)
    assert not (tmp_path / "ran").exists()
    assert refresh(folder.own) == [
        "filter.x.smudge is new",
        "git's attributes (info/attributes)",
        "git's attributes (core.attributesFile)",
    ]
    assert refresh(folder.own) == []
    start(2)
    assert (tmp_path / "ran").exists()


def test_a_name_of_a_submodule_that_is_a_setting(
    repo: Path, start: Start, git: Git, commit: Commit, tmp_path: Path, program: Path, since: int
) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    name = f"x.update=!{program} #"
    (worktree / ".gitmodules").write_text(
        "".join(
            f'[submodule "{one}"]\n\tpath = {path}\n\turl = {repo}\n' for one, path in ((name, "a"), ("x", "b"))
        )
    )
    git(worktree, "add", ".gitmodules")
    for path in "ab":
        git(worktree, "update-index", "--add", "--cacheinfo", f"160000,{head_commit(repo)},{path}")
    git(worktree, "commit", "-q", "-m", "modules")
    tip = head_commit(worktree)
    folder.collect(since)
    place = Isolated(repository=folder.own.path.parent / "score.git", worktree=folder.own.path.parent / "score")
    if folder.commits():
        create(place, folder.own, commit=tip, branch=None)
    assert not (tmp_path / "ran").exists()
