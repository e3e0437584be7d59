"""The credential of a stack: a secret in the metadata of every call between its services."""

import hmac
from collections.abc import Iterable
from typing import Any

HEADER = "hone-stack-token"
Metadata = tuple[tuple[str, str], ...]


def metadata(token: str) -> Metadata:
    """Return the metadata that shows a server the stack's token, none for an empty token."""
    return ((HEADER, token),) if token else ()


def shown(received: Iterable[Any], token: str) -> bool:
    """Whether the metadata of a received call has the stack's token."""
    found = next((value for name, value in received if name == HEADER), "")
    return isinstance(found, str) and hmac.compare_digest(found.encode(), token.encode())
