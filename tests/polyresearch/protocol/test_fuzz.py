"""Bodies and blocks at random. POLYRESEARCH_FUZZ=100000 makes it a long run."""

from __future__ import annotations

import os
import random
import string

import msgspec
import pytest
from herdr_polyresearch.protocol import blocks as b
from herdr_polyresearch.protocol.comments import TYPES, clean_block, parse, render
from herdr_polyresearch.protocol.fields import FIELDS
from herdr_polyresearch.protocol.slash import Slash
from herdr_polyresearch.protocol.words import OBSERVATIONS, OUTCOMES, REASONS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

BODIES = int(os.environ.get("POLYRESEARCH_FUZZ", "4000"))
EXAMPLES = max(60, BODIES // 100)
LONG = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

PIECES = [
    *(
        "<!--",
        "-->",
        "<!-- polyresearch:",
        "polyresearch:",
        ">",
        "> ",
        "/approve",
        "/reject",
        "```",
        "`",
        "#",
        "\\",
    ),
    *(
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        " ",
        "\t",
        ":",
        ": ",
        "\x00",
        "\x85",
        "\u2028",
        "\u3000",
        "\ud800",
        "\N{EM DASH}",
    ),
    *("none", "12", "+12", "-1", "1e5", "nan", "inf", "1_0", "0x1", "9" * 30, "[", "]", "{}"),
    *('[{"category":"c","text":"t"}]', "2026-04-06T14:30:00Z", "2026-13-06T14:30:00Z"),
    *(*TYPES, *OBSERVATIONS, *REASONS, *OUTCOMES),
    *{field.name for fields in FIELDS.values() for field in fields},
]
LIKELY = {
    "reason": REASONS,
    "outcome": OUTCOMES,
    "observation": OBSERVATIONS,
    "annotations": ("none", '[{"category":"c","text":"t"}]'),
    "timestamp": ("2026-04-06T14:30:00Z",),
}


def value(rng: random.Random, name: str) -> str:
    """A value that a field can have, and now and then one that it cannot."""
    return rng.choice(PIECES if rng.random() < 0.15 else LIKELY.get(name, ("12", "+7", "0")))


def body(rng: random.Random) -> str:
    """A body of pieces that mean something to some reader, in an order that means something now and then."""
    if rng.random() < 0.5:
        name = rng.choice(list(TYPES))
        lines = [
            f"{field.name}{rng.choice([': ', ':', ' : '])}{value(rng, field.name)}"
            for field in FIELDS[TYPES[name]]
            if rng.random() < 0.97
        ]
        rng.shuffle(lines)
        text = f"{rng.choice(PIECES)}\n<!-- polyresearch:{name}\n" + "\n".join(lines) + "\n-->"
    else:
        text = "".join(rng.choice(PIECES) for _ in range(rng.randrange(40)))
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice([*PIECES, *string.printable]) + text[at + rng.randrange(3) :]
    return text


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(4))
def test_any_body_is_read_without_a_crash(seed: int) -> None:
    rng = random.Random(seed)
    events = 0
    for _ in range(BODIES // 4):
        event = parse(body(rng))
        if event is not None and not isinstance(event, Slash):
            events += 1
            assert same(parse(render(event)), clean_block(event))
    # A generator that never makes an event would show nothing.
    assert events > BODIES // 4 // 10


def same(one: object, other: object) -> bool:
    """Whether two blocks are equal, with NaN equal to itself."""
    return repr(one) == repr(other)


texts = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
numbers = st.integers(0, 2**64 - 1)
metrics = st.floats()
times = st.just("2026-04-06T14:30:00.123456789Z")
notes = st.lists(st.builds(b.Annotation, category=texts, task_id=st.none() | texts, text=texts), max_size=3).map(
    tuple
)
observations = st.sampled_from(OBSERVATIONS)

blocks = st.one_of(
    st.builds(b.ApprovalBlock, thesis=numbers),
    st.builds(b.ClaimBlock, thesis=numbers, node=texts),
    st.builds(b.ReleaseBlock, thesis=numbers, node=texts, reason=st.sampled_from(REASONS)),
    st.builds(
        b.AttemptBlock,
        thesis=numbers,
        branch=texts,
        metric=metrics,
        baseline_metric=st.none() | metrics,
        observation=observations,
        summary=texts,
        annotations=notes,
        runs=st.lists(metrics, max_size=4).map(tuple),
        commit=st.none() | texts,
        exact=st.just(False),
    ),
    st.builds(b.AnnotationBlock, thesis=numbers, node=texts, text=texts),
    st.builds(b.PolicyPassBlock, thesis=numbers, candidate_sha=texts),
    st.builds(b.ReviewClaimBlock, thesis=numbers, node=texts),
    st.builds(
        b.ReviewBlock,
        thesis=numbers,
        candidate_sha=texts,
        base_sha=texts,
        node=texts,
        metric=metrics,
        baseline_metric=metrics,
        observation=observations,
        env_sha=st.none() | texts,
        timestamp=times,
        exact=st.just(False),
    ),
    st.builds(
        b.DecisionBlock,
        thesis=numbers,
        candidate_sha=texts,
        outcome=st.sampled_from(OUTCOMES),
        confirmations=numbers,
        pr=st.none() | numbers,
    ),
    st.builds(b.AdminNoteBlock, action=texts, target=texts, note=texts, related_comment_id=st.none() | numbers),
)


@pytest.mark.timeout(900)
@LONG
@given(blocks)
def test_what_is_written_is_what_is_read(block: b.Block) -> None:
    written, cleaned = render(block), clean_block(block)
    assert same(parse(written), cleaned)
    assert same(clean_block(cleaned), cleaned)
    assert written.count("<!--") == written.count("-->") == 1
    written.encode("utf-8")


@pytest.mark.timeout(900)
@LONG
@given(blocks, st.data())
def test_no_text_changes_the_type_or_another_field(block: b.Block, data: st.DataObject) -> None:
    names = [f.name for f in FIELDS[type(block)] if isinstance(getattr(block, f.name, None), str)]
    names = [name for name in (*names, "text") if hasattr(block, name) and name not in ("timestamp",)]
    free = [n for n in names if getattr(block, n) not in (*OBSERVATIONS, *OUTCOMES, *REASONS)]
    if not free:
        return
    name = data.draw(st.sampled_from(free))
    forged = msgspec.structs.replace(block, **{name: data.draw(texts)})
    read = parse(render(forged))
    assert type(read) is type(block)
    expected = msgspec.structs.replace(clean_block(block), **{name: getattr(read, name)})
    assert same(read, expected)
