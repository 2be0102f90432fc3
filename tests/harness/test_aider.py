"""Aider: its start, its key, its logs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from herdr_aider.harness import AiderHarness

from herdr.api import Harness, LaunchContext, Usage

Context = Callable[..., LaunchContext]
AIDER = AiderHarness()
SAMPLES = Path(__file__).parent / "samples"


def test_it_reads_the_brief_and_leaves_nothing_in_the_worktree(context: Context) -> None:
    given = context(model="openai/gpt-4o")
    launch = AIDER.launch(given)
    assert launch.argv[:3] == ("aider", "--model", "openai/gpt-4o")
    assert launch.argv[launch.argv.index("--read") + 1] == str(given.brief)
    files = [word for word in launch.argv if word.startswith(str(given.state_dir))]
    assert len(files) == 4
    assert {"--yes-always", "--no-pretty", "--no-gitignore"} <= set(launch.argv)
    assert not launch.prompt_in_argv
    assert isinstance(AIDER, Harness)


def test_a_headless_one_takes_the_brief_as_its_only_message(context: Context) -> None:
    given = context(mode="headless")
    launch = AIDER.launch(given)
    assert launch.argv[launch.argv.index("--message-file") + 1] == str(given.brief)
    assert "--read" not in launch.argv
    assert "--yes-always" in launch.argv
    assert launch.prompt_in_argv


def test_check_looks_for_a_key_or_a_file_that_may_hold_one(program: Callable[..., Path]) -> None:
    environ = {"HOME": os.environ["HOME"], "PATH": str(program("aider", "echo aider 0.86.2"))}
    status = AIDER.check(environ)
    assert (status.version, status.logged_in, "OPENAI_API_KEY" in status.fix) == ("aider 0.86.2", False, True)
    assert AIDER.check({**environ, "GEMINI_API_KEY": "x"}).logged_in is True
    (Path(environ["HOME"]) / ".aider.conf.yml").write_text("model: x\n")
    assert (AIDER.check(environ).logged_in, AIDER.check(environ).problem) == (None, "")
    assert not AIDER.check({"HOME": environ["HOME"], "PATH": ""}).found


def test_usage_and_prompts_of_real_logs(context: Context) -> None:
    given = context()
    assert (AIDER.usage(given), AIDER.received(given, "x")) == (None, None)
    for name in ("analytics.jsonl", "chat.history.md"):
        shutil.copy(SAMPLES / f"aider-{name}", given.state_dir / name)
    assert AIDER.usage(given) == Usage(input=2575, output=22, cost=0.0066575)
    assert AIDER.received(given, "MOCK:edit please add hello.txt and commit") is True
    assert AIDER.received(given, "Creating the file.") is False


def test_lines_of_one_prompt_belong_together(context: Context) -> None:
    given = context()
    (given.state_dir / "chat.history.md").write_text("#### one  \n#### two  \n\nanswer\n\n#### three  \n")
    assert [AIDER.received(given, text) for text in ("one\ntwo", "three", "one", "two three")] == [
        True, True, False, False
    ]  # fmt: skip
