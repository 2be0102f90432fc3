"""`piloop prompt`: types a text into a running agent, and says whether it was received."""

from __future__ import annotations

import time

import click

from herdr.cli.asking import asking, home_for_people
from herdr.commandline.group import TextCommand
from herdr.errors import HerdrError, RefusedError
from herdr.home import Home
from herdr.ops.message import SendMessage, ShowMessage
from herdr.ops.project import ListProjects
from herdr.ops.views import MessageView

#: Seconds between two looks at the message.
LOOK = 0.05


@click.command(cls=TextCommand)
@click.argument("worker", metavar="worker#N")
@click.argument("text")
@click.option("--timeout", type=click.FloatRange(0), default=120.0, show_default=True, help="Seconds to wait.")
def prompt(worker: str, text: str, timeout: float) -> None:
    """Type TEXT into the agent WORKER, and wait until it was received.

    The exit status is 0 only then. While a dialog is open, a person scrolls in the pane or a draft stands in it,
    the message waits; after the timeout the command ends, and the message still waits until the run ends.
    """
    from herdr.daemon.lock import daemon_pid

    home = home_for_people("prompt")
    with asking() as client:
        if daemon_pid(home) is None:
            # Checked first: a message that nobody types soon is not what was meant.
            client.ask(ListProjects())
            raise RefusedError("the daemon is not running, so nobody types", fix="herdr up")
        message = client.ask(SendMessage(agent=worker, text=text))
        deadline = time.monotonic() + timeout
        while message.state in ("queued", "typed"):
            if time.monotonic() > deadline:
                raise _still_waits(message, timeout)
            if daemon_pid(home) is None:
                raise _daemon_gone(home, message)
            time.sleep(LOOK)
            message = client.ask(ShowMessage(message=message.id))
    if message.state != "received":
        raise _not_received(message)
    how = f" ({message.detail})" if message.detail else ""
    click.echo(f"{message.agent} received it{how}")


def _still_waits(message: MessageView, timeout: float) -> HerdrError:
    if message.state == "typed":
        what, next_ = "it was typed, and nothing shows yet that it was taken", "it is not typed again"
    else:
        why = message.detail or f"{message.agent} is starting, or another message goes first"
        what, next_ = f"nothing was typed yet: {why}", "the message waits on, until the run ends"
    return HerdrError(
        f"{message.agent} has not received it after {timeout:g} s: {what}",
        fix=f"{next_}; look at the agent: herdr attach {message.agent}",
    )


def _not_received(message: MessageView) -> HerdrError:
    said = {"unconfirmed": "was typed, but nothing shows that it was taken", "failed": "was not typed"}
    why = f": {message.detail}" if message.detail else ""
    return HerdrError(
        f"the message to {message.agent} {said[message.state]}{why}",
        fix=f"look at the agent: herdr attach {message.agent}",
    )


def _daemon_gone(home: Home, message: MessageView) -> HerdrError:
    typed = "it was typed, and the next one sees what became of it"
    what = typed if message.state == "typed" else "nothing was typed, and the next one types the message"
    return HerdrError(f"the daemon ended meanwhile; {what}", fix=f"herdr up; its log is {home.log}")
