"""Puts results.tsv on the default branch of origin: that file alone, on top of whatever is there by now."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from herdr.api import HerdrError
from herdr_polyresearch.commands.checkout import FETCH, REMOTE, Checkout
from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.commands.project import warn
from herdr_polyresearch.git import Git
from herdr_polyresearch.protocol.ledger import FILE

MESSAGE = "Update results.tsv via polyresearch sync."
#: How many times we start anew because somebody pushed to the remote meanwhile.
TRIES = 8

Compose = Callable[[str | None], str | None]
"""From results.tsv as it stands to what it should be; None when it is right."""


def check_writable(checkout: Checkout, default: str) -> None:
    """See that a new results.tsv can be put on the default branch, here and at origin.

    Args:
        checkout: the repository.
        default: its default branch.

    Raises:
        HerdrError: there is no remote, or commits or changes here are in the way.
    """
    if checkout.origin is None:
        raise HerdrError(f"there is no remote {REMOTE} to push {FILE} to", fix=f"git remote add {REMOTE} URL")
    if Git(checkout.main).ask("status", "--porcelain", "--", FILE):
        raise GuardError(
            f"{FILE} has changes in {checkout.main} that nobody committed, and only sync writes it",
            fix=f"git -C {checkout.main} checkout -- {FILE}, or rm {FILE} where it is new",
        )
    _base(checkout, default)


def publish(checkout: Checkout, default: str, compose: Compose, login: str) -> str | None:
    """Commit and push results.tsv; gives the commit, or None when it was right.

    Args:
        checkout: the repository.
        default: its default branch.
        compose: called again whenever the remote moved.
        login: who commits, where git knows no name.

    Raises:
        HerdrError: the remote refuses, or moves all the time.
    """
    for _ in range(TRIES):
        base = _base(checkout, default)
        before = checkout.tip(default)
        text = compose(checkout.file(base, FILE))
        if text is None and base == before:
            _follow(checkout, default, base)
            return None
        # Our own branch may hold all the rows already: then they only have to be pushed.
        commit = base if text is None else _commit(checkout, base, text, login)
        done = checkout.git.run("push", "-q", REMOTE, f"{commit}:refs/heads/{default}")
        complaint = checkout.fetch(default)
        remote = checkout.commit(f"refs/remotes/{REMOTE}/{default}")
        if done.code == 0 or (remote and checkout.is_ancestor(commit, remote)):
            _follow(checkout, default, commit)
            return commit
        if complaint or remote == before:
            raise HerdrError(
                f"{FILE} could not be pushed to {default}: {complaint or done.err.strip()}",
                fix=f"see whether you may push: git push --dry-run {REMOTE} {default}",
            )
    raise HerdrError(f"{default} moved {TRIES} times while {FILE} was pushed", fix="polyresearch sync, once more")


def _base(checkout: Checkout, default: str) -> str:
    checkout.fetch(default)
    return shared_base(checkout, default)


def shared_base(checkout: Checkout, default: str) -> str:
    """The commit to build on: the remote's, or ours where it goes on from there with nothing but results.tsv.

    Args:
        checkout: the repository.
        default: its default branch.

    Raises:
        HerdrError: the remote has none, or ours has commits that matter and that nobody else has.
    """
    remote, local = checkout.commit(f"refs/remotes/{REMOTE}/{default}"), checkout.commit(f"refs/heads/{default}")
    if remote is None:
        raise HerdrError(f"{REMOTE} has no branch {default}", fix=f"git push {REMOTE} {default}")
    if local is None or checkout.is_ancestor(local, remote):
        return remote
    only = checkout.git.do("diff", "--name-only", f"{remote}...{local}").splitlines()
    if checkout.is_ancestor(remote, local) and set(only) <= {FILE}:
        return local
    raise GuardError(
        f"{default} has commits here that {REMOTE} lacks, in {', '.join(only[:5])}",
        fix=f"git -C {checkout.main} pull --rebase, then git push",
    )


def _commit(checkout: Checkout, base: str, text: str, login: str) -> str:
    """Make a commit on top of `base` that changes results.tsv alone, whatever is in anybody's index."""
    git = checkout.git
    blob = git.do("hash-object", "-w", "--stdin", stdin=text)
    with tempfile.TemporaryDirectory() as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        git.do("read-tree", base, env=env)
        git.do("update-index", "--add", "--cacheinfo", f"100644,{blob},{FILE}", env=env)
        tree = git.do("write-tree", env=env)
    known = git.holds("var", "GIT_COMMITTER_IDENT") and git.ask("config", "user.email")
    who = {} if known else _identity(login)
    return git.do("commit-tree", tree, "-p", base, "-m", MESSAGE, env=who)


def _identity(login: str) -> dict[str, str]:
    import os

    wanted = {f"GIT_{role}_NAME": login for role in ("AUTHOR", "COMMITTER")}
    wanted |= {f"GIT_{role}_EMAIL": f"{login}@localhost" for role in ("AUTHOR", "COMMITTER")}
    return {name: value for name, value in wanted.items() if name not in os.environ}


def _follow(checkout: Checkout, default: str, commit: str) -> None:
    """Bring the default branch here to where the remote's is."""
    main = Git(checkout.main)
    if main.ask("symbolic-ref", "--short", "-q", "HEAD") == default:
        done = main.run("merge", "-q", "--ff-only", commit)
    else:
        done = main.run("fetch", *FETCH, ".", f"{commit}:refs/heads/{default}")
    if done.code:
        warn(f"{default} in {checkout.main} did not follow: {done.err.strip().splitlines()[-1]}")
