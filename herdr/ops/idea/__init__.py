"""Ideas: filed, moved from status to status, edited, linked, listed and shown."""

from herdr.ops.idea import editing, filing, linking, moving, reading

__all__ = ["editing", "filing", "linking", "moving", "reading"]
