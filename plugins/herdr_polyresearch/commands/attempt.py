"""`polyresearch attempt`, `annotate` and `release`: what a contributor says of a claimed thesis."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
import msgspec

from herdr_polyresearch.commands.measured import check_measured, finite, mean_of
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import metric as shown
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.problems import GuardError
from herdr_polyresearch.commands.session import Session, warn
from herdr_polyresearch.protocol.blocks import Annotation, AnnotationBlock, AttemptBlock, ReleaseBlock
from herdr_polyresearch.protocol.clean import clean_text, clean_value
from herdr_polyresearch.protocol.model import Thesis
from herdr_polyresearch.protocol.names import attempt_branch, belongs, thesis_branch
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
    session = Session()
    node = session.as_contributor("record attempts").node_id
    thesis = held_thesis(session, issue, node)
    branch = _branch(session, thesis)
    _check_commit(session, branch, observation)
    check_measured(session.program, value, baseline, observation, several=len(runs) >= 3)
    block = AttemptBlock(
        thesis=issue,
        branch=branch,
        metric=value,
        baseline_metric=baseline,
        observation=observation,
        summary=_with_range(summary, runs),
        annotations=notes,
        runs=runs,
        commit=session.checkout.head,
    )
    if not session.dry_run:
        session.post(issue, block)
    number = len(thesis.attempts) + 1
    done = "Would record" if session.dry_run else "Recorded"
    said = [f"{done} attempt {number} for thesis #{issue} on `{branch}` ({shown(value)} vs {shown(baseline)})."]
    if notes:
        said.append(f"Included {len(notes)} structured annotation(s).")
    stem = thesis_branch(issue, thesis.issue.title)
    following = f"git checkout -b {attempt_branch(stem, number + 1)} {stem}"
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
    tell(session, data, "\n".join(said))


@command()
@click.argument("issue", type=int)
@click.option("--text", required=True, help="The note; - reads standard input.")
def annotate(issue: int, text: str) -> None:
    """Leave a note on a thesis, open or closed, for whoever proposes the next one."""
    text = sys.stdin.read() if text == "-" else text
    if not clean_text(text):
        raise click.BadParameter("it is empty", param_hint="--text")
    session = Session()
    node = session.node.node_id
    session.thesis(issue)
    if not session.dry_run:
        session.post(issue, AnnotationBlock(thesis=issue, node=node, text=text))
    done = "Would annotate" if session.dry_run else "Annotated"
    tell(session, {"issue": issue, "node": node}, f"{done} thesis #{issue} for node `{node}`.")


@command()
@click.argument("issue", type=int)
@click.option("--reason", type=click.Choice(REASONS), required=True)
def release(issue: int, reason: Reason) -> None:
    """Give a claim up without a candidate."""
    session = Session()
    node = session.node.node_id
    held_thesis(session, issue, node, over=True)
    if not session.dry_run:
        session.post(issue, ReleaseBlock(thesis=issue, node=node, reason=reason))
    done = "Would release" if session.dry_run else "Released"
    said = [f"{done} thesis #{issue} for node `{node}` (reason `{reason}`)."]
    path = next((p for p in _worktrees(session) if belongs(p[1], issue)), None)
    if path and not session.dry_run:
        said.append(f"NEXT: cd {session.checkout.main} && git worktree remove {path[0]}")
    tell(session, {"issue": issue, "node": node, "reason": reason}, "\n".join(said))


def held_thesis(session: Session, number: int, node: str, *, over: bool = False) -> Thesis:
    """Return a thesis that this node holds.

    Args:
        session: ours.
        number: the thesis.
        node: this node.
        over: whether the claim may have expired, and the thesis be closed or decided.

    Raises:
        GuardError: it is closed, another node's, nobody's, or the claim has expired.
    """
    thesis = session.thesis(number)
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
    if holder.author != session.login:
        raise GuardError(
            f"`{node}` claimed thesis #{number} as {holder.author}, and you are {session.login}",
            fix=f"act as {holder.author}",
        )
    if holder.expired and not over:
        raise GuardError(
            f"your claim of thesis #{number} expired at {holder.expires_at:%Y-%m-%d %H:%M:%SZ}",
            fix=f"polyresearch claim {number} renews it, if nobody else was faster",
        )
    return thesis


def _branch(session: Session, thesis: Thesis) -> str:
    """Return the branch that we are on, when it is one for a new attempt at this thesis."""
    number, branch = thesis.number, session.checkout.branch
    stem = thesis_branch(number, thesis.issue.title)
    following = f"git checkout -b {attempt_branch(stem, len(thesis.attempts) + 1)}"
    if branch is None or not belongs(branch, number):
        raise GuardError(
            f"you are on {f'branch `{branch}`' if branch else 'no branch'}, which is none of thesis #{number}",
            fix=f"go to its worktree, then {following}",
        )
    if any(known.branch == branch for known in thesis.attempts):
        raise GuardError(f"branch `{branch}` has an attempt already, and each has its own", fix=following)
    return branch


def _check_commit(session: Session, branch: str, observation: Observation) -> None:
    """See that what was measured is what is committed; for an improvement that is a must."""
    dirty = session.checkout.dirty
    tip = session.tip
    empty = tip is not None and session.checkout.is_ancestor(session.checkout.head, tip)
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


def _worktrees(session: Session) -> list[tuple[str, str]]:
    """Every worktree with its branch."""
    found = []
    for entry in (session.checkout.git.ask("worktree", "list", "--porcelain") or "").split("\n\n"):
        fields = dict(row.partition(" ")[::2] for row in entry.splitlines())
        found.append((fields.get("worktree", ""), fields.get("branch", "").removeprefix("refs/heads/")))
    return found
