"""`polyresearch status` and `audit`: how the project stands, and which comments do not count."""

from __future__ import annotations

from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import finding_json, finding_line, line, metric, tell
from herdr_polyresearch.commands.project import PROGRAM_FILE, Project, warn
from herdr_polyresearch.commands.status_json import best_attempt, thesis_json, waiting
from herdr_polyresearch.protocol.audit import Audit
from herdr_polyresearch.protocol.audit import audit as find_audit
from herdr_polyresearch.protocol.model import Candidate, Thesis
from herdr_polyresearch.protocol.program import problems
from herdr_polyresearch.protocol.queue import best_metric, queue_depth
from herdr_polyresearch.protocol.threads import Comment


@command()
def status() -> None:
    """Show the queue, every thesis, what waits for the maintainer, and the findings."""
    project = Project()
    state, program = project.state, project.program
    for problem in problems(program):
        warn(f"{PROGRAM_FILE}: {problem}")
    found = find_audit(project.snapshot, state, project.ledger)
    items, pending, rejected = waiting(iter(state.theses), program)
    nodes = sorted({c.node for t in state.theses for c in t.active_claims})
    depth, best = queue_depth(state, program), best_metric(state, program)
    said = [
        f"Repo: {state.repo.full_name}",
        f"Theses: {len(state.theses)}",
        f"Queue depth: {depth}",
        f"Active nodes: {', '.join(nodes) or 'none'}",
        f"Best accepted metric: {metric(best)}",
        f"results.tsv current: {'yes' if found.ledger_current else 'no'}",
        f"Audit findings: {found.count('invalid')} invalid, {found.count('suspicious')} suspicious",
    ]
    if program.auto_approve:
        said.append("Maintainer gate: auto-approve enabled")
    else:
        who = program.maintainer_github_login or "unconfigured"
        said.append(f"Maintainer gate: waiting on `{who}` ({pending} awaiting, {rejected} rejected)")
        said += ["Maintainer review items:", *(f"- {item}" for item in items)] if items else []
    if state.theses:
        said += ["", "Theses:", *(_thesis_line(thesis, project) for thesis in state.theses)]
    if found.findings:
        said += ["", "Findings:", *(f"  {finding_line(one)}" for one in found.findings)]
    data = {
        "repo": state.repo.full_name,
        "auto_approve": program.auto_approve,
        "maintainer_github_login": program.maintainer_github_login,
        "queue_depth": depth,
        "active_nodes": nodes,
        "current_best_accepted_metric": best,
        "ledger_current": found.ledger_current,
        "invalid_count": found.count("invalid"),
        "suspicious_count": found.count("suspicious"),
        "maintainer_pending_count": pending,
        "maintainer_rejected_count": rejected,
        "maintainer_items": items,
        "audit_findings": [finding_json(one) for one in found.findings],
        "thesis_count": len(state.theses),
        "theses": [thesis_json(thesis, program) for thesis in state.theses],
    }
    tell(project, data, "\n".join(said))


@command()
def audit() -> None:
    """List the comments that do not count, and those that were edited or deleted after they were posted."""
    project = Project()
    found = find_audit(project.snapshot, project.state, project.ledger)
    repo = project.state.repo.full_name
    said = [f"Audit clean for {repo}."]
    if found.findings:
        current = "yes" if found.ledger_current else "no"
        counts = f"{found.count('invalid')} invalid, {found.count('suspicious')} suspicious"
        said = [f"Audit for {repo}: {counts}, results.tsv current: {current}"]
        said += [f"  {finding_line(one)}{'' if _blocks(found, one) else ' (does not block the lead)'}"
                 for one in found.findings]  # fmt: skip
    said += [f"  [edited] {_where(one)}" for one in found.edited]
    said += [f"  [deleted] {_where(one)}" for one in found.deleted]
    data = {
        "repo": repo,
        "ledger_current": found.ledger_current,
        "invalid_count": found.count("invalid"),
        "suspicious_count": found.count("suspicious"),
        "findings": [finding_json(one) for one in found.findings],
        "clean": found.clean,
        "blocking_count": len(found.blocking),
        "edited": [_comment_json(one) for one in found.edited],
        "deleted": [_comment_json(one) for one in found.deleted],
    }
    tell(project, data, "\n".join(said))


def _blocks(found: Audit, one: object) -> bool:
    return one in found.blocking or getattr(one, "scope", "") == "repository"


def _thesis_line(thesis: Thesis, project: Project) -> str:
    phase = f"{thesis.phase} ({thesis.outcome})" if thesis.outcome else thesis.phase
    who = [claim.node for claim in thesis.active_claims]
    parts = [phase, *(f"by {node}" for node in who)]
    if thesis.holder and thesis.holder.expired and thesis.phase == "approved":
        parts.append(f"the claim of {thesis.holder.node} expired and is not released yet")
    if not thesis.open:
        parts.append("closed")
    if thesis.attempts:
        best = best_attempt(thesis, project.program)
        parts.append(f"{len(thesis.attempts)} attempts" + (f", best {metric(best)}" if best is not None else ""))
    parts += [_candidate_text(c, project.program.required_confirmations) for c in thesis.candidates]
    return "  " + line(f"#{thesis.number} [{'; '.join(parts)}] {thesis.issue.title}")


def _candidate_text(candidate: Candidate, required: int) -> str:
    pull = candidate.pull
    if not candidate.open or candidate.decision:
        return f"PR #{pull.number} {candidate.decision.outcome if candidate.decision else pull.state}"
    if not candidate.policy_pass:
        return f"PR #{pull.number} waits for the policy check"
    return f"PR #{pull.number} passed, {len(candidate.current_reviews)} of {required} reviews"


def _where(comment: Comment) -> str:
    return f"comment {comment.id} on #{comment.thread} by {comment.author}"


def _comment_json(comment: Comment) -> dict[str, object]:
    return {
        "comment_id": comment.id,
        "number": comment.thread,
        "author": comment.author,
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
    }
