"""Scores this tree. herdr runs it in a clean worktree of each commit and reads the lines it prints."""

from __future__ import annotations


def score() -> float:
    """Measure what is to be improved: run a benchmark, train and test, count bytes."""
    raise SystemExit("evaluate.py is still the stub: replace this line by your measurement")  # herdr: stub


if __name__ == "__main__":
    print(f"METRIC score={score()}")
