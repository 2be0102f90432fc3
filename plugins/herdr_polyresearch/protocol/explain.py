"""`polyresearch explain`: saved threads in, and what they are parsed to, derived to, found and decided, out.

One case is an object with the `kind` that says what to explain; a file holds one, a list of them, or
`{"cases": […]}`. Results have the field names of a case's `expected`. Nothing is read but the text given.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from herdr.api import HerdrError
from herdr_polyresearch.protocol.blocks import Annotation, Block
from herdr_polyresearch.protocol.comments import TYPES, parse, render
from herdr_polyresearch.protocol.decide import Verdict, decide
from herdr_polyresearch.protocol.derive import derive
from herdr_polyresearch.protocol.duties import duties
from herdr_polyresearch.protocol.ledger import Ledger, missing_rows, read_ledger
from herdr_polyresearch.protocol.model import Candidate, State, Thesis
from herdr_polyresearch.protocol.names import slug, thesis_of
from herdr_polyresearch.protocol.pace import quota
from herdr_polyresearch.protocol.program import Program, ProgramError, read_program
from herdr_polyresearch.protocol.queue import best_metric, claim_refusal, queue_depth
from herdr_polyresearch.protocol.scalars import as_time, read_time
from herdr_polyresearch.protocol.slash import Slash
from herdr_polyresearch.protocol.surface import read_surface
from herdr_polyresearch.protocol.threads import GHOST, THESIS_LABEL, Comment, Issue, PullRequest, Repo, Snapshot

Json = Mapping[str, Any]

_FORMAT = "save the threads as docs/polyresearch.md shows"
_OURS = ("exact", "runs", "commit", "pr")
"""Fields that only we write; shown where they are set."""


class ExplainError(HerdrError):
    """The file is not one that can be explained."""


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """What one case comes to; `result` is an object, or a list where a case's input is one."""

    id: str
    kind: str
    result: Any


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What a file comes to, case by case, in its order."""

    cases: tuple[Explained, ...]
    single: bool
    """Whether the file is one case by itself."""

    def as_json(self) -> Any:
        """Return what `--json` prints: the bare result of a single case, else a list with ids and kinds."""
        return self.cases[0].result if self.single else msgspec.to_builtins(self.cases)

    def as_text(self) -> str:
        """Return what is printed for people: each case's id and kind, then one line for each field."""
        shown = []
        for case in self.cases:
            shown.append(f"{case.id} ({case.kind})")
            fields = case.result.items() if isinstance(case.result, dict) else enumerate(case.result)
            shown += [f"  {name}: {_plain(value)}" for name, value in fields]
        return "\n".join(shown)


