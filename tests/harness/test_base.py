"""`HarnessBase`: a plugin's harness that inherits says only what is its own, today and after the next member."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import pytest

from herdr.api import Harness, HarnessBase, HarnessStatus, Launch, LaunchContext, ScreenRules, SendRules
from herdr.config import HarnessKeys
from herdr.harness.configured import Override

MEMBERS = {name for name in vars(Harness) if not name.startswith("_")}


class Small(HarnessBase):
    """As little as there can be."""

    name = "small"

    def launch(self, context: LaunchContext) -> Launch:
        return Launch(argv=("small", context.prompt), prompt_in_argv=True)


def test_every_member_has_a_default_but_those_that_nobody_could_guess() -> None:
    assert {name for name in MEMBERS if not hasattr(HarnessBase, name)} == {"name"}
    with pytest.raises(NotImplementedError):
        HarnessBase().launch(None)  # type: ignore[arg-type]


def test_the_defaults(context: Callable[..., LaunchContext], program: Callable[..., Path]) -> None:
    small: Harness = Small()
    assert isinstance(small, Harness)
    assert (small.screen, small.send) == (ScreenRules(), SendRules(accepts=False))
    assert (small.ready_timeout, small.needs_model, small.ends_when_idle) == (60.0, False, False)
    assert (small.usage(context()), small.received(context(), "x")) == (None, None)
    path = str(program("small"))
    assert small.check({"PATH": path}) == HarnessStatus(found=True, path=f"{path}/small")
    missing = HarnessStatus(found=False, problem="small: not on PATH", fix="install small")
    assert small.check({"PATH": "/nowhere"}) == missing


def test_what_can_be_seen_of_it_follows_from_its_screen() -> None:
    class Drawn(Small):
        screen = ScreenRules(busy="^working", composer="^> (.*)$")

    assert (Drawn().send.accepts, Drawn().ends_when_idle) == (True, True)


def test_a_member_may_be_an_attribute_of_the_class_or_the_object_or_be_computed() -> None:
    class Own(Small):
        needs_model = True

        def __init__(self) -> None:
            self.name = "own"
            self.ready_timeout = 5.0

        @cached_property
        def screen(self) -> ScreenRules:
            return ScreenRules(ready=self.name)

    own: Harness = Own()
    assert (own.name, own.needs_model, own.ready_timeout, own.screen.ready) == ("own", True, 5.0, "own")


def test_a_table_over_a_harness_hides_no_member_of_it() -> None:
    # A member that `Override` forgets would be the default, whatever the harness says.
    assert {*vars(Override), *vars(Override(Small(), HarnessKeys()))} >= MEMBERS
