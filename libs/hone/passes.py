"""Passes: what a service of the stack shows the gateway, to ask a model for a tenant, instead of an API key."""

import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass

PREFIX = "pass-"
LIFETIME_S = 300
"""Seconds from its making in which a pass is good."""


@dataclass(frozen=True)
class Pass:
    """Whom a service acts for. What it uses is counted to the key, if there is one."""

    tenant_id: str
    key_id: str = ""


def issue(stack_token: str, holder: Pass, now: Callable[[], float] = time.time) -> str:
    """Return a pass as text, to be sent in place of an API key."""
    claims = f"{holder.tenant_id}.{holder.key_id}.{int(now()) + LIFETIME_S}"
    return f"{PREFIX}{claims}.{_sign(stack_token, claims)}"


def read(stack_token: str, text: str, now: Callable[[], float] = time.time) -> Pass | None:
    """Return whom a pass is for; None for one that this stack did not make, or that is too old."""
    claims, _, signature = text.removeprefix(PREFIX).rpartition(".")
    parts = claims.split(".")
    if not stack_token or len(parts) != 3 or not hmac.compare_digest(
            signature.encode(), _sign(stack_token, claims).encode()):
        return None
    tenant_id, key_id, until = parts
    return Pass(tenant_id, key_id) if now() < int(until) else None


def _sign(stack_token: str, claims: str) -> str:
    return hmac.digest(stack_token.encode(), b"hone pass\0" + claims.encode(), "sha256").hex()
