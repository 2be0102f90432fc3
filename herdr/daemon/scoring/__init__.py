"""Commits become scores and verdicts: the lanes, judging, merging onto the head, judging again."""
