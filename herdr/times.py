"""Times as the store writes them: UTC, ISO 8601, milliseconds."""

from __future__ import annotations

from datetime import datetime, timezone


def timestamp(when: datetime) -> str:
    """A time as the store writes it."""
    return when.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"


def timestamp_at(seconds: float) -> str:
    """A time in seconds since the epoch, as the store writes it."""
    return timestamp(datetime.fromtimestamp(seconds, timezone.utc))


def parse_timestamp(text: str) -> datetime:
    """The time that a timestamp of the store says."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