def explain(text: str) -> Explanation:
    """Explain every case of a file.

    Args:
        text: the file: JSON.

    Raises:
        ExplainError: it is no JSON, or a case lacks what its kind needs.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise ExplainError(f"the file is not JSON: {wrong}", fix=_FORMAT) from None
    cases = data.get("cases", data) if isinstance(data, dict) else data
    single = not isinstance(cases, list)
    listed = [cases] if single else cases
    return Explanation(
        cases=tuple(_explain_case(case, number) for number, case in enumerate(listed, 1)), single=single
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) and "\n" not in value else json.dumps(value, ensure_ascii=False)


def _explain_case(case: Any, number: int) -> Explained:
    if not isinstance(case, dict):
        raise ExplainError(f"case {number} is not an object", fix=_FORMAT)
    kind = case.get("kind", "derive")
    name = str(case.get("id", f"case {number}"))
    if kind not in _KINDS:
        raise ExplainError(f"{name}: unknown kind {kind!r}", fix=f"use one of {', '.join(_KINDS)}")
    try:
        return Explained(id=name, kind=kind, result=_KINDS[kind](case))
    except HerdrError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, msgspec.MsgspecError) as wrong:
        problem = f"{wrong} is missing" if isinstance(wrong, KeyError) else str(wrong)
        raise ExplainError(f"{name}: this is no case of kind {kind}: {problem}", fix=_FORMAT) from wrong


# --- the kinds of one input -------------------------------------------------------------------------------


def _parse(case: Json) -> dict[str, Any]:
    return {"parsed": show_event(parse(_thread(case)["comments"][0]["body"]))}


def _render(case: Json) -> dict[str, Any]:
    given = dict(case["input"])
    block = TYPES[str(given.pop("type")).replace("_", "-")]
    if given.get("timestamp"):
        given["timestamp"] = read_time(given["timestamp"])
    given = {
        name: value
        for name, value in given.items()
        if value is not None or name in ("env_sha", "baseline_metric")
    }
    return {"text": render(msgspec.convert(given, block))}


def _config(case: Json) -> dict[str, Any]:
    try:
        program = read_program(case["input"])
    except ProgramError as wrong:
        return {"error": wrong.message}
    shown: dict[str, Any] = msgspec.structs.asdict(program)
    for name in ("assignment_timeout", "review_timeout"):
        shown[f"{name}_s"] = int(shown.pop(name).total_seconds())
    return {name: _finite(value) for name, value in shown.items()}


def _surface(case: Json) -> dict[str, Any]:
    surface = read_surface(case["input"]["program"])
    files = case["input"]["files"]
    return {
        "can": list(surface.can),
        "cannot": list(surface.cannot),
        "allowed": [path for path in files if surface.allows(path)],
        "violations": list(surface.violations(files)),
    }


def _slug(case: Json) -> list[str]:
    return [slug(title) for title in case["input"]]


def _branch(case: Json) -> list[int | None]:
    return [thesis_of(branch) for branch in case["input"]]


def _pace(case: Json) -> list[dict[str, Any]]:
    reach = [quota(i["issues"], i["prs"], i["remaining"]) for i in case["input"]]
    return [{"cost": r.derive_cost, "left": r.commands_left, "low": r.is_low, "exit": r.exit_code} for r in reach]


def show_event(event: Block | Slash | None) -> dict[str, Any] | None:
    """Return a parsed comment by the names of its fields."""
    if event is None:
        return None
    if isinstance(event, Slash):
        return {"type": "slash_approve" if event.approve else "slash_reject", "reason": event.reason}
    shown: dict[str, Any] = {"type": event.TYPE.replace("-", "_")}
    for name, value in msgspec.structs.asdict(event).items():
        if name == "annotations":
            shown[name] = [_annotation(a) for a in value] or None
        elif name not in _OURS or value:
            shown[name] = _finite(list(value) if isinstance(value, tuple) else value)
    return shown


def _annotation(annotation: Annotation) -> dict[str, str]:
    shown: dict[str, str] = msgspec.to_builtins(annotation)
    return shown


def _finite(value: Any) -> Any:
    # JSON has no word for infinity.
    return None if isinstance(value, float) and not math.isfinite(value) else value


# --- threads ----------------------------------------------------------------------------------------------


def _derive(case: Json) -> dict[str, Any]:
    program = _program(case.get("config") or {})
    snapshot = _snapshot(case)
    state = derive(snapshot, program, as_time(case["now"]))
    ledger = read_ledger(case.get("results_tsv"))
    number = _thread(case)["number"]
    thesis = state.thesis(number)
    missing = missing_rows(state, ledger)
    shown = _thesis(thesis) if thesis else {}
    shown |= {
        "queue_depth": queue_depth(state, program),
        "claim_guard": _guard(thesis, number),
        "best_accepted_metric": best_metric(state, program),
        "missing_rows": [list(msgspec.structs.astuple(row)) for row in missing],
        "ledger_current": not missing,
        "findings": [[f.scope, f.number, f.severity, f.comment_id] for f in state.findings],
        "finding_messages": [f.message for f in state.findings],
    }
    candidate = _main_candidate(state, thesis)
    if candidate:
        shown["pr"] = _pr(candidate)
    if case.get("as_login") is not None:
        found = duties(state, program, ledger, case["as_login"], case.get("as_node"))
        shown["duties"] = {
            "blocking": [d.category for d in found.blocking],
            "advisory": [d.category for d in found.advisory],
        }
    if case.get("decide"):
        shown["decide"] = _decide(state, program, ledger, candidate, case)
    return shown


def _thesis(thesis: Thesis) -> dict[str, Any]:
    return {
        "phase": f"resolved:{thesis.outcome}" if thesis.outcome else thesis.phase,
        "approved": thesis.approved,
        "maintainer_approved": thesis.maintainer_approved,
        "maintainer_rejected": thesis.maintainer_rejected,
        "active_claim_nodes": [claim.node for claim in thesis.active_claims],
        "held_by": thesis.holder.node if thesis.holder else None,
        "releases": [[release.node, release.reason] for release in thesis.releases],
        "attempts": [[a.node, a.branch, _finite(a.metric), a.observation] for a in thesis.attempts],
    }


def _pr(candidate: Candidate) -> dict[str, Any]:
    return {
        "thesis": candidate.thesis,
        "policy_pass": candidate.policy_pass,
        "maintainer_approved": candidate.maintainer_approved,
        "maintainer_rejected": candidate.maintainer_rejected,
        "review_claims": [claim.node for claim in candidate.review_claims],
        "review_nodes": [review.node for review in candidate.reviews],
        "decision": candidate.decision.outcome if candidate.decision else None,
    }


def _guard(thesis: Thesis | None, number: int) -> str:
    refusal = claim_refusal(thesis, number)
    if refusal is None:
        return "ok"
    return "not claimable" if "is not claimable" in refusal else refusal


def _main_candidate(state: State, thesis: Thesis | None) -> Candidate | None:
    """Return the pull request that a case is about: the newest of its thesis, open ones first."""
    candidates = thesis.candidates if thesis else ()
    return next((c for c in candidates if c.open), None) or next(iter(candidates or state.candidates), None)


def _decide(
    state: State, program: Program, ledger: Ledger, candidate: Candidate | None, case: Json
) -> dict[str, Any]:
    number = case["decide"] if type(case["decide"]) is int else candidate.pull.number if candidate else 0
    heads = None if case.get("main_head") is None else [case["main_head"]]
    found = decide(state, program, ledger, number, heads)
    if not isinstance(found, Verdict):
        return {"result": f"refuse:{found}"}
    return {"result": found.outcome, "confirmations": found.confirmations, "actions": list(found.actions)}


# --- reading a case ---------------------------------------------------------------------------------------


def _thread(case: Json) -> Json:
    thread: Json = case["issue"]
    return thread


def _program(config: Json) -> Program:
    """Read a case's `config` as PROGRAM.md would have it."""
    named = {
        name.removesuffix("_s"): f"{value}s" if name.endswith("_timeout_s") else value
        for name, value in config.items()
    }
    lines = [
        f"{name}: {json.dumps(value) if isinstance(value, bool) else value}"
        for name, value in named.items()
        if value is not None
    ]
    return read_program("\n".join(lines))


