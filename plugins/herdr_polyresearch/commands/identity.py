"""Node files, ids of nodes, and which nodes of this clone are the lead's."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import Any

import tomli

from herdr.api import HerdrError
from herdr_polyresearch.protocol.node import NODE_ENV, NODE_FILE, node_id

LEADS = "polyresearch-lead-nodes"
"""In the git directory: the ids of the nodes that acted as the lead here, one a line."""


def read_node_file(folder: Path) -> dict[str, Any] | None:
    """Read the node file of a repository; None when there is none.

    Raises:
        HerdrError: it cannot be read, and the environment does not name a node either.
    """
    path = folder / NODE_FILE
    try:
        return tomli.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomli.TOMLDecodeError) as error:
        if os.environ.get(NODE_ENV, "").strip():
            return None
        raise HerdrError(
            f"{path} cannot be read: {error}", fix=f"correct it, or delete it and run polyresearch init: {path}"
        ) from error


def new_node_id(login: str, slot: str | None = None) -> str:
    """Make an id for one session, or for one worker slot of it: `login/<machine>-<4 hex>[-<slot>]`.

    Args:
        login: who works.
        slot: which of several workers, when there are several.
    """
    machine = (os.environ.get("HOSTNAME") or socket.gethostname()).split(".")[0] or "node"
    return node_id(login, "-".join(filter(None, (machine, secrets.token_hex(2), slot))))


def lead_nodes(common: Path) -> list[str]:
    """The nodes of this clone that are the lead's."""
    try:
        return (common / LEADS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


def is_lead_node(common: Path, node: str) -> bool:
    """Whether a node acted as the lead here, or was made the lead's.

    Args:
        common: the git directory that all worktrees share.
        node: its id.
    """
    return node in lead_nodes(common)


def set_lead_node(common: Path, node: str, *, lead: bool) -> None:
    """Remember, or forget, that a node is the lead's.

    Args:
        common: the git directory that all worktrees share.
        node: its id.
        lead: whether it is the lead's from now on.
    """
    known = lead_nodes(common)
    if lead != (node in known):
        wanted = [*known, node] if lead else [one for one in known if one != node]
        (common / LEADS).write_text("".join(f"{one}\n" for one in wanted), encoding="utf-8")
