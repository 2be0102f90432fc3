"""`polyresearch admin`: what the lead repairs, each with a note in the trail."""

from __future__ import annotations

import click

from herdr.api import SETTINGS, HerdrError
from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.project import Project, warn
from herdr_polyresearch.commands.sync import run_sync
from herdr_polyresearch.protocol.blocks import AdminNoteBlock, ReleaseBlock
from herdr_polyresearch.protocol.clean import clean_value
from herdr_polyresearch.protocol.model import Finding
from herdr_polyresearch.protocol.repairs import acknowledgement
from herdr_polyresearch.protocol.words import REASONS, Reason


@click.group(context_settings=SETTINGS)
def admin() -> None:
    """Repair what went wrong; only the lead may, and each repair leaves a note."""


@command("release-claim")
@click.argument("issue", type=int)
@click.option("--node", required=True, help="The node that holds the claim.")
@click.option("--reason", type=click.Choice(REASONS), required=True)
@click.option("--note", default="Lead repair released the stale or invalid claim", show_default=True)
def release_claim(issue: int, node: str, reason: Reason, note: str) -> None:
    """Release a node's claim for it, expired or not."""
    project = Project()
    project.as_lead()
    thesis = project.thesis(issue)
    if thesis.holder is None or thesis.holder.node != node:
        held = f"`{thesis.holder.node}` holds it" if thesis.holder else "nobody holds it"
        raise GuardError(f"node `{node}` holds no claim of thesis #{issue}: {held}", fix="polyresearch status")
    if not project.dry_run:
        target = f"thesis #{issue} node `{node}`"
        project.post(issue, AdminNoteBlock(action="release_claim", target=target, note=_note(note)))
        project.post(issue, ReleaseBlock(thesis=issue, node=node, reason=reason))
    done = "Would release" if project.dry_run else "Released"
    data = {"action": "release_claim", "issue": issue, "node": node}
    tell(project, data, f"{done} the claim of node `{node}` on thesis #{issue} (reason `{reason}`).")


@command("acknowledge-invalid")
@click.argument("comment_id", type=int)
@click.option("--note", required=True, help="Why it needs no more attention.")
@click.option("--withdraw", is_flag=True, help="It is an attempt that counts: take it back.")
def acknowledge_invalid(comment_id: int, note: str, withdraw: bool) -> None:
    """Say that a finding was seen, so that the audit is clean of it; the comment still does not count."""
    project = Project()
    project.as_lead()
    finding = _finding(project, comment_id, withdraw=withdraw)
    block = acknowledgement(finding, _note(note))
    if not project.dry_run and finding.number is not None:
        project.post(finding.number, block)
    done = "Would acknowledge" if project.dry_run else "Acknowledged"
    data = {"action": "acknowledge_invalid", "comment_id": comment_id, "scope": block.target}
    tell(project, data, f"{done} comment {comment_id} on {block.target}.")


@command("reopen-thesis")
@click.argument("issue", type=int)
@click.option("--note", default="Lead repair reopened the thesis", show_default=True)
def reopen_thesis(issue: int, note: str) -> None:
    """Open a closed thesis again; what was decided stays decided."""
    project = Project()
    project.as_lead()
    thesis = project.thesis(issue)
    if thesis.open:
        raise GuardError(f"thesis #{issue} is open", fix="polyresearch status")
    if thesis.phase in ("resolved", "exhausted"):
        warn(
            f"thesis #{issue} stays {thesis.outcome or thesis.phase} and cannot be claimed: generate a successor"
        )
    if not project.dry_run:
        project.forge.reopen_issue(issue)
        project.post(issue, AdminNoteBlock(action="reopen_thesis", target=f"thesis #{issue}", note=_note(note)))
    done = "Would reopen" if project.dry_run else "Reopened"
    tell(project, {"action": "reopen_thesis", "issue": issue}, f"{done} thesis #{issue}.")


@command("reconcile-ledger")
def reconcile_ledger() -> None:
    """Bring results.tsv up to date as sync does, and write broken rows of recorded attempts anew."""
    run_sync(replace=True)


def _note(text: str) -> str:
    """The note without the full stop that its visible line ends with."""
    return clean_value(text).rstrip(".") or "Lead repair"


def _finding(project: Project, comment_id: int, *, withdraw: bool) -> Finding:
    """Return what is to be acknowledged: a finding, or with `withdraw` an attempt that counts."""
    known = (*project.state.findings, *project.state.disputed)
    found = next((one for one in known if one.comment_id == comment_id), None)
    if found is not None:
        return found
    attempts = [a for t in project.state.theses for a in t.attempts if a.comment_id == comment_id]
    if not attempts:
        raise HerdrError(f"no audit finding is about comment {comment_id}", fix="polyresearch audit lists them")
    if not withdraw:
        raise GuardError(
            f"comment {comment_id} is an attempt that counts, on `{attempts[0].branch}`",
            fix="add --withdraw to take it back",
        )
    number = attempts[0].thesis
    return Finding(scope="issue", number=number, severity="invalid", message="withdrawn", comment_id=comment_id)


for one in (release_claim, acknowledge_invalid, reopen_thesis, reconcile_ledger):
    admin.add_command(one)
