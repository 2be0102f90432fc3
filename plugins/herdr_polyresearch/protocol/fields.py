"""How each field of a structured comment is read, cleaned and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

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
from herdr_polyresearch.protocol.clean import clean_value
from herdr_polyresearch.protocol.scalars import (
    fits_metric,
    read_float,
    read_integer,
    read_time,
    show_exactly,
    show_metric,
    show_time,
    trim,
)
from herdr_polyresearch.protocol.words import OBSERVATIONS, OUTCOMES, REASONS

NONE = "none"
"""What an absent value is written as."""

_annotations = msgspec.json.Decoder(tuple[Annotation, ...])


class Kind(NamedTuple):
    """One kind of value: `read` returns None for a text that is none, `show` gets a cleaned value."""

    read: Callable[[str], Any]
    show: Callable[[Any], str] = str
    clean: Callable[[Any], Any] = lambda value: value


class Field(NamedTuple):
    """A field of a block. `absent` says what it is when it is missing or `none`; without it, it must be there."""

    name: str
    kind: Kind
    absent: Callable[[], Any] | None = None
    required: bool = False
    """Whether it must be there although it may be `none`."""
    always: bool = False
    """Whether `none` is written for an absent value, instead of leaving the field out."""
    extra: bool = False
    """Whether it is no field of the protocol's: an unreadable value is then the same as none."""


def _read_annotations(text: str) -> tuple[Annotation, ...] | None:
    try:
        found = _annotations.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return found if found and all(trim(a.category) and trim(a.text) for a in found) else None


def _show_annotations(annotations: Sequence[Annotation]) -> str:
    text = msgspec.json.encode(annotations).decode()
    # Inside JSON the markers can be spelled so that every reader gets the text back unchanged.
    return text.replace("-->", "--\\u003e").replace("<!--", "\\u003c!--")


def _clean_annotations(annotations: Sequence[Annotation]) -> tuple[Annotation, ...]:
    sound = (
        Annotation(
            category=_sound(a.category),
            task_id=None if a.task_id is None else _sound(a.task_id),
            text=_sound(a.text),
        )
        for a in annotations
    )
    return tuple(a for a in sound if trim(a.category) and trim(a.text))


def _sound(text: str) -> str:
    return text.encode("utf-8", "ignore").decode("utf-8")


def _read_runs(text: str) -> tuple[float, ...] | None:
    values = [read_float(trim(part)) for part in text.split(",")]
    return tuple(v for v in values if v is not None) if None not in values else None


def _optional(text: str | None) -> str | None:
    cleaned = clean_value(text) if text is not None else None
    return None if cleaned in (None, NONE) else cleaned


def _commit(text: str | None) -> str | None:
    return _optional(text) or None


def _word(words: Sequence[str]) -> Kind:
    return Kind(lambda text: text if text in words else None)


def _none() -> None:
    return None


TEXT = Kind(str, str, clean_value)
INTEGER = Kind(read_integer)
METRIC = Kind(read_float, show_metric)
EXACT = Kind(read_float, show_exactly)
TIME = Kind(read_time, show_time, lambda text: read_time(text) or text)
OBSERVATION = _word(OBSERVATIONS)
ANNOTATIONS = Kind(_read_annotations, _show_annotations, _clean_annotations)

THESIS = Field("thesis", INTEGER)
NODE = Field("node", TEXT)
SHA = Field("candidate_sha", TEXT)

FIELDS: dict[type[Block], tuple[Field, ...]] = {
    ApprovalBlock: (THESIS,),
    ClaimBlock: (THESIS, NODE),
    ReleaseBlock: (THESIS, NODE, Field("reason", _word(REASONS))),
    AttemptBlock: (
        THESIS,
        Field("branch", TEXT),
        Field("metric", METRIC),
        Field("baseline_metric", METRIC, _none, always=True),
        Field("observation", OBSERVATION),
        Field("summary", TEXT),
        Field("annotations", ANNOTATIONS, tuple),
        Field("metric_exact", EXACT, _none, extra=True),
        Field("baseline_metric_exact", EXACT, _none, extra=True),
        Field(
            "runs", Kind(_read_runs, lambda runs: ", ".join(map(show_exactly, runs)), tuple), tuple, extra=True
        ),
        Field("commit", Kind(lambda text: text or None, str, _commit), _none, extra=True),
    ),
    AnnotationBlock: (THESIS, NODE),
    PolicyPassBlock: (THESIS, SHA),
    ReviewClaimBlock: (THESIS, NODE),
    ReviewBlock: (
        THESIS,
        SHA,
        Field("base_sha", TEXT),
        NODE,
        Field("metric", METRIC),
        Field("baseline_metric", METRIC),
        Field("observation", OBSERVATION),
        Field("env_sha", Kind(str, str, _optional), _none, required=True, always=True),
        Field("timestamp", TIME),
        Field("metric_exact", EXACT, _none, extra=True),
        Field("baseline_metric_exact", EXACT, _none, extra=True),
    ),
    DecisionBlock: (
        THESIS,
        SHA,
        Field("outcome", _word(OUTCOMES)),
        Field("confirmations", INTEGER),
        Field("pr", INTEGER, _none, extra=True),
    ),
    AdminNoteBlock: (
        Field("action", TEXT),
        Field("target", TEXT),
        Field("note", TEXT),
        Field("related_comment_id", INTEGER, _none),
    ),
}

EXACT_OF = {"metric_exact": "metric", "baseline_metric_exact": "baseline_metric"}
"""The fields that hold all digits of a value whose own field has only four decimals."""


def read_fields(block: type[Block], values: dict[str, str]) -> dict[str, Any] | None:
    """Read the fields of one block; None when one that must be there is missing or unreadable.

    Args:
        block: the struct that the fields are for.
        values: the raw values by key.
    """
    read: dict[str, Any] = {}
    for field in FIELDS[block]:
        text = values.get(field.name)
        value = None if text is None or (field.absent is not None and text == NONE) else field.kind.read(text)
        if value is None:
            if field.absent is None or not (field.extra or text in ((NONE,) if field.required else (None, NONE))):
                return None
            value = field.absent()
        read[field.name] = value
    for exact, name in EXACT_OF.items():
        value = read.pop(exact, None)
        # Only where both fields agree: a reader that knows just one of them must come to the same result.
        if value is not None and read[name] is not None and show_metric(value) == show_metric(read[name]):
            read[name] = value
            read["exact"] = True
    return read


def clean(block: Block) -> Block:
    """Return a block with the values of its fields as they read once they were written."""
    values = {f.name: getattr(block, f.name) for f in FIELDS[type(block)] if f.name not in EXACT_OF}
    cleaned = {f.name: f.kind.clean(values[f.name]) for f in FIELDS[type(block)] if f.name in values}
    if isinstance(block, (AttemptBlock, ReviewBlock)):
        metrics = (block.metric, block.baseline_metric)
        cleaned["exact"] = not all(value is None or fits_metric(value) for value in metrics)
    return msgspec.structs.replace(block, **cleaned)


def show_fields(block: Block) -> list[str]:
    """Write the `key: value` lines of a cleaned block."""
    shown = []
    for field in FIELDS[type(block)]:
        if field.name in EXACT_OF:
            value = getattr(block, EXACT_OF[field.name])
            value = None if value is None or fits_metric(value) else value
        else:
            value = getattr(block, field.name)
        if field.absent is not None and value == field.absent():
            if field.always:
                shown.append(f"{field.name}: {NONE}")
            continue
        shown.append(f"{field.name}: {field.kind.show(value)}")
    return shown
