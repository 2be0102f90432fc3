"""Candidates: listed, shown, compared, imported, noted, measured again, overruled, and followed over time."""

from herdr.ops.candidate import changing, reading, series

__all__ = ["changing", "reading", "series"]
