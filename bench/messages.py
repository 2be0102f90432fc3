"""Typing: a text into an idle input line until there is evidence that it was taken, without the daemon."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio

from bench import composer
from bench.report import Row, spread
from bench.stand import PATIENCE, Stand, stand
from herdr.api import ScreenRules, SendRules
from herdr.mux.keystrokes import Patience
from herdr.mux.server import TmuxServer
from herdr.runtime.api import LaunchRequest, Place
from herdr.runtime.pane import PaneRuntime
from herdr.runtime.processes import MARK, mark

MESSAGES, PANES = 100, 10
SCREEN, SEND = ScreenRules(composer=composer.LINE), SendRules()


def measure() -> list[Row]:
    """A hundred messages over a few panes, in each one after the other."""
    with stand({"none": {"interactive": ["true"]}}) as place:
        samples = anyio.run(_type_all, place)
    note = (
        f"of that {2 * SEND.settle:g} s is the input line unchanged, before and after the paste,"
        f" and {Patience().proof:g} s the wait for better evidence"
    )
    return [
        spread("message into an idle input line → received", samples, "s", note=note),
        spread("message into an idle input line → received", samples, "s", percent=95),
    ]


async def _type_all(place: Stand) -> list[float]:
    server = TmuxServer(place.home.socket_name, place.home.tmux_conf, os.environ)
    runtime = await PaneRuntime.open(server, "bench", place.root)
    samples: list[float] = []
    try:
        panes = [await runtime.launch(_request(place, number)) for number in range(1, PANES + 1)]
        async with anyio.create_task_group() as tasks:
            for pane in panes:
                tasks.start_soon(_type, runtime, pane, samples)
    finally:
        await runtime.aclose()
    return samples


async def _type(runtime: PaneRuntime, pane: Place, samples: list[float]) -> None:
    with anyio.fail_after(PATIENCE):
        while (screen := await runtime.screen(pane)) is None or ">" not in screen.text:
            await anyio.sleep(0.05)
    for number in range(MESSAGES // PANES):
        begin = time.perf_counter()
        text = f"message {number} to {pane.pane}"
        delivery = await runtime.send(
            pane, text, screen=SCREEN, send=SEND, typing=lambda: None, evidence=lambda: None
        )
        if delivery.state != "received":
            raise RuntimeError(f"a message was not received but is {delivery.state}: {delivery.detail}")
        samples.append(time.perf_counter() - begin)


def _request(place: Stand, number: int) -> LaunchRequest:
    return LaunchRequest(
        agent_id=number,
        name=f"composer-{number}",
        title="composer",
        cwd=place.root,
        argv=[sys.executable, "-S", str(Path(composer.__file__))],
        env={**os.environ, MARK: mark(place.home, number)},
        clear=(),
        state_dir=place.home.agent_dir(number),
    )
