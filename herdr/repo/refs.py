"""Pins: refs that keep every candidate's commit from being pruned, by the home and the project that made them."""

from __future__ import annotations

from herdr.repo.own import OwnRepository


def pinned(own: OwnRepository, below: str = "") -> dict[str, str]:
    """The commit of every pin of the project, by the pin's name.

    Args:
        own: the project's repository of herdr's own.
        below: only pins whose name begins with this, such as `run-7/`.
    """
    listed = own.run("for-each-ref", "--format=%(objectname) %(refname)", f"{own.pins}{below}".rstrip("/"))
    pairs = (line.split(" ", 1) for line in listed.text.splitlines())
    return {name.removeprefix(own.pins): commit for commit, name in pairs}
