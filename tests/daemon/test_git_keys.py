"""The keys `hooks` and `remotes` reach a run's folder, and `herdr up` says which git settings it took over."""

from __future__ import annotations

from typing import Any

import pytest

from herdr.cli.up import _take_up_git_settings


def test_hooks_run_for_agents_and_remotes_are_there_by_their_keys(unregistered: Any) -> None:
    campaign = unregistered
    campaign.git("remote", "add", "origin", "https://example.com/x.git")
    hook = campaign.root / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho hooked >> $WORKER_LOG\n")
    hook.chmod(0o755)
    campaign.configure(top="hooks = true\nremotes = true")
    campaign.register()
    campaign.idea("Look", "sh git remote >> $WORKER_LOG", "commit number=3 three")
    campaign.up()
    campaign.settled()
    assert {"origin", "hooked"} <= set(campaign.said())


def test_neither_is_there_by_default(campaign: Any) -> None:
    campaign.git("remote", "add", "origin", "https://example.com/x.git")
    hook = campaign.root / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho hooked >> $WORKER_LOG\n")
    hook.chmod(0o755)
    campaign.idea("Look", "sh git remote >> $WORKER_LOG", "commit number=3 three")
    campaign.up()
    campaign.settled()
    assert not {"origin", "hooked"} & set(campaign.said())


def test_up_says_what_it_took_over_once(campaign: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _take_up_git_settings(campaign.home, campaign.root, "numbers")
    assert capsys.readouterr().out == ""
    campaign.git("config", "core.autocrlf", "input")
    _take_up_git_settings(campaign.home, campaign.root, "numbers")
    assert capsys.readouterr().out == "taken over from git's settings: core.autocrlf: not set is now input\n"
    _take_up_git_settings(campaign.home, campaign.root, "numbers")
    assert capsys.readouterr().out == ""
