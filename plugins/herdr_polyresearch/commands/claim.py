"""`polyresearch claim` and `batch-claim`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from herdr.api import HerdrError
from herdr_polyresearch.commands.duties import refuse_while_blocked
from herdr_polyresearch.commands.errors import GuardError, LostRaceError
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import line, tell
from herdr_polyresearch.commands.project import Project, warn
from herdr_polyresearch.commands.workplace import Workplace, free_attempt, make_worktree, take_back, use_checkout
from herdr_polyresearch.forge.base import Comment, WriteUnknownError
from herdr_polyresearch.protocol.blocks import ClaimBlock, ReleaseBlock
from herdr_polyresearch.protocol.model import Thesis
from herdr_polyresearch.protocol.names import thesis_branch, worktree_name
from herdr_polyresearch.protocol.queue import claim_refusal, open_to


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that counts, or in a dry run one that would be made."""

    issue: int
    title: str
    node: str
    branch: str
    path: Path | None

    def as_json(self) -> dict[str, Any]:
        """As the existing tool's JSON has it."""
        path = str(self.path) if self.path else None
        return {"issue": self.issue, "node": self.node, "branch": self.branch, "worktree_path": path}


@command()
@click.argument("issue", type=int)
@click.option("--no-worktree", is_flag=True, help="Make the branch in this checkout instead.")
def claim(issue: int, no_worktree: bool) -> None:
    """Claim a thesis, and make a worktree for it from the default branch.

    The exit status is 4 when another node has it, also when that came to light only after the claim was posted.
    """
    project = Project()
    node = project.as_contributor("claim").node_id
    thesis = project.thesis(issue)
    refuse_while_blocked(project, "contributor", "claim")
    # A run has its folder already, in a repository of its own; one of the person's is no place for its agent.
    found = _claim(project, thesis, node, worktree=not (no_worktree or project.checkout.in_run))
    where = f" in worktree `{found.path}`" if found.path else ""
    done = "Would claim" if project.dry_run else "Claimed"
    said = [f"{done} thesis #{issue} as node `{node}` on branch `{found.branch}`{where}."]
    if not project.dry_run:
        enter = f"cd {found.path} && " if found.path else ""
        stem = thesis_branch(issue, thesis.issue.title)
        recorded = {attempt.branch for attempt in thesis.attempts}
        following = f"git checkout -b {free_attempt(project.checkout, thesis)} {stem}"
        if found.branch != stem and found.branch not in recorded:
            following = f"git status; `{found.branch}` has no attempt on record yet"
        said.append(f"NEXT: {enter}{following}")
    tell(project, found.as_json(), "\n".join(said))


@command("batch-claim")
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="How many theses.")
def batch_claim(count: int) -> None:
    """Claim several theses, the oldest first; duties are looked at once, before the first."""
    project = Project()
    node = project.as_contributor("claim").node_id
    if project.checkout.in_run:
        raise GuardError("a run has one folder, so it works on one thesis", fix="polyresearch claim ISSUE")
    refuse_while_blocked(project, "contributor", "batch-claim")
    before = sum(c.node == node for t in project.state.theses for c in t.active_claims)
    found: list[Claimed] = []
    for thesis in open_to(project.state, node):
        if len(found) == count:
            break
        try:
            found.append(_claim(project, thesis, node, worktree=True))
        except LostRaceError as lost:
            warn(lost.message)
        except HerdrError as error:
            if not found:
                raise
            warn(f"stopped after {', '.join(f'#{one.issue}' for one in found)}: {error.message}")
            break
    data = {
        "node": node,
        "active_claims": before,
        "claimed_count": len(found),
        "requested_count": count,
        "claims": [one.as_json() for one in found],
    }
    if not found:
        tell(project, data, f"No claimable theses available for node `{node}` (requested {count}).")
        return
    done = "Would claim" if project.dry_run else "Claimed"
    said = [f"{done} {len(found)} of {count} requested thesis slots for node `{node}` ({before} active before)."]
    said += [f"  - thesis #{one.issue} on branch `{one.branch}` in worktree `{one.path}`" for one in found]
    tell(project, data, "\n".join(said))