def _snapshot(case: Json) -> Snapshot:
    issues = [_thread(case), *case.get("other_issues", ())]
    pulls = case.get("prs") or []
    comments: dict[int, tuple[Comment, ...]] = {}
    for thread in (*issues, *pulls):
        number = thread["number"]
        comments[number] = tuple(_comment(number, c) for c in thread.get("comments", ()))
    return Snapshot(
        repo=Repo(full_name=str(case.get("repo", "owner/name"))),
        issues=tuple(map(_issue, issues)),
        pulls=tuple(map(_pull, pulls)),
        comments=comments,
    )


def _comment(thread: int, given: Json) -> Comment:
    updated = given.get("updated_at")
    return Comment(
        id=given["id"],
        thread=thread,
        author=given.get("author") or GHOST,
        body=given.get("body") or "",
        created_at=as_time(given["created_at"]),
        updated_at=as_time(updated) if updated else None,
    )


def _issue(given: Json) -> Issue:
    return Issue(
        number=given["number"],
        title=given.get("title", ""),
        author=given.get("author") or GHOST,
        created_at=_time(given),
        body=given.get("body") or "",
        state="closed" if given["state"].lower() == "closed" else "open",
        closed_at=_optional_time(given, "closed_at"),
        labels=tuple(given.get("labels", (THESIS_LABEL,))),
    )


def _pull(given: Json) -> PullRequest:
    merged = given["state"].lower() == "merged" or given.get("merged_at") is not None
    closed = given["state"].lower() == "closed"
    return PullRequest(
        number=given["number"],
        title=given.get("title", ""),
        author=given.get("author") or GHOST,
        created_at=_time(given),
        head_ref=given["head_ref"],
        head_sha=given.get("head_sha") or "",
        base_ref=given.get("base_ref", "main"),
        state="merged" if merged else "closed" if closed else "open",
        closed_at=_optional_time(given, "closed_at"),
        merged_at=_optional_time(given, "merged_at"),
    )


def _time(given: Json) -> datetime:
    return as_time(given.get("created_at") or "1970-01-01T00:00:00Z")


def _optional_time(given: Json, name: str) -> datetime | None:
    return as_time(given[name]) if given.get(name) else None


_KINDS: dict[str, Callable[[Json], Any]] = {
    "parse": _parse,
    "render": _render,
    "config": _config,
    "surface": _surface,
    "slug": _slug,
    "branch": _branch,
    "pace": _pace,
    "derive": _derive,
}
