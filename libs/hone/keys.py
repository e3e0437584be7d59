"""API keys: created next to the database, shown once, stored as their SHA-256."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime

from hone import ids
from hone.store.database import Database, Transaction

PREFIX = "tml-"
DEFAULT_TENANT = "default"
_SHOWN = len(PREFIX) + 6


@dataclass(frozen=True)
class NewKey:
    """A key that has just been created. Clients send `secret`, which nobody can read again."""

    id: str
    name: str
    tenant: str
    secret: str


@dataclass(frozen=True)
class Key:
    """A stored key; `prefix` is the beginning of its secret."""

    id: str
    name: str
    prefix: str
    tenant: str
    created_at: datetime
    revoked_at: datetime | None


def digest(secret: str) -> bytes:
    """Return the hash that the database stores. Secrets are random, so nobody can find one by trying hashes."""
    return hashlib.sha256(secret.encode()).digest()


def create(database: Database, name: str, tenant: str = DEFAULT_TENANT) -> NewKey:
    """Create a key for the tenant of this name, and the tenant if there is none. The secret cannot be read again."""
    key = NewKey(ids.new("key"), name, tenant, PREFIX + secrets.token_urlsafe(32))
    with database.transaction() as transaction:
        transaction.run(
            "api_keys.add", id=key.id, tenant_id=_tenant(transaction, tenant), name=name,
            prefix=key.secret[:_SHOWN], hash=digest(key.secret))
    return key


def _tenant(transaction: Transaction, name: str) -> str:
    transaction.run("tenants.ensure", id=ids.new("tenant"), name=name)
    row = transaction.one("tenants.named", name=name)
    if row is None:
        raise LookupError(f"tenant {name} was removed while its key was created")
    return str(row["id"])


def listed(database: Database) -> list[Key]:
    """Return every key of every tenant, oldest first, revoked ones included."""
    return [Key(**row) for row in database.all("api_keys.all")]


def revoke(database: Database, key: str) -> bool:
    """Refuse a key from now on. `key` is its id or prefix. Return whether there is such a key."""
    return database.run("api_keys.revoke", key=key) > 0