def _claim(project: Project, thesis: Thesis, node: str, *, worktree: bool) -> Claimed:
    """Claim one thesis: make its workplace, post, and look who won."""
    number, issue = thesis.number, thesis.issue
    _check(project, thesis, number, node)
    branch = thesis_branch(number, issue.title)
    path = project.checkout.main / worktree_name(number, issue.title) if worktree else None
    if not project.dry_run:
        base = project.tip
        if base is None:
            raise GuardError(
                f"{project.default_branch} has no commit", fix=f"git push origin {project.default_branch}"
            )
        with project.checkout.locked():
            # Somebody may have claimed it since everything was read; asking again keeps lost races rare.
            latest = project.reread(number)
            _check(project, latest, number, node)
            if worktree:
                workplace = make_worktree(project.checkout, issue, base, node)
            else:
                workplace = use_checkout(project.checkout, issue, base)
            _win(project, latest or thesis, node, workplace)
            branch, path = workplace.branch, workplace.path
    return Claimed(issue=number, title=line(issue.title), node=node, branch=branch, path=path)


def _check(project: Project, thesis: Thesis | None, number: int, node: str) -> None:
    """Let a thesis pass that this node can claim now.

    Raises:
        LostRaceError: another node has it.
        GuardError: nobody can claim it now, or this node has it already.
    """
    refusal = claim_refusal(thesis, number)
    if thesis is None or refusal:
        holder = thesis.active_claims[0].node if thesis and thesis.active_claims else None
        if thesis and thesis.phase == "claimed" and holder == node:
            raise GuardError(
                f"thesis #{number} is claimed by this node, `{node}`, already",
                fix=f"go on in {worktree_name(number, thesis.issue.title)}, or polyresearch release {number}",
            )
        if thesis and thesis.phase == "claimed" and holder:
            raise LostRaceError(
                f"thesis #{number} is claimed by node `{holder}`", fix="polyresearch status shows what is free"
            )
        raise GuardError(refusal or f"thesis #{number} not found", fix="polyresearch status shows what is free")
    held = thesis.holder
    if held and held.author != project.login and project.login != project.program.lead_github_login:
        raise GuardError(
            f"the claim of node `{held.node}` on thesis #{number} has expired and was not released yet",
            fix="wait for the lead's polyresearch sync, which releases it",
        )


def _win(project: Project, thesis: Thesis, node: str, workplace: Workplace) -> None:
    """Post the claim, and see whether it is the one that counts; otherwise nothing is left of it here.

    Raises:
        LostRaceError: another node's came first.
    """
    try:
        if thesis.holder:
            # It has expired. Until it is released no reader counts another claim.
            release = ReleaseBlock(thesis=thesis.number, node=thesis.holder.node, reason="timeout")
            project.post(thesis.number, release)
        posted = _post(project, thesis.number, node)
    except BaseException:
        take_back(project.checkout, workplace)
        raise
    found = project.reread(thesis.number, posted)
    holder = found.holder if found else None
    if holder and (
        holder.comment_id == posted.id if posted else (holder.node, holder.author) == (node, project.login)
    ):
        return
    take_back(project.checkout, workplace)
    if holder is None and posted is None:
        raise HerdrError(f"the claim of thesis #{thesis.number} did not land", fix="try again")
    other = f"node `{holder.node}` was faster" if holder else "it was closed or decided meanwhile"
    raise LostRaceError(
        f"you lost the race for thesis #{thesis.number}: {other}; nothing is left of your claim here",
        fix="polyresearch status shows what is free",
    )


def _post(project: Project, number: int, node: str) -> Comment | None:
    """Post a claim; None when nobody can say whether it landed."""
    try:
        return project.post(number, ClaimBlock(thesis=number, node=node))
    except WriteUnknownError as error:
        warn(f"{error.message}; looking whether it did")
        return None
