"""The resources of administration: keys, tenants, quotas, prices and the audit log. Times are UTC."""

from datetime import datetime

from hone.client.resources import Resource
from hone.scopes import Scope


class Account(Resource):
    """Who a key is: its tenant, and what it may do. `operator`: admin keys of this tenant administer every tenant."""

    tenant_id: str
    tenant: str
    operator: bool
    key_id: str
    key: str
    scopes: list[Scope]


class Key(Resource):
    """An API key. `prefix` is the beginning of its secret; `last_used_at` is right to about a minute."""

    id: str
    name: str
    prefix: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


class CreatedKey(Key):
    """A key that has just been made, with its secret, which nobody can read again."""

    secret: str
