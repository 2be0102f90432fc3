"""What crosses the plugin boundary, in two parts; plugins import it from `herdr.api`."""

from __future__ import annotations

import msgspec


class Struct(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every struct that crosses the plugin boundary: frozen, built by keyword."""
