"""Which version of herdr this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """The installed version; 0 in a checkout that nobody installed."""
    try:
        return version("herdr")
    except PackageNotFoundError:
        return "0"
