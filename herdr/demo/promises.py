"""What the demo promises, and whether the campaign kept it: the end checks, over what `piloop` shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from herdr.campaign.text import first_line
from herdr.contract.words import VerdictRule, VerdictWord
from herdr.ops.run import RunShown
from herdr.ops.views import CandidateView, IdeaView
from herdr.printing.values import number

from .ideas import IDEAS
from .scene import FINAL, Scene
from .steps import DieOnFirstStart

#: For each kind of promise about an idea: the verdict that shows it, the rule that gave it, and what to say.
OUTCOMES: dict[str, tuple[VerdictWord, tuple[VerdictRule, ...], str]] = {
    "wins": ("keep", ("gain",), "wins"),
    "regresses": ("discard", ("no_gain",), "makes it worse, and is not kept"),
    "cheats": ("discard", ("protected",), "edits the evaluator, and is not kept"),
    "crashes": ("crash", ("error",), "crashes, and is not kept"),
}


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """Something that must hold, whether it does, and the evidence, or what is there instead."""

    what: str
    kept: bool
    evidence: str


def promises(scene: Scene, shown: Mapping[str, RunShown]) -> list[Promise]:
    """Check everything that the demo promises.

    Args:
        scene: the campaign when it was over.
        shown: for each run by its name, all that happened in it, as `piloop run show` gives it.
    """
    by_title = {idea.title: idea for idea in scene.ideas}
    found = [_finished(scene), _gained(scene)]
    for idea in IDEAS:
        view = by_title.get(idea.title)
        if view is None:
            found.append(Promise(what=idea.title, kept=False, evidence="there is no such idea"))
            continue
        runs = [shown[run.ref] for run in scene.runs_of(view.ref)]
        if idea.promise == "finds":
            found.append(_found(view, scene.candidates_of(view.ref), runs))
        elif idea.promise is not None:
            found.append(_outcome(idea.promise, view, scene.candidates_of(view.ref)))
        if any(isinstance(step, DieOnFirstStart) for step in idea.script):
            found.append(_restarted(view, runs))
        if idea.steer is not None:
            found.append(_steered(view, runs))
    return found


def _finished(scene: Scene) -> Promise:
    open_ideas = [idea.ref for idea in scene.ideas if idea.status not in FINAL]
    evidence = f"{', '.join(open_ideas)} did not come to an end" if open_ideas else f"{len(scene.ideas)} ideas"
    return Promise(what="every idea was tried to its end", kept=not open_ideas, evidence=evidence)


def _gained(scene: Scene) -> Promise:
    head = scene.head
    gain = f", {abs(head.share):.1%} {'better' if (head.gain or 0) > 0 else 'worse'}" if head.share else ""
    evidence = f"{head.metric} {number(head.baseline_value)} → {number(head.value)}{gain}"
    return Promise(what="the head beats the baseline", kept=(head.gain or 0) > 0, evidence=evidence)


def _outcome(promise: str, view: IdeaView, candidates: Sequence[CandidateView]) -> Promise:
    verdict, rules, words = OUTCOMES[promise]
    fitting = [one for one in candidates if one.verdict == verdict and one.rule in rules and one.reason]
    wrongly = [one for one in candidates if one.verdict == "keep" and verdict != "keep"]
    telling = (wrongly or fitting or candidates)[-1:]
    evidence = [_why(one) for one in telling]
    return Promise(
        what=f"{view.ref} {words}",
        kept=bool(fitting) and not wrongly,
        evidence=evidence[0] if evidence else "it left no candidate",
    )


def _why(candidate: CandidateView) -> str:
    if candidate.verdict == "keep" and candidate.share:
        return f"{candidate.ref}, {candidate.share:.1%} better than {candidate.bar}"
    return f"{candidate.ref} {candidate.verdict or 'not judged'}: {candidate.reason}"


def _found(view: IdeaView, candidates: Sequence[CandidateView], runs: Sequence[RunShown]) -> Promise:
    findings = [one for run in runs for one in run.comments if one.kind == "finding"]
    evidence = first_line(findings[-1].body) if findings else "it left no finding"
    what = f"{view.ref} ends with a finding instead of a commit"
    return Promise(what=what, kept=bool(findings) and not candidates, evidence=evidence)


def _restarted(view: IdeaView, runs: Sequence[RunShown]) -> Promise:
    agents = [one.agent for run in runs for one in run.agents]
    failed = next((agent for agent in agents if agent.failed_start), None)
    worked = [agent for agent in agents if not agent.failed_start]
    what = f"{view.ref} starts again after a failed start"
    if failed is None:
        return Promise(what=what, kept=False, evidence="no start of it failed")
    said = f"{failed.ref} {failed.cause}: {failed.last_line or 'it said nothing'}"
    if not worked:
        return Promise(what=what, kept=False, evidence=f"{said}; no other agent worked")
    kept = runs[0].run.state == "succeeded" and len(runs) == 1
    return Promise(what=what, kept=kept, evidence=f"{said}; {worked[-1].ref} {runs[0].run.state}")


def _steered(view: IdeaView, runs: Sequence[RunShown]) -> Promise:
    what = f"{view.ref} is steered while it runs"
    sent = [message for run in runs for message in run.messages if message.kind == "prompt"]
    if not sent:
        return Promise(what=what, kept=False, evidence="nothing was said to it")
    values = [one.candidate.value for run in runs for one in run.commits]
    before, after = (values[0], values[-1]) if values else (None, None)
    changed = len(values) > 1 and before != after
    result = f"{number(before)} before, {number(after)} after" if changed else "its result did not change"
    kept = sent[-1].state == "received" and changed
    return Promise(what=what, kept=kept, evidence=f"{sent[-1].agent}: {sent[-1].state}; {result}")
