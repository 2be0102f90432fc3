"""The table of commands of `polyresearch`, each imported only when it is called."""

from __future__ import annotations

from herdr.api import LazyGroup
from herdr_polyresearch.commands.errors import EXIT_CODES
from herdr_polyresearch.commands.options import program_options

HERE = "herdr_polyresearch.commands"
COMMANDS = {
    "session": (
        "session:session",
        "Begin a session: who you are, what to read, a node id.",
    ),
    "init": (
        "init:init",
        "Set up this machine as a node, or a project with --bootstrap.",
    ),
    "duties": (
        "duties:duties",
        "List what has to be done first, and what can be done.",
    ),
    "pace": ("pace:pace", "Compare what this node did with what it may do."),
    "status": ("status:status", "Show the theses, the queue and the findings."),
    "claim": ("claim:claim", "Claim a thesis and make its worktree."),
    "batch-claim": ("claim:batch_claim", "Claim several theses."),
    "attempt": ("attempt:attempt", "Record an experiment."),
    "annotate": ("attempt:annotate", "Leave a note on a thesis."),
    "release": ("attempt:release", "Give a claim up."),
    "submit": ("submit:submit", "Open the candidate's pull request."),
    "review-claim": ("review:review_claim", "Say that you evaluate a candidate."),
    "review": ("review:review", "Record what you measured of a candidate."),
    "audit": ("status:audit", "List the comments that do not count."),
    "guidance": (
        "guidance:guidance",
        "Read the maintainer's reasons, notes and near misses.",
    ),
    "sync": ("sync:sync", "Bring results.tsv up to date (lead)."),
    "generate": ("generate:generate", "Open a thesis (lead)."),
    "policy-check": (
        "policy_check:policy_check",
        "Check what a candidate changes (lead).",
    ),
    "decide": ("decide:decide", "Decide a candidate, and merge or close it (lead)."),
    "admin": ("admin:admin", "Repair claims, findings and theses (lead)."),
    "prune": ("prune:prune", "Tidy up after worktrees that are gone."),
    "explain": ("explain:explain", "Read saved threads and say what they come to."),
    "forge": ("forge.commands:forge", "Look at a local forge, and speak there."),
}

polyresearch = LazyGroup(
    {name: (f"{HERE}.{where}", text) for name, (where, text) in COMMANDS.items()},
    "Research by many nodes on one repository: theses, attempts, reviews and decisions.",
    options=program_options(),
    epilog=EXIT_CODES,
)
