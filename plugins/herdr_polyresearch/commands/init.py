"""`polyresearch init`: this machine as a node, and with `--bootstrap` a repository as a project."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click
import msgspec

from herdr.api import HerdrError
from herdr_polyresearch.commands.identity import is_lead_node, new_node_id, read_node_file, set_lead_node
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.project import PROGRAM_FILE, Project, warn
from herdr_polyresearch.protocol.node import NODE_FILE, Node, node_id, read_node, show_node
from herdr_polyresearch.protocol.program import UNSET

BOOTSTRAP = ("POLYRESEARCH.md", PROGRAM_FILE, "PREPARE.md")


@command()
@click.option("--node", "machine", metavar="ID", help="The machine's part of the node id; made up when absent.")
@click.option("--capacity", type=click.IntRange(1, 100), help="Percent of this machine that may be used.")
@click.option("--resource-policy", metavar="TEXT", help="What else this node has to respect, in words.")
@click.option("--role", type=click.Choice(["contributor", "lead"]), help="What this node does.")
@click.option("--bootstrap", is_flag=True, help="Write POLYRESEARCH.md, PROGRAM.md and PREPARE.md.")
def init(
    machine: str | None, capacity: int | None, resource_policy: str | None, role: str | None, bootstrap: bool
) -> None:
    """Name this machine as a node of the project, or change what it may do.

    What is not given stays as it is. The node file is .polyresearch-node.toml in the main worktree, and git is
    told to ignore it.
    """
    project = Project()
    known = read_node_file(project.checkout.main)
    node = _node(project, known, machine, capacity, resource_policy)
    repo = project.forge.repo()
    if not repo.has_issues:
        warn(f"issues are turned off on {repo.full_name}, as forks have it: gh repo edit --enable-issues")
    files = _bootstrap(project) if bootstrap else []
    if not project.dry_run:
        project.checkout.exclude()
        (project.checkout.main / NODE_FILE).write_text(show_node(node, known), encoding="utf-8")
        if role:
            set_lead_node(project.checkout.common, node.node_id, lead=role == "lead")
    lead = role == "lead" if role else is_lead_node(project.checkout.common, node.node_id)
    done = "Would initialize" if project.dry_run else "Initialized"
    as_whom = f"as node `{node.node_id}` (GitHub: {project.login})"
    said = [f"{done} polyresearch for {repo.full_name} {as_whom}. Capacity: {node.capacity}% of total machine."]
    said += [f"  {'would write' if project.dry_run else 'wrote'} {name}" for name in files]
    if not (project.checkout.main / PROGRAM_FILE).exists():
        said.append("NEXT: polyresearch init --bootstrap, as there is no PROGRAM.md")
    elif files:
        said.append(f"NEXT: fill in {', '.join(files)}, commit, push")
    data = {
        "repo": repo.full_name,
        "node": node.node_id,
        "github_login": project.login,
        "capacity": node.capacity,
        "resource_policy": node.policy,
        "role": "lead" if lead else "contributor",
        "files": files,
    }
    tell(project, data, "\n".join(said))


def _node(
    project: Project,
    known: dict[str, object] | None,
    machine: str | None,
    capacity: int | None,
    resource_policy: str | None,
) -> Node:
    """The node as it is from now on; an id that fits the login is kept."""
    old = (known or {}).get("node_id")
    if machine is not None:
        name = node_id(project.login, machine)
    elif isinstance(old, str) and old.startswith(f"{project.login}/"):
        name = old
    else:
        name = new_node_id(project.login)
    node = read_node({**(known or {}), "node_id": name}, None)
    changed: dict[str, object] = {}
    if capacity is not None:
        changed["capacity"] = capacity
    if resource_policy is not None:
        changed["resource_policy"] = " ".join(resource_policy.split()) or None
    return msgspec.structs.replace(node, **changed)


def _bootstrap(project: Project) -> list[str]:
    """Write the files that a project starts with, each only where there is none; gives their names."""
    missing = [name for name in BOOTSTRAP if not (project.checkout.main / name).exists()]
    for name in missing:
        text = resources.files("herdr_polyresearch").joinpath("templates", name).read_bytes()
        if name == PROGRAM_FILE:
            line = "lead_github_login: "
            text = text.replace(f"{line}{UNSET}".encode(), f"{line}{project.login}".encode())
        if not project.dry_run:
            _write(project.checkout.main / name, text)
    return missing


def _write(path: Path, text: bytes) -> None:
    try:
        path.write_bytes(text)
    except OSError as error:
        raise HerdrError(f"{path} cannot be written: {error.strerror}", fix="make the folder writable") from error
