"""Seals secrets of tenants, so that a copy of the database alone opens none of them."""

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


class Unsealable(Exception):
    """A secret was sealed by a stack with another token. It has to be set again."""


def sealed(stack_token: str, tenant_id: str, secret: str) -> bytes:
    """Return a secret, encrypted by a key that is made of the stack's token, for this tenant."""
    return _box(stack_token, tenant_id).encrypt(secret.encode())


def opened(stack_token: str, tenant_id: str, box: bytes) -> str:
    """Return a sealed secret. Raises Unsealable."""
    try:
        return _box(stack_token, tenant_id).decrypt(box).decode()
    except InvalidToken as error:
        raise Unsealable("it was sealed under another stack token: set it again") from error


def _box(stack_token: str, tenant_id: str) -> Fernet:
    derived = HKDF(SHA256(), 32, salt=None, info=f"hone secrets of {tenant_id}".encode()).derive(stack_token.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
