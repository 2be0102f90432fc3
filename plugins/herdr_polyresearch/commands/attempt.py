"""`polyresearch attempt`, `annotate` and `release`: what a contributor says of a claimed thesis."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
import msgspec

from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.commands.measured import check_measured, finite, mean_of
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import metric as shown
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.project import Project, warn
from herdr_polyresearch.commands.workplace import free_attempt
from herdr_polyresearch.protocol.blocks import Annotation, AnnotationBlock, AttemptBlock, ReleaseBlock
from herdr_polyresearch.protocol.clean import clean_text, clean_value
from herdr_polyresearch.protocol.model import Thesis
from herdr_polyresearch.protocol.names import belongs, thesis_branch
from herdr_polyresearch.protocol.words import OBSERVATIONS, REASONS, Observation, Reason


@command()
@click.argument("issue", type=int)
@click.option(
    "--metric", type=finite, metavar="NUMBER", help="What was measured; the mean of the runs when absent."
)
@click.option(
    "--run", "runs", type=finite, metavar="NUMBER", multiple=True, help="One measurement of several. Repeatable."
)
@click.option(
    "--baseline", type=finite, metavar="NUMBER", required=True, help="What you measured of the default branch."
)
@click.option("--observation", type=click.Choice(OBSERVATIONS), required=True)
@click.option("--summary", required=True, help="What was tried, on one line.")
@click.option("--annotations", metavar="JSON", help='A list of {"category": …, "task_id": …, "text": …}.')
def attempt(
    issue: int,
    metric: float | None,
    runs: tuple[float, ...],
    baseline: float,
    observation: Observation,
    summary: str,
    annotations: str | None,
) -> None:
    """Record a completed experiment, from the branch that it was made on.

    Where runs differ by more than a tenth of metric_tolerance, measure three times and give each as --run.
    """
    value = mean_of(metric, runs, observation)
    notes = _annotations(annotations)
    if not clean_value(summary):
        raise click.BadParameter("it is empty", param_hint="--summary")
    project = Project()
    node = project.as_contributor("record attempts").node_id
    thesis = held_thesis(project, issue, node)
    branch = _branch(project, thesis)
    _check_commit(project, branch, observation)
    check_measured(project.program, value, baseline, observation, several=len(runs) >= 3)
    block = AttemptBlock(
        thesis=issue,
        branch=branch,
        metric=value,
        baseline_metric=baseline,
        observation=observation,
        summary=_with_range(summary, runs),
        annotations=notes,
        runs=runs,
        commit=project.checkout.head,
    )
    if not project.dry_run:
        project.post(issue, block)
    number = len(thesis.attempts) + 1
    done = "Would record" if project.dry_run else "Recorded"
    said = [f"{done} attempt {number} for thesis #{issue} on `{branch}` ({shown(value)} vs {shown(baseline)})."]
    if notes:
        said.append(f"Included {len(notes)} structured annotation(s).")
    stem = thesis_branch(issue, thesis.issue.title)
    following = f"git checkout -b {free_attempt(project.checkout, thesis)} {stem}"
    said.append(f"NEXT: polyresearch submit {issue}" if observation == "improved" else f"NEXT: {following}")
    data = {
        "issue": issue,
        "branch": branch,
        "metric": value,
        "baseline_metric": baseline,
        "attempt_number": number,
        "annotations_count": len(notes),
        "runs": list(runs),
        "commit": block.commit,
    }
    tell(project, data, "\n".join(said))


@command()
@click.argument("issue", type=int)
@click.option("--text", required=True, help="The note; - reads standard input.")
def annotate(issue: int, text: str) -> None:
    """Leave a note on a thesis, open or closed, for whoever proposes the next one."""
    text = sys.stdin.read() if text == "-" else text
    if not clean_text(text):
        raise click.BadParameter("it is empty", param_hint="--text")
    project = Project()
    node = project.node.node_id
    project.thesis(issue)
    if not project.dry_run:
        project.post(issue, AnnotationBlock(thesis=issue, node=node, text=text))
    done = "Would annotate" if project.dry_run else "Annotated"
    tell(project, {"issue": issue, "node": node}, f"{done} thesis #{issue} for node `{node}`.")


@command()
@click.argument("issue", type=int)
@click.option("--reason", type=click.Choice(REASONS), required=True)
def release(issue: int, reason: Reason) -> None:
    """Give a claim up without a candidate."""
    project = Project()
    node = project.node.node_id
    held_thesis(project, issue, node, over=True)
    if not project.dry_run:
        project.post(issue, ReleaseBlock(thesis=issue, node=node, reason=reason))
    done = "Would release" if project.dry_run else "Released"
    said = [f"{done} thesis #{issue} for node `{node}` (reason `{reason}`)."]
    path = next((p for p in _worktrees(project) if belongs(p[1], issue)), None)
    if path and not project.dry_run and not project.checkout.in_run:
        said.append(f"NEXT: cd {project.checkout.main} && git worktree remove {path[0]}")
    tell(project, {"issue": issue, "node": node, "reason": reason}, "\n".join(said))


def held_thesis(project: Project, number: int, node: str, *, over: bool = False) -> Thesis:
    """Return a thesis that this node holds.

    Args:
        project: ours.
        number: the thesis.
        node: this node.
        over: whether the claim may have expired, and the thesis be closed or decided.

    Raises:
        GuardError: it is closed, another node's, nobody's, or the claim has expired.
    """
    thesis = project.thesis(number)
    holder = thesis.holder
    if not over and (not thesis.open or thesis.phase == "resolved"):
        raise GuardError(
            f"thesis #{number} is {thesis.outcome or 'closed'}", fix="polyresearch status shows what is free"
        )
    if holder is None or holder.node != node:
        whose = f"by node `{holder.node}`, not by" if holder else "by nobody, and not by"
        raise GuardError(
            f"thesis #{number} is claimed {whose} this node, `{node}`",
            fix=f"polyresearch claim {number}, or set POLYRESEARCH_NODE_ID to the node that claimed it",
        )
    if holder.author != project.login:
        raise GuardError(
            f"`{node}` claimed thesis #{number} as {holder.author}, and you are {project.login}",
            fix=f"act as {holder.author}",
        )
    if holder.expired and not over:
        raise GuardError(
            f"your claim of thesis #{number} expired at {holder.expires_at:%Y-%m-%d %H:%M:%SZ}",
            fix=f"polyresearch claim {number} renews it, if nobody else was faster",
        )
    return thesis


def _branch(project: Project, thesis: Thesis) -> str:
    """Return the branch that we are on, when it is one for a new attempt at this thesis."""
    number, branch = thesis.number, project.checkout.branch
    name = free_attempt(project.checkout, thesis)
    following = f"git checkout -b {name}"
    if branch is None or not belongs(branch, number):
        raise GuardError(
            f"you are on {f'branch `{branch}`' if branch else 'no branch'}, which is none of thesis #{number}",
            fix=f"go to its worktree, then {following}",
        )
    if any(known.branch == branch for known in thesis.attempts):
        raise GuardError(f"branch `{branch}` has an attempt already, and each has its own", fix=following)
    if clean_value(branch) != branch:
        raise GuardError(
            f"the name of branch `{branch}` cannot be recorded as it is, so nobody could match it",
            fix=f"git branch -m {name}",
        )
    return branch


def _check_commit(project: Project, branch: str, observation: Observation) -> None:
    """See that what was measured is what is committed; for an improvement that is a must."""
    dirty = project.checkout.dirty
    tip = project.tip
    empty = tip is not None and project.checkout.is_ancestor(project.checkout.head, tip)
    problem = None
    if dirty:
        problem = f"{', '.join(dirty[:5])} differs from the last commit, so that is not what was measured"
    elif empty:
        problem = f"branch `{branch}` has no commit of its own"
    if problem and observation == "improved":
        raise GuardError(problem, fix="commit what you measured, then record it")
    if problem:
        warn(problem)


def _with_range(summary: str, runs: Sequence[float]) -> str:
    if len(runs) < 2:
        return summary
    return f"{summary} ({len(runs)} runs, {shown(min(runs))} to {shown(max(runs))})"


def _annotations(text: str | None) -> tuple[Annotation, ...]:
    if text is None:
        return ()
    try:
        notes = msgspec.json.decode(text, type=tuple[Annotation, ...])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise click.BadParameter(f"not a list of annotations: {error}", param_hint="--annotations") from error
    if not notes or not all(note.category.strip() and note.text.strip() for note in notes):
        raise click.BadParameter("each needs a category and a text", param_hint="--annotations")
    return notes


def _worktrees(project: Project) -> list[tuple[str, str]]:
    """Every worktree with its branch."""
    found = []
    for entry in (project.checkout.git.ask("worktree", "list", "--porcelain") or "").split("\n\n"):
        fields = dict(row.partition(" ")[::2] for row in entry.splitlines())
        found.append((fields.get("worktree", ""), fields.get("branch", "").removeprefix("refs/heads/")))
    return found
