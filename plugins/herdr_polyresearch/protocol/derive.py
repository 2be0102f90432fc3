"""From a snapshot to the state of the project: nothing is stored, the comment trail is the truth."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from herdr_polyresearch.protocol.candidate import CandidateReader
from herdr_polyresearch.protocol.model import Candidate, Finding, State
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.thesis import ThesisReader
from herdr_polyresearch.protocol.threads import THESIS_LABEL, Snapshot


def derive(snapshot: Snapshot, program: Program, now: datetime) -> State:
    """Derive the state of every thesis and candidate.

    Args:
        snapshot: everything the forge holds.
        program: the project's parameters.
        now: the time at which claims have expired or not; aware.

    Returns:
        The state. Its rules are the protocol's section "Deriving state", read as the existing tool reads it, so
        that two nodes see the same winners and phases; docs/polyresearch.md lists where it differs and why.
    """
    comments = snapshot.comments
    theses = [
        ThesisReader(issue, comments.get(issue.number, ()), program, now)
        for issue in sorted(snapshot.issues, key=lambda issue: issue.number)
        if THESIS_LABEL in issue.labels
    ]
    pulls = [CandidateReader(pull, comments.get(pull.number, ()), program, now) for pull in snapshot.pulls]
    requeued = {(t.issue.number, pr): found for t in theses for pr, found in t.requeued().items()}

    candidates: list[Candidate] = []
    of_thesis: dict[int, list[Candidate]] = defaultdict(list)
    for reader in pulls:
        candidate = reader.candidate(requeued.get((reader.thesis or 0, reader.pull.number)))
        candidates.append(candidate)
        if candidate.thesis is not None:
            of_thesis[candidate.thesis].append(candidate)

    derived = tuple(t.thesis(of_thesis[t.issue.number]) for t in theses)
    found: list[Finding] = [f for thesis in derived for f in thesis.findings]
    found += (f for candidate in candidates for f in candidate.findings)
    guidance = [said for issue in theses for said in issue.guidance]
    guidance += (said for pull in pulls for said in pull.guidance)
    return State(
        repo=snapshot.repo,
        now=now,
        theses=derived,
        candidates=tuple(candidates),
        findings=tuple(sorted(found, key=lambda f: (f.comment_id or 0, f.scope, f.number or 0))),
        disputed=tuple(f for reader in pulls for f in reader.disputed),
        guidance=tuple(sorted(guidance, key=lambda said: (said.created_at, said.comment_id), reverse=True)),
        withdrawn=frozenset(branch for t in theses for branch in t.withdrawn()),
    )
