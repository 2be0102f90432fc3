"""`polyresearch sync`: what the trail records, brought into results.tsv, and what the lead repairs on the way."""

from __future__ import annotations

from herdr_polyresearch.commands.lead import check_ledger
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.project import Project
from herdr_polyresearch.commands.publish import check_writable, publish
from herdr_polyresearch.protocol.broken import mended
from herdr_polyresearch.protocol.ledger import Row, missing_rows, read_ledger, show_ledger
from herdr_polyresearch.protocol.repairs import Repair, repairs


@command()
def sync() -> None:
    """Append what results.tsv lacks, commit and push it; release claims that are over.

    Only the lead may. The checkout may be in any state, as long as results.tsv has no changes of its own in it.
    """
    run_sync()


def run_sync(*, replace: bool = False) -> None:
    """Do what `sync` does.

    Args:
        replace: whether broken rows of attempts that the comments record are written anew.
    """
    project = Project()
    project.as_lead()
    check_ledger(project, mended(project.state, project.ledger) if replace else project.ledger)
    check_writable(project.checkout, project.default_branch)
    posted = _mend(project)
    added: list[Row] = []

    def compose(text: str | None) -> str | None:
        found = read_ledger(text)
        ledger = mended(project.state, found) if replace else found
        added[:] = missing_rows(project.state, ledger)
        return show_ledger(ledger, added) if added or found.damaged or ledger != found else None

    if project.dry_run:
        compose(project.checkout.file(project.tip, "results.tsv"))
        commit = None
    else:
        commit = publish(project.checkout, project.default_branch, compose, project.login)
    said = [f"{'Would post' if project.dry_run else 'Posted'} on #{one.thread}: {one.why}" for one in posted]
    would = "Would append" if project.dry_run else "Appended"
    if added or commit:
        said.append(f"{would} {len(added)} rows to results.tsv.")
        said += [f"  {row.thesis} {row.attempt}: {row.status}" for row in added]
    else:
        said.append("results.tsv is already current.")
    data = {
        "added_rows": len(added),
        "attempts": [row.attempt for row in added],
        "commit": commit,
        "repairs": [{"thread": one.thread, "why": one.why} for one in posted],
    }
    tell(project, data, "\n".join(said))


def _mend(project: Project) -> tuple[Repair, ...]:
    """Post the repairs; the state is read again when there were any."""
    found = repairs(project.state)
    if found and not project.dry_run:
        for repair in found:
            project.post(repair.thread, repair.block)
        project.read_again()
    return found
