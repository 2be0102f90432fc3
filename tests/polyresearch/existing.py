"""A reader with the rules of the existing tool (0.3.2 to 0.4.1), to see what its nodes make of our comments.

It shares no code with the package under test.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

HEADER = re.compile(r"<!--\s*polyresearch:([a-z-]+)\s*\n(.*?)-->", re.DOTALL)
NEEDED = {
    "approval": ("thesis",),
    "claim": ("thesis", "node"),
    "release": ("thesis", "node", "reason"),
    "attempt": ("thesis", "branch", "metric", "baseline_metric", "observation", "summary"),
    "annotation": ("thesis", "node"),
    "policy-pass": ("thesis", "candidate_sha"),
    "review-claim": ("thesis", "node"),
    "review": (
        "thesis",
        "candidate_sha",
        "base_sha",
        "node",
        "metric",
        "baseline_metric",
        "observation",
        "env_sha",
    ),
    "decision": ("thesis", "candidate_sha", "outcome", "confirmations"),
    "admin-note": ("action", "target", "note"),
}


def read(body: Any) -> Any:
    """Return (type, fields) of a body, or None."""
    text = body.strip()
    for word, name in (("/approve", "slash-approve"), ("/reject", "slash-reject")):
        if text.startswith(word) and (len(text) == len(word) or text[len(word)].isspace()):
            return name, {}
    match = HEADER.search(body)
    if not match or body[: match.start()].rsplit("\n", 1)[-1].lstrip().startswith(">"):
        return None
    fields = {}
    for line in match[2].split("\n"):
        key, colon, value = line.strip().partition(":")
        if colon:
            fields[key.strip()] = value.strip()
    needed = NEEDED.get(match[1])
    return (match[1], fields) if needed and all(key in fields for key in needed) else None


class ExistingReader:
    """What a node on the existing tool sees: `phases`, `claims` and `findings` (the ids of comments)."""

    def __init__(self, snapshot: Any, program: Any, now: Any) -> None:
        self.program, self.now, self.snapshot = program, now, snapshot
        self.findings: list[Any] = []
        self.phases: dict[Any, Any] = {}
        self.claims: dict[Any, Any] = {}
        self.attempts: defaultdict[Any, list[Any]] = defaultdict(list)
        self.passed: dict[Any, Any] = {}
        self.decided: dict[Any, Any] = {}
        for pull in snapshot.pulls:
            self._pull(pull)
        for issue in snapshot.issues:
            self._issue(issue)

    def _thread(self, number: Any) -> Any:
        comments = sorted(self.snapshot.comments.get(number, ()), key=lambda c: (c.created_at, c.id))
        events = [(c, *found) for c in comments if (found := read(c.body))]
        acknowledged = {
            int(fields["related_comment_id"])
            for c, name, fields in events
            if name == "admin-note"
            and c.author == self.program.lead_github_login
            and fields["action"] == "acknowledge_invalid"
            and fields.get("related_comment_id", "none") != "none"
        }

        def fault(comment: Any) -> None:
            if comment.id not in acknowledged:
                self.findings.append(comment.id)

        return events, fault

    def _pull(self, pull: Any) -> None:
        events, fault = self._thread(pull.number)
        lead = self.program.lead_github_login
        claims: dict[Any, Any] = {}
        reviewed: set[Any] = set()
        thesis = re.match(r"thesis/(\d+)-", pull.head_ref)
        for c, name, fields in events:
            decided = pull.number in self.decided
            node = fields.get("node")
            stranger = name.startswith("slash") and c.author != self.program.maintainer_github_login
            if stranger or (name in ("admin-note", "decision", "policy-pass") and c.author != lead):
                fault(c)
            elif name == "policy-pass":
                bad = decided or pull.number in self.passed or not thesis or thesis[1] != fields["thesis"]
                fault(c) if bad else self.passed.setdefault(pull.number, fields["candidate_sha"])
            elif name == "review-claim":
                bad = decided or c.author == pull.author or node in claims
                fault(c) if bad else claims.setdefault(node, c.author)
            elif name == "review":
                bad = decided or c.author == pull.author or claims.get(node) != c.author or node in reviewed
                fault(c) if bad else reviewed.add(node)
            elif name == "decision":
                bad = decided or pull.number not in self.passed
                fault(c) if bad else self.decided.setdefault(pull.number, (c.created_at, fields["outcome"]))

    def _issue(self, issue: Any) -> None:
        events, fault = self._thread(issue.number)
        linked = [p for p in self.snapshot.pulls if p.head_ref.startswith(f"thesis/{issue.number}-")]
        decisions = [self.decided[p.number] for p in linked if p.number in self.decided]
        ends = [max(decisions)[0]] if decisions else []
        ends += [issue.closed_at] if issue.state == "closed" and issue.closed_at else []
        approved, claim, exhausted = False, None, False
        for c, name, fields in events:
            number = fields.get("thesis", "").lstrip("0") in ("", str(issue.number))
            late = any(c.created_at > end for end in ends)
            lead = c.author == self.program.lead_github_login
            if name.startswith("slash"):
                if c.author == self.program.maintainer_github_login:
                    approved = name == "slash-approve"
                else:
                    fault(c)
            elif name == "admin-note":
                None if lead else fault(c)
            elif name == "approval":
                if approved or not lead or not number:
                    fault(c)
                else:
                    approved = True
            elif name == "claim":
                if not number or not approved or late or claim:
                    fault(c)
                else:
                    claim = (fields["node"], c.author, c.created_at)
            elif name == "release":
                if not number or not claim or claim[0] != fields["node"] or not (lead or c.author == claim[1]):
                    fault(c)
                else:
                    claim, exhausted = None, exhausted or fields["reason"] == "no_improvement"
            elif name == "attempt":
                branch = fields["branch"]
                bad = not number or not approved or late or not claim or claim[1] != c.author
                bad = (
                    bad
                    or not branch.startswith(f"thesis/{issue.number}-")
                    or branch in self.attempts[issue.number]
                )
                fault(c) if bad else self.attempts[issue.number].append(branch)
        active = claim if claim and claim[2] + self.program.assignment_timeout >= self.now else None
        self.claims[issue.number] = active[0] if active else None
        opened = [p for p in linked if p.state == "open"]
        if decisions:
            phase = f"resolved:{max(decisions)[1]}"
        elif any(p.number in self.passed for p in opened):
            phase = "in_review"
        elif opened:
            phase = "candidate_submitted"
        elif active:
            phase = "claimed"
        elif approved:
            phase = "exhausted" if exhausted else "approved"
        else:
            phase = "rejected" if issue.state == "closed" else "submitted"
        self.phases[issue.number] = phase
