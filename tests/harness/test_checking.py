"""A harness is looked at when it registers: whatever is missing or wrong is said, all of it, with the plugin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from herdr.api import (
    Harness,
    HarnessBase,
    HarnessStatus,
    HerdrError,
    Launch,
    LaunchContext,
    ScreenRules,
    SendRules,
)
from herdr.config import HarnessKeys
from herdr.harness import checking
from herdr.harness.checking import MEMBERS, faults
from herdr.harness.registry import Harnesses
from herdr.harness.template import CommandHarness


class Good(HarnessBase):
    name = "good"

    def launch(self, context: LaunchContext) -> Launch:
        return Launch(argv=("good",))


class Alone:
    """A harness that inherits nothing and has all members."""

    name = "alone"
    screen = ScreenRules(ready="^>", composer="^> (?P<text>.*)$", failures={"a": ("x", "auth")}, lines=3)
    send = SendRules(received="{text}", settle=0)
    ready_timeout = 30
    needs_model = False
    ends_when_idle = True

    def check(self, environ: Mapping[str, str]) -> HarnessStatus:
        return HarnessStatus(found=True)

    def launch(self, context: LaunchContext, *more: object) -> Launch:
        return Launch(argv=("alone",))

    def usage(self, _: object, why: str = "") -> None:
        return None

    received = staticmethod(lambda context, text: None)


def changed(**members: Any) -> Any:
    return type("Changed", (Good,), members)()


#: As a plugin without type checks builds them.
screen: Any = ScreenRules
send: Any = SendRules


def test_good_ones_have_no_fault() -> None:
    assert [faults(harness) for harness in (Good(), Alone())] == [[], []]


@pytest.mark.parametrize("member", MEMBERS)
def test_each_member_is_missed(member: str) -> None:
    kept = {name: value for name, value in vars(Alone).items() if name != member}
    assert faults(type("Kept", (), kept)()) == [f"it has no {member}"]


def test_a_member_of_tomorrow_breaks_none_that_inherits(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Harness, HarnessBase):
        monkeypatch.setattr(kind, "tomorrow", lambda self, context: None, raising=False)
    monkeypatch.setattr(checking, "MEMBERS", (*MEMBERS, "tomorrow"))
    assert [faults(harness) for harness in (Good(), CommandHarness(name="any"))] == [[], []]
    assert faults(Alone()) == ["it has no tomorrow"]


def test_what_has_no_default_is_missed_in_one_that_inherits() -> None:
    assert faults(HarnessBase()) == ["it has no name, launch"]


@pytest.mark.parametrize("member", [name for name in MEMBERS if name != "launch"])
def test_no_member_may_be_anything(member: str) -> None:
    (fault,) = faults(changed(**{member: 3 + 4j}))
    assert fault.startswith(member)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"name": "a/b"}, "name = 'a/b': cannot be the name of a folder"),
        ({"name": ""}, "name = '': cannot be the name of a folder"),
        ({"name": None}, "name = None: not a string"),
        ({"ready_timeout": "60"}, "ready_timeout = '60': not a number"),
        ({"ready_timeout": True}, "ready_timeout = true: not a number"),
        ({"ready_timeout": 0}, "ready_timeout = 0: out of range"),
        ({"ready_timeout": float("inf")}, "ready_timeout = inf: not a finite number of at most 64 bits"),
        ({"needs_model": 0}, "needs_model = 0: not true or false"),
        ({"screen": {"busy": "x"}}, "screen is of the type dict, not ScreenRules"),
        ({"send": screen()}, "send is of the type ScreenRules, not SendRules"),
        ({"screen": screen(busy="([")}, "screen.busy = '([': not a regular expression: "),
        ({"screen": screen(busy=re.compile("x"))}, "screen.busy = re.compile('x'): not a string"),
        ({"screen": screen(composer="^>.*$")}, "screen.composer = '^>.*$': does not say what stands in the line"),
        ({"screen": screen(lines=None)}, "screen.lines = None: not a whole number"),
        ({"screen": screen(exits={"a": "x"})}, "screen.exits.a = 'x': not a list"),
        ({"screen": screen(exits={"a": ("(", "auth")})}, "screen.exits.a[0] = '(': not a regular expression: "),
        ({"screen": screen(exits={"a": ("x", "aut")})}, "screen.exits.a[1] = 'aut': not one of "),
        ({"screen": screen(exits={"a": ("x",)})}, "screen.exits.a = ['x']: has 1 parts, not 2"),
        ({"send": send(received="got it")}, "send.received = 'got it': does not say where the text stands"),
        ({"send": send(newline="drop")}, "send.newline = 'drop': not one of keep, space"),
        ({"screen": property(lambda self: 1 / 0)}, "screen cannot be read: ZeroDivisionError: division"),
        ({"screen": property(lambda self: self.nothing)}, "screen cannot be read: AttributeError: "),
        ({"usage": None}, "usage is of the type NoneType, not a method"),
        ({"usage": lambda self: None}, "usage takes (), not (context)"),
        ({"received": lambda self, context: None}, "received takes (context), not (context, text)"),
        ({"launch": lambda self, context, model: None}, "launch takes (context, model), not (context)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(members: dict[str, Any], said: str) -> None:
    (fault,) = faults(changed(**members))
    assert fault.startswith(said)


def test_a_method_that_is_async() -> None:
    async def check(self: object, environ: object) -> None: ...

    assert faults(changed(check=check)) == ["check is async, and is called in a thread"]


def test_a_class_instead_of_its_object() -> None:
    assert faults(Good) == ["it is a class, and register(Good()) takes one of its objects"]


def refused(known: Harnesses, harness: Any, plugin: str = "theirs") -> HerdrError:
    with pytest.raises(HerdrError) as caught:
        known.registrar(plugin)(harness)
    return caught.value


def test_all_of_it_is_said_at_once_with_the_plugin() -> None:
    class Bad:
        name = "bad"
        screen = ScreenRules(busy="(", lines=0)

        def check(self) -> None: ...

    known = Harnesses()
    error = refused(known, Bad())
    said = (
        "harness bad of plugin theirs cannot be used:"
        " it has no send, ready_timeout, needs_model, ends_when_idle, launch, usage, received;"
        " screen.busy = '(': not a regular expression: missing ), unterminated subpattern at position 0;"
        " screen.lines = 0: out of range; check takes (), not (environ)"
    )
    assert error.message == said
    assert "HERDR_BLOCK_PLUGINS=theirs" in str(error.fix)
    assert (known.names(), known.origin, list(known.refused)) == ([], {"bad": "theirs"}, ["bad"])


def test_a_refused_one_says_so_wherever_it_is_named() -> None:
    known = Harnesses()
    error = refused(known, changed(name="bad", usage=3))
    known.registrar("other")(Good())
    of_project = known.configured({"bad": HarnessKeys(ready_timeout=5.0)})
    for each in (known, of_project):
        with pytest.raises(HerdrError) as caught:
            each.get("bad")
        with pytest.raises(HerdrError) as also:
            each.check("bad", {})
        assert caught.value.message == also.value.message == error.message
        assert (each.names(), each.get("good").name) == (["good"], "good")


@pytest.mark.parametrize("broken", [object(), changed(name=3), changed(name="\x1b[1m")])
def test_one_without_a_name_is_known_by_its_class(broken: object) -> None:
    known = Harnesses()
    refused(known, broken)
    assert list(known.refused) in (["object"], ["Changed"])


def test_a_wrong_one_takes_nothing_from_a_good_one_of_its_name() -> None:
    known = Harnesses()
    wrong = changed(usage=3)
    refused(known, wrong)
    known.registrar("ours")(Good())
    refused(known, wrong)
    assert (known.names(), known.origin, known.refused) == (["good"], {"good": "ours"}, {})


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda self, environ: 1 / 0, "failed in check: ZeroDivisionError: division by zero (/"),
        (lambda self, environ: None, "failed in check: returned NoneType, not HarnessStatus"),
    ],
)
def test_a_check_that_fails_is_the_plugins_failure_and_no_harness_to_start(check: Any, said: str) -> None:
    known = Harnesses()
    known.registrar("theirs")(changed(check=check))
    with pytest.raises(HerdrError) as caught:
        known.check("good", {})
    assert caught.value.message.startswith(f"harness good of plugin theirs {said}")
    assert known.available({}) == []
