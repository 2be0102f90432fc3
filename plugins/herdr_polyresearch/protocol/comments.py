"""Structured comments: what a body says, and the body that says it.

A body is a visible line for people and one HTML block for programs. Only the first block of a body counts, and a
slash command at the start of the body wins over it.
"""

from __future__ import annotations

import re

from herdr_polyresearch.protocol.blocks import (
    AdminNoteBlock,
    Annotation,
    AnnotationBlock,
    ApprovalBlock,
    AttemptBlock,
    Block,
    ClaimBlock,
    DecisionBlock,
    PolicyPassBlock,
    ReleaseBlock,
    ReviewBlock,
    ReviewClaimBlock,
)
from herdr_polyresearch.protocol.clean import clean_text, clean_value
from herdr_polyresearch.protocol.fields import FIELDS, clean, read_fields, show_fields
from herdr_polyresearch.protocol.scalars import SPACES, lines, show_metric, trim
from herdr_polyresearch.protocol.slash import Slash, read_slash

__all__ = ["Annotation", "Block", "Slash", "clean_block", "parse", "render"]

TYPES: dict[str, type[Block]] = {block.TYPE: block for block in FIELDS}

_HEADER = re.compile(f"<!--[{SPACES}]*polyresearch:([a-z-]+)([{SPACES}]+)")


def parse(body: str) -> Block | Slash | None:
    """Return the event that a comment's body is; None when it is none.

    Args:
        body: the whole text of the comment, from anybody.

    Returns:
        A block, a slash command, or None also for a block of an unknown type or with a field that is missing or
        cannot be read: such comments are no events for any reader, and no findings.
    """
    slash = read_slash(body)
    if slash is not None:
        return slash
    found = _find(body)
    if found is None:
        return None
    name, start, payload = found
    block = TYPES.get(name)
    if block is None:
        return None
    values = read_fields(block, _pairs(payload))
    if values is None:
        return None
    if block is AnnotationBlock:
        values["text"] = trim(body[:start].partition("\n\n")[2])
    return block(**values)


def render(block: Block) -> str:
    """Return the body that says `block` to people and to every reader, with its texts cleaned."""
    block = clean_block(block)
    parts = [_visible(block)]
    if isinstance(block, AnnotationBlock) and block.text:
        parts.append(block.text)
    if isinstance(block, AttemptBlock) and block.annotations:
        parts.append("\n".join(["Annotations:", *map(_bullet, block.annotations)]))
    parts.append("\n".join([f"<!-- polyresearch:{block.TYPE}", *show_fields(block), "-->"]))
    return "\n\n".join(parts)


def clean_block(block: Block) -> Block:
    """Return `block` as it reads once it was rendered."""
    cleaned: Block = clean(block)
    if isinstance(cleaned, AnnotationBlock):
        return AnnotationBlock(thesis=cleaned.thesis, node=cleaned.node, text=clean_text(cleaned.text))
    return cleaned


def _find(body: str) -> tuple[str, int, str] | None:
    """Find the first block: its type, where it starts, and what it holds."""
    for header in _HEADER.finditer(body):
        if "\n" not in header[2]:
            continue
        end = body.find("-->", header.end())
        line = body[body.rfind("\n", 0, header.start()) + 1 : header.start()]
        # A quoted block was posted by somebody else; no block after it counts either.
        if end < 0 or line.lstrip(SPACES).startswith(">"):
            return None
        return header[1], header.start(), body[header.end() : end]
    return None


def _pairs(payload: str) -> dict[str, str]:
    pairs = {}
    for line in lines(payload):
        key, colon, value = line.partition(":")
        if colon:
            pairs[key.strip(SPACES)] = value.strip(SPACES)
    return pairs


def _visible(block: Block) -> str:
    match block:
        case ApprovalBlock():
            return f"Polyresearch approval: thesis #{block.thesis}."
        case ClaimBlock():
            return f"Polyresearch claim: thesis #{block.thesis} by node `{block.node}`."
        case ReleaseBlock():
            return (
                f"Polyresearch release: thesis #{block.thesis} by node `{block.node}` (`reason: {block.reason}`)."
            )
        case AttemptBlock():
            return (
                f"Polyresearch attempt: thesis #{block.thesis}, branch `{block.branch}`, "
                f"metric `{show_metric(block.metric)}`, observation `{block.observation}`."
            )
        case AnnotationBlock():
            return f"Polyresearch annotation: thesis #{block.thesis} by node `{block.node}`."
        case PolicyPassBlock():
            return f"Polyresearch policy pass: thesis #{block.thesis}, candidate `{block.candidate_sha}`."
        case ReviewClaimBlock():
            return f"Polyresearch review claim: thesis #{block.thesis} by node `{block.node}`."
        case ReviewBlock():
            return (
                f"Polyresearch review: thesis #{block.thesis} by node `{block.node}`, "
                f"candidate `{show_metric(block.metric)}`, baseline `{show_metric(block.baseline_metric)}`, "
                f"observation `{block.observation}`."
            )
        case DecisionBlock():
            return (
                f"Polyresearch decision: thesis #{block.thesis}, candidate `{block.candidate_sha}`, "
                f"outcome `{block.outcome}`."
            )
        case AdminNoteBlock():
            return f"Polyresearch admin repair: {block.note}."


def _bullet(annotation: Annotation) -> str:
    task = f" task `{clean_value(annotation.task_id)}`" if annotation.task_id is not None else ""
    return f"- [{clean_value(annotation.category)}]{task}: {clean_value(annotation.text.replace(chr(10), ' '))}"
