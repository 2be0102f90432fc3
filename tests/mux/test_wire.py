"""The control protocol, however its bytes are cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from herdr.mux.wire import Notification, Parser, Reply

STREAM = (
    b"%begin 100 1 0\n%end 100 1 0\n"
    b"%session-changed $0 a b\n"
    b"%begin 101 7 1\none\n%end 101 6 1\n%end 99 7 1\n%window-add @9\n\n\xc3\xa9\n%end 101 7 1\n"
    b"noise\n"
    b"%begin 101 8 1\nparse error\n%error 101 8 1\n"
    b"%subscription-changed t $0 @0 0 %0 : a : b\n"
    b"%exit\n"
)
EVENTS = [
    Notification(name="started", rest=""),
    Notification(name="session-changed", rest="$0 a b"),
    Reply(ok=True, lines=["one", "%end 101 6 1", "%end 99 7 1", "%window-add @9", "", "é"]),
    Reply(ok=False, lines=["parse error"]),
    Notification(name="subscription-changed", rest="t $0 @0 0 %0 : a : b"),
    Notification(name="exit", rest=""),
]


@given(st.lists(st.integers(1, 40), min_size=1))
def test_events_do_not_depend_on_how_the_stream_is_cut(sizes: list[int]) -> None:
    parser, events, at, turn = Parser(), [], 0, 0
    while at < len(STREAM):
        size = sizes[turn % len(sizes)]
        events += parser.feed(STREAM[at : at + size])
        at, turn = at + size, turn + 1
    assert events == EVENTS


def test_a_refused_attach_gives_its_reason() -> None:
    refused = Parser().feed(b"%begin 1 2 0\ncan't find session: $9\n%error 1 2 0\n%exit\n")
    assert refused[0] == Notification(name="refused", rest="can't find session: $9")
