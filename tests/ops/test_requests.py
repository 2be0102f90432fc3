"""Requests, their answers and the functions between fit each other, and their JSON stays as programs know it."""

from __future__ import annotations

import ast
import importlib
import typing
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import herdr.ops
from herdr.errors import UsageError
from herdr.ops.agent import ListAgents
from herdr.ops.candidate.reading import ListCandidates, ShowCandidate
from herdr.ops.candidate.series import ShowSeries
from herdr.ops.client import MailboxClient
from herdr.ops.comment import AddComment, ListComments, ShowComment
from herdr.ops.core import FAMILIES, OPERATIONS, Operation, Request
from herdr.ops.event import ListEvents
from herdr.ops.history import GatherHistory
from herdr.ops.idea.filing import AddIdea
from herdr.ops.idea.reading import ListIdeas, ShowIdea
from herdr.ops.inbox import ListInbox, ReadNews
from herdr.ops.project import ListProjects, ShowLive, ShowStatus
from herdr.ops.run import ListRuns, ShowRun
from herdr.ops.search import Search
from herdr.ops.sql import RunStatement, ShowSchema
from herdr.store.rows import Agent, get
from tests.ops.test_client import answered

FOLDER = Path(herdr.ops.__file__).parent
#: The arguments of every operation and the fields of every answer, in their order.
SHAPES = Path(__file__).with_name("answers.txt")
READS: tuple[Request[Any], ...] = (
    ListAgents(ended=True),
    ListCandidates(),
    ShowCandidate(candidate="2"),
    ShowSeries(),
    ListComments(),
    ShowComment(comment="1"),
    ListEvents(),
    GatherHistory(),
    ListIdeas(),
    ShowIdea(idea="1"),
    ListInbox(),
    ReadNews(after=0),
    ListProjects(),
    ShowLive(),
    ShowStatus(),
    ListRuns(),
    ShowRun(run="1"),
    Search(words="said"),
    RunStatement(statement="SELECT 1, 2.5, NULL, 'é', x'00ff'"),
    ShowSchema(),
)


def operations() -> dict[str, Operation]:
    for family in FAMILIES:
        importlib.import_module(f"herdr.ops.{family}")
    return OPERATIONS


def test_a_function_takes_its_request_and_returns_exactly_its_answer() -> None:
    for name, operation in operations().items():
        hints = typing.get_type_hints(operation.function)
        answer = hints.pop("return")
        assert list(hints.values())[1:] == [operation.request], name
        assert answer == operation.request.answer_type(), name


def test_an_operation_is_in_the_module_of_its_family() -> None:
    for name, operation in operations().items():
        assert operation.request.operation == name
        assert operation.function.__module__ == operation.request.__module__, name
        assert operation.request.__module__.split(".")[2] == name.partition(".")[0]


def test_no_two_classes_have_one_name() -> None:
    classes = Counter(
        node.name
        for file in FOLDER.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in classes.items() if count > 1] == []


def shapes() -> Iterator[str]:
    """Every operation and every struct in an answer, with the names of its fields in the order of its JSON.

    A name may come at the end of an answer; one that goes, or moves, breaks somebody's program.
    """
    seen: dict[str, str] = {}

    def visit(kind: Any) -> None:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__name__ not in seen:
            fields = msgspec.structs.fields(kind)
            seen[kind.__name__] = f"{kind.__name__}: {' '.join(field.encode_name for field in fields)}"
            for field in fields:
                visit(field.type)
        for part in typing.get_args(kind):
            visit(part)

    for name, operation in sorted(operations().items()):
        answer = operation.request.answer_type()
        fields = msgspec.structs.fields(operation.request)
        given = " ".join(f"{field.encode_name}{'' if field.required else '?'}" for field in fields)
        shown = answer.__name__ if isinstance(answer, type) and not typing.get_args(answer) else str(answer)
        yield f"{name}({given}) -> {shown.split('.')[-1].rstrip(']')}{' …' if typing.get_args(answer) else ''}"
        visit(answer)
    yield ""
    yield from sorted(seen.values())


def test_json_has_the_fields_that_programs_know() -> None:
    assert "\n".join(shapes()) + "\n" == SHAPES.read_text("utf-8")


@pytest.fixture
def told(campaign: Any) -> Any:
    """A campaign of which every list has something."""
    run = campaign.run(campaign.idea("Shrink"))
    campaign.agent(run)
    campaign.commit(run, "a" * 40, 7.5, verdict="keep", on_trunk=1)
    campaign.as_human(AddComment(target="run#1", body="said", kind="finding", priority=1))
    campaign.as_human(AddIdea(title="Then this", after=("idea#1",)))
    folder = campaign.root / ".herdr" / "mailbox"
    for name in ("requests", "answers"):
        (folder / name).mkdir(parents=True)
    campaign.mailbox = folder
    return campaign


@pytest.mark.parametrize("wanted", READS, ids=lambda one: one.operation)
def test_an_answer_by_mailbox_is_the_answer_itself(told: Any, wanted: Request[Any]) -> None:
    agent = get(told.store, Agent, 1)
    client = MailboxClient(told.mailbox, "the token", told.root)
    by_mailbox = answered(told, told.mailbox, lambda: client.ask(wanted))
    direct = told.as_agent(agent, wanted)
    assert type(by_mailbox) is type(direct)
    assert text(by_mailbox) == text(direct)


def text(answer: object) -> str:
    """An answer as `--json` prints it."""
    return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()


def test_a_number_out_of_range_is_refused_whoever_made_the_request(campaign: Any) -> None:
    with pytest.raises(UsageError, match=r"idea\.add: Expected `int` <= 4 - at `\$\.priority`"):
        campaign.as_human(AddIdea(title="x", priority=9))
    with pytest.raises(UsageError, match=r"event\.list: Expected `int` >= 0"):
        campaign.as_human(ListEvents(after=-1))
