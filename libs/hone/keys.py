"""API keys: made with scopes, shown once, stored as their SHA-256."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from hone import ids
from hone.scopes import Scope
from hone.store.database import Database, Transaction

PREFIX = "tml-"
DEFAULT_TENANT = "default"
_SHOWN = len(PREFIX) + 6


def _new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(32)


@dataclass(frozen=True)
class NewKey:
    """A key that is about to be stored. Clients send `secret`, which nobody can read again."""

    id: str = field(default_factory=lambda: ids.new("key"))
    secret: str = field(default_factory=_new_secret)

    @property
    def prefix(self) -> str:
        """Return the beginning of the secret, by which people tell keys apart."""
        return self.secret[:_SHOWN]


def digest(secret: str) -> bytes:
    """Return the hash that the database stores. Secrets are random, so nobody can find one by trying hashes."""
    return hashlib.sha256(secret.encode()).digest()


def create(
    database: Database, name: str, tenant: str = DEFAULT_TENANT, scopes: Sequence[Scope] = ("admin",),
) -> NewKey:
    """Store a key for the tenant of this name, and the tenant if there is none. The secret cannot be read again.

    It asks nobody's leave: for who reaches the database. The first tenant of a stack is its operator.
    """
    key = NewKey()
    with database.transaction() as transaction:
        tenant_id = _tenant(transaction, tenant)
        transaction.run(
            "api_keys.add", id=key.id, tenant_id=tenant_id, name=name, prefix=key.prefix,
            hash=digest(key.secret), scopes=list(scopes), expires_at=None)
        transaction.run("audit_log.add_if_changed", tenant_id=tenant_id, key_id=None, action="keys.first",
                        subject=key.id, request_id="", address="database")
    return key


def _tenant(transaction: Transaction, name: str) -> str:
    transaction.run("tenants.ensure", id=ids.new("tenant"), name=name)
    row = transaction.one("tenants.named", name=name)
    if row is None:
        raise LookupError(f"tenant {name} was removed while its key was created")
    return str(row["id"])
