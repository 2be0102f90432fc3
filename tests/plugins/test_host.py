"""Calls: one at a time per plugin and hook, with a deadline, and with the failure of one kept from the others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import herdr.plugins.calls
from herdr.api import (
    BriefContext,
    BriefSection,
    CandidateInfo,
    ClaimAnswer,
    DoctorCheck,
    EvaluationRequest,
    EvaluationResult,
    IdeaInfo,
    OutsideIdea,
    ProjectInfo,
    RunInfo,
)
from herdr.plugins import PluginError, PluginHost

Install = Callable[..., None]
SETTINGS = {"loud": {"volume": 11}, "quiet": {"volume": 1}, "block": ["blocked"]}
PROJECT = ProjectInfo(id=1, name="p", path=Path("/p"), settings=SETTINGS)
IDEA = IdeaInfo(
    id=1, project_id=1, title="t", hypothesis="", plan=None, status="ready", priority=2, source="human"
)
RUN = RunInfo(
    id=1, project_id=1, idea_id=1, number=1, state="queued", harness="x", model=None, branch=None, worktree=None
)
BASE = CandidateInfo(
    id=1,
    project_id=1,
    run_id=None,
    commit="c",
    tree="t",
    subject="s",
    origin="baseline",
    verdict=None,
    reason=None,
)
CONTEXT = BriefContext(
    project=PROJECT, agent="worker#1", role="worker", run=RUN, idea=IDEA, worktree=Path("/w"), workspace=None,
    base=BASE, base_metrics={}, bar=BASE, metrics=[], recent=[], comments=[], protected=[], repo_brief="",
    addendum="", timeout=60.0,
)  # fmt: skip
REQUEST = EvaluationRequest(
    candidate_id=1, project=PROJECT, worktree=Path("/w"), argv=["true"], env={}, timeout=5.0, log_dir=Path("/l"),
    metrics=["m"],
)  # fmt: skip
CLAIM = {"project": PROJECT, "idea": IDEA, "run": RUN}


def all_answers(host: PluginHost, hook: str, **arguments: Any) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        return {a.plugin: a.value if a.error is None else a.error for a in await host.call_all(hook, **arguments)}

    return anyio.run(ask)


def first(host: PluginHost, hook: str, **arguments: Any) -> Any:
    async def ask() -> Any:
        return await host.first(hook, **arguments)

    return anyio.run(ask)


def test_claim_asks_everybody_and_one_failure_does_not_silence_the_rest(install: Install) -> None:
    install("no", "@hookimpl\ndef herdr_claim(): return ClaimAnswer(allowed=False, reason='taken')")
    install("bad", "@hookimpl\ndef herdr_claim(run): raise KeyError('url')")
    install("exits", "@hookimpl\ndef herdr_claim(run): raise SystemExit(3)")
    install("wrong", "@hookimpl\ndef herdr_claim(run): return True")
    install("yes", "@hookimpl\ndef herdr_claim(project, idea, run): return ClaimAnswer(allowed=True)")
    host = PluginHost()
    answers = all_answers(host, "herdr_claim", **CLAIM)
    assert answers["no"] == ClaimAnswer(allowed=False, reason="taken")
    assert answers["yes"] == ClaimAnswer(allowed=True)
    assert answers["bad"].startswith("KeyError: 'url' (")
    assert answers["bad"].endswith("plugin_bad.py:5)")
    assert answers["exits"].startswith("SystemExit: 3")
    assert answers["wrong"].startswith("TypeError: herdr_claim returned bool, not ClaimAnswer or None")
    rows = {row.name: row for row in host.plugins_table()}
    assert (rows["bad"].state, rows["yes"].state) == ("failed", "ok")
    assert rows["bad"].why.startswith("herdr_claim: KeyError")


def test_a_plugin_sees_its_own_settings_and_not_those_of_others(install: Install) -> None:
    code = """
    @hookimpl
    def herdr_claim(project): return ClaimAnswer(allowed=True, reason=str(dict(project.settings)))
    """
    for name in ("loud", "quiet", "bare", "blocked"):
        install(name, code)
    answers = all_answers(PluginHost(), "herdr_claim", **CLAIM)
    assert {name: answer.reason for name, answer in answers.items()} == {
        "loud": "{'volume': 11}",
        "quiet": "{'volume': 1}",
        "bare": "{}",
    }


def test_collect_ideas_and_brief_sections_come_from_everybody(install: Install) -> None:
    install(
        "forge",
        """
        @hookimpl
        def herdr_collect_ideas(project):
            return [OutsideIdea(key=f"{project.name}-1", title="t", hypothesis="h")]

        @hookimpl
        def herdr_brief_sections(context):
            return [BriefSection(title="Thesis", body=context.idea.title + str(dict(context.project.settings)))]
        """,
    )
    install("wrong", "@hookimpl\ndef herdr_collect_ideas(project): return ['an idea']")
    answers = all_answers(PluginHost(), "herdr_collect_ideas", project=PROJECT)
    assert answers["forge"] == [OutsideIdea(key="p-1", title="t", hypothesis="h")]
    assert "str among its OutsideIdeas" in answers["wrong"]
    sections = all_answers(PluginHost(), "herdr_brief_sections", context=CONTEXT)
    assert sections == {"forge": [BriefSection(title="Thesis", body="t{}")]}


def test_the_first_brief_wins_and_nobody_is_asked_after_it(install: Install) -> None:
    install("a", "@hookimpl\ndef herdr_brief(context): raise RuntimeError('asked too late')")
    install("b", "@hookimpl\ndef herdr_brief(context): return 'brief of ' + context.agent")
    install("c", "@hookimpl\ndef herdr_brief(context): return None")
    install("d", "@hookimpl(trylast=True)\ndef herdr_brief(context): raise RuntimeError('asked too late')")
    host = PluginHost(environ={"HERDR_BLOCK_PLUGINS": "briefs"})
    assert first(host, "herdr_brief", context=CONTEXT) == "brief of worker#1"
    assert {row.name: row.state for row in host.plugins_table()}["a"] == "ok"


def test_evaluate_is_left_to_this_machine_only_when_nobody_failed(install: Install) -> None:
    install("passes", "@hookimpl\ndef herdr_evaluate(request): return None")
    assert first(PluginHost(), "herdr_evaluate", request=REQUEST) is None
    install("down", "@hookimpl\ndef herdr_evaluate(request): raise OSError('no route to host')")
    with pytest.raises(PluginError, match=r"down failed in herdr_evaluate: OSError: no route") as failed:
        first(PluginHost(), "herdr_evaluate", request=REQUEST)
    assert "HERDR_BLOCK_PLUGINS=down" in str(failed.value.fix)
    install("up", "@hookimpl\ndef herdr_evaluate(request):"
            " return EvaluationResult(metrics={'m': 1.0}, error=None, seconds=0.5)")  # fmt: skip
    result = first(PluginHost(), "herdr_evaluate", request=REQUEST)
    assert result == EvaluationResult(metrics={"m": 1.0}, error=None, seconds=0.5)


def test_setup_gives_each_plugin_a_register_of_its_own(install: Install) -> None:
    install(
        "checks",
        """
        @hookimpl
        def herdr_doctor_checks(register):
            register(DoctorCheck(name="c", run=lambda root: [DoctorResult(status="ok", message="fine")]))

        @hookimpl
        def herdr_register_harnesses(register):
            register("not a harness")
        """,
    )
    install("bad", "@hookimpl\ndef herdr_doctor_checks(register): register(None); 1 / 0")
    seen: list[tuple[str, DoctorCheck | None]] = []
    host = PluginHost()
    answers = host.setup("herdr_doctor_checks", lambda plugin: lambda check: seen.append((plugin, check)))
    checks = dict(seen)
    assert checks["checks"] is not None
    assert checks["checks"].run(None)[0].message == "fine"
    assert {a.plugin: a.error is None for a in answers if a.plugin in checks} == {"checks": True, "bad": False}

    def refuse(plugin: str) -> Callable[[Any], None]:
        def register(harness: Any) -> None:
            raise TypeError(f"{harness!r} of {plugin}")

        return register

    refused = {a.plugin: a.error for a in host.setup("herdr_register_harnesses", refuse)}
    assert "'not a harness' of checks" in str(refused["checks"])


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What the plugin `slow` waits for; threading is the one module that both it and the test can reach."""
    event = threading.Event()
    monkeypatch.setattr(threading, "gate", event, raising=False)
    return event


