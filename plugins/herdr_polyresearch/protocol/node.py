"""Nodes: who this machine or worker is, and how much it may do."""

from __future__ import annotations

import msgspec
import tomli_w

from herdr.api import HerdrError
from herdr_polyresearch.protocol.clean import clean_value
from herdr_polyresearch.protocol.scalars import trim

NODE_FILE = ".polyresearch-node.toml"
NODE_ENV = "POLYRESEARCH_NODE_ID"

DEFAULT_POLICY = (
    "Maximize throughput. Never leave claimable theses idle while experiments could be running. Run evaluations "
    "in parallel when the evaluator supports it. Interleave duties with long-running evaluations."
)
"""The policy that applies when a node has none of its own, in the protocol's words."""


class NodeError(HerdrError):
    """There is no usable node id."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """What the node file says; zeros and missing values are already replaced by the defaults."""

    node_id: str
    resource_policy: str | None = None
    capacity: int = 75
    """Percent of the machine."""
    api_budget: int = 5000
    """Requests per hour."""
    request_delay_ms: int = 100

    @property
    def policy(self) -> str:
        """The resource policy that applies."""
        return self.resource_policy or DEFAULT_POLICY


def read_node(values: dict[str, object] | None, environ_id: str | None) -> Node:
    """Return the node that a command acts as.

    Args:
        values: the parsed node file; None when there is none, or when it cannot be read.
        environ_id: `POLYRESEARCH_NODE_ID`, which wins over the file's id.

    Raises:
        NodeError: neither names a node, or a value of the file has the wrong type.
    """
    values = values or {}
    node_id = trim(environ_id or "") or values.get("node_id")
    if not isinstance(node_id, str) or not trim(node_id):
        missing = "has an empty node_id" if isinstance(node_id, str) else "names no node"
        raise NodeError(
            f"{NODE_FILE} {missing}, and {NODE_ENV} is not set",
            fix="polyresearch init, or export POLYRESEARCH_NODE_ID=<login>/<machine>",
        )
    policy = values.get("resource_policy")
    if policy is not None and not isinstance(policy, str):
        raise NodeError(f"resource_policy in {NODE_FILE} is not text", fix=f"put it in quotes in {NODE_FILE}")
    return Node(
        node_id=clean_value(node_id),
        resource_policy=trim(policy or "") or None,
        capacity=min(_number(values, "capacity", 75), 100),
        api_budget=_number(values, "api_budget", 5000),
        request_delay_ms=_number(values, "request_delay_ms", 100),
    )


def show_node(node: Node, others: dict[str, object] | None = None) -> str:
    """Write the node file, keys in the order that the existing tool has, and with the keys it does not know kept.

    Args:
        node: what to write.
        others: the values of the file so far; scalars under keys that are not a node's stay as they are.
    """
    written: dict[str, object] = {"node_id": node.node_id}
    if node.resource_policy:
        written["resource_policy"] = node.resource_policy
    written |= {
        "capacity": node.capacity,
        "api_budget": node.api_budget,
        "request_delay_ms": node.request_delay_ms,
    }
    kept = {
        k: v
        for k, v in (others or {}).items()
        if k not in Node.__struct_fields__ and isinstance(v, (str, int, float))
    }
    return tomli_w.dumps(written | kept)


def node_id(login: str, machine: str) -> str:
    """Return `login/machine`, with a machine name that cannot add a part of its own.

    Args:
        login: who works.
        machine: what the machine, or the person, calls it.

    Raises:
        NodeError: nothing is left of the machine's name.
    """
    name = "-".join(clean_value(machine).replace("/", " ").split())
    if not name:
        raise NodeError("the name of a node is empty", fix="polyresearch init --node <machine>")
    return f"{login}/{name}"


def _number(values: dict[str, object], key: str, default: int) -> int:
    value = values.get(key)
    if value is None or value == 0:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise NodeError(
            f"{key} in {NODE_FILE} is not a whole number from 0 up", fix=f"correct {key} in {NODE_FILE}"
        )
    return value
