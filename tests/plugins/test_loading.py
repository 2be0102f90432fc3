"""Discovery: each installed plugin is loaded on its own, and one that is broken is named with the reason."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from herdr.errors import HerdrError
from herdr.plugins import PluginHost, PluginRow, find_command

Install = Callable[..., None]
GOOD = "@hookimpl\ndef herdr_claim(project): return ClaimAnswer(allowed=True)"


def table(**environ: str) -> dict[str, PluginRow]:
    return {row.name: row for row in PluginHost(environ=environ).plugins_table()}


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import nothing_like_this", "ModuleNotFoundError: No module named 'nothing_like_this'"),
        ("import sys; sys.exit('no licence')", "SystemExit: no licence"),
        ("def broken(:", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError: division by zero (/"),
        ("@hookimpl\ndef herdr_atempt(run): pass", "there is no hook herdr_atempt; did you mean herdr_attempt?"),
        ("@hookimpl\ndef before_run(): pass", "there is no hook before_run"),
        ("@hookimpl\ndef herdr_claim(worker): pass", "'worker'"),
        ("def herdr_claim(project): pass", "herdr_claim is not marked with @hookimpl"),
        ("@hookimpl\nasync def herdr_claim(project): pass", "herdr_claim is async"),
        ("@hookimpl(wrapper=True)\ndef herdr_claim(project): yield", "herdr_claim is a wrapper"),
    ],
)
def test_a_broken_plugin_is_named_and_the_others_work(install: Install, code: str, why: str) -> None:
    install("broken", code)
    install("good", GOOD)
    rows = table()
    assert (rows["good"].state, rows["good"].hooks) == ("ok", ("herdr_claim",))
    assert rows["broken"].state == "failed"
    assert why in rows["broken"].why
    assert (rows["broken"].distribution, rows["broken"].version) == ("broken", "1.5")


def test_what_a_broken_plugin_had_is_not_called(install: Install) -> None:
    install("broken", GOOD + "\n@hookimpl\ndef herdr_nonsense(): pass")
    assert not PluginHost().implements("herdr_claim", "broken")


def test_two_plugins_of_one_name_are_told_apart(install: Install) -> None:
    install("alpha", GOOD, plugin="same")
    install("beta", GOOD, plugin="same")
    rows = [row for row in PluginHost().plugins_table() if row.name == "same"]
    assert [row.state for row in rows] == ["ok", "failed"]
    assert "alpha" in rows[1].why


def test_blocked_plugins_are_not_even_imported(install: Install) -> None:
    install("first", GOOD)
    install("second", GOOD)
    install("third", GOOD)
    host = PluginHost(block=["first"], environ={"HERDR_BLOCK_PLUGINS": "second, other"})
    rows = {row.name: row for row in host.plugins_table()}
    assert [rows[name].state for name in ("first", "second", "third")] == ["blocked", "blocked", "ok"]
    assert rows["first"].why == "by [plugins] block in piloop.toml"
    assert rows["second"].why == "by HERDR_BLOCK_PLUGINS"
    assert not {"plugin_first", "plugin_second"} & set(sys.modules)


def test_nothing_is_loaded_before_it_is_needed(install: Install) -> None:
    install("lazy", GOOD)
    host = PluginHost()
    assert "plugin_lazy" not in sys.modules
    assert host.implements("herdr_claim", "lazy")


def test_a_command_is_loaded_only_when_it_is_named(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("shout", "def main(): return 'loud'", group="herdr.commands", target=":main")
    install("broken", "1 / 0", group="herdr.commands", target=":main")
    assert find_command("whisper") is None
    assert not {"plugin_shout", "plugin_broken"} & set(sys.modules)
    shout = find_command("shout")
    assert shout is not None
    assert shout() == "loud"
    assert "plugin_broken" not in sys.modules
    with pytest.raises(HerdrError, match=r"broken 1\.5 cannot be loaded: ZeroDivisionError"):
        find_command("broken")
    monkeypatch.setenv("HERDR_BLOCK_PLUGINS", "shout")
    assert find_command("shout") is None
