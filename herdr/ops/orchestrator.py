"""The orchestrator's token: made by a human, shown once, and compared by its hash."""

from __future__ import annotations

import hmac
import secrets

import msgspec

from herdr.campaign.moves import HUMAN
from herdr.errors import RefusedError
from herdr.ops.core import Context, Request, operation
from herdr.store.connection import Store
from herdr.store.rows import emit
from herdr.tokens import token_hash


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    """The new token, which is stored nowhere."""

    token: str


class TokensRevoked(msgspec.Struct, frozen=True, kw_only=True):
    """How many tokens were in force until now."""

    count: int


class MakeToken(Request[NewToken], frozen=True, kw_only=True):
    """A new token for the orchestrator."""

    operation = "orchestrator.token"


class RevokeToken(Request[TokensRevoked], frozen=True, kw_only=True):
    """The orchestrator's token, taken back."""

    operation = "orchestrator.revoke"


@operation(MakeToken, who=HUMAN, writes=True)
def make_token(context: Context, _request: MakeToken) -> NewToken:
    """Make a token that lets a program act as the orchestrator; an earlier one is no longer taken."""
    _revoke(context.conn)
    token = secrets.token_hex(16)
    context.conn.execute("INSERT INTO tokens (hash, actor) VALUES (?, ?)", (token_hash(token), context.actor))
    emit(context.conn, "orchestrator.token", context.actor)
    return NewToken(token=token)


@operation(RevokeToken, who=HUMAN, writes=True)
def revoke(context: Context, _request: RevokeToken) -> TokensRevoked:
    """Take the orchestrator's token back."""
    count = _revoke(context.conn)
    emit(context.conn, "orchestrator.revoked", context.actor)
    return TokensRevoked(count=count)


def check_token(conn: Store, token: str) -> None:
    """Make sure that a token is the orchestrator's.

    Args:
        conn: the open store.
        token: what somebody shows as the orchestrator's.

    Raises:
        RefusedError: it is not, or no longer.
    """
    wanted = token_hash(token)
    valid = conn.execute("SELECT hash FROM tokens WHERE revoked_at IS NULL").fetchall()
    if not any(hmac.compare_digest(wanted, row[0]) for row in valid):
        raise RefusedError(
            "the token in HERDR_TOKEN is not the orchestrator's",
            fix="unset HERDR_TOKEN, or set it to what `herdr orchestrator token` prints",
        )


def _revoke(conn: Store) -> int:
    return conn.execute(
        "UPDATE tokens SET revoked_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE revoked_at IS NULL"
    ).rowcount
