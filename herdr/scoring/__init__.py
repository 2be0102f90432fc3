"""Scoring one commit: what the evaluator is, how it is run, and how its numbers are read."""
