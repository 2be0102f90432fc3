"""Tokens are stored nowhere, only their hashes."""

from __future__ import annotations

import hashlib


def token_hash(token: str) -> str:
    """What of a token may be stored, and what another is compared with."""
    return hashlib.sha256(token.encode()).hexdigest()
