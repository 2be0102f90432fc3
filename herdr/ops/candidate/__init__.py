"""Candidates: listed, shown, compared, imported, noted, measured again and overruled."""

from herdr.ops.candidate import changing, reading

__all__ = ["changing", "reading"]