def test_a_late_answer_is_dropped_and_a_hanging_plugin_is_left_out_until_it_returns(
    install: Install, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("slow", "import threading\n@hookimpl\ndef herdr_claim(run): threading.gate.wait(30)")
    install("quick", "@hookimpl\ndef herdr_claim(run): return ClaimAnswer(allowed=True)")
    monkeypatch.setattr(herdr.plugins.calls, "DEADLINE", 0.2)
    host = PluginHost()
    told: list[tuple[str, str]] = []
    host.listen(lambda plugin, hook, error: told.append((plugin, error)))

    async def story() -> None:
        before = threading.active_count()
        for _ in range(5):
            answers = {a.plugin: a for a in await host.call_all("herdr_claim", **CLAIM)}
            assert answers["quick"].value == ClaimAnswer(allowed=True)
            assert answers["slow"].error is not None
        assert sum(t.name == "slow herdr_claim" for t in threading.enumerate()) == 1
        gate.set()
        with anyio.fail_after(10):
            while (await host.call("slow", "herdr_claim", **CLAIM)).error is not None:
                await anyio.sleep(0.01)
        assert threading.active_count() <= before + 1

    anyio.run(story)
    reasons = [error for plugin, error in told if plugin == "slow"]
    assert reasons[:2] == [
        "no answer within 0.2 s; what it may still answer is dropped",
        "skipped: its herdr_claim has not come back",
    ]
    assert {row.name: row.state for row in host.plugins_table()}["slow"] == "ok"


def test_a_scoring_may_take_as_long_as_the_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    assert herdr.plugins.calls.deadline("herdr_evaluate", {"request": REQUEST}) == 65.0
    assert herdr.plugins.calls.deadline("herdr_claim", CLAIM) == 60.0


def test_the_same_failure_is_told_once_until_the_plugin_recovers(install: Install, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    install("moody", f"import pathlib\n@hookimpl\ndef herdr_claim(): pathlib.Path({str(flag)!r}).read_text()")
    host = PluginHost()
    told: list[str] = []
    host.listen(lambda plugin, hook, error: told.append(f"{plugin} {hook}"))
    for exists in (False, False, True, False):
        flag.write_text("") if exists else flag.unlink(missing_ok=True)
        all_answers(host, "herdr_claim", **CLAIM)
    assert told == ["moody herdr_claim"] * 2


def test_tracing_prints_each_call(install: Install, capfd: pytest.CaptureFixture[str]) -> None:
    install("good", "@hookimpl\ndef herdr_claim(): return ClaimAnswer(allowed=True)")
    install("bad", "@hookimpl\ndef herdr_claim(): raise ValueError('x')")
    all_answers(PluginHost(), "herdr_claim", **CLAIM)
    assert capfd.readouterr().err == ""
    all_answers(PluginHost(environ={"HERDR_TRACE_PLUGINS": "1"}), "herdr_claim", **CLAIM)
    lines = sorted(capfd.readouterr().err.splitlines())
    assert len(lines) == 2
    assert lines[0].startswith("herdr: bad herdr_claim ")
    assert "ms: ValueError: x" in lines[0]
    assert lines[1].endswith("ms: ClaimAnswer")
