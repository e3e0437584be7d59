"""The part of the SDK's client that administers: keys, tenants, quotas, prices, the audit log."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hone.client.account_resources import Account, AuditEntry, CreatedKey, Key, Prices, Quotas, Tenant
from hone.client.nouns import Listing
from hone.client.requests import Requests
from hone.client.resources import Page, Run
from hone.client.transport import rest_path
from hone.scopes import Scope


class Administration(Requests):
    """Methods about keys and tenants. Most need the scope admin; Forbidden names the scope that a key lacks."""

    def account(self) -> Account:
        """Return who this client's key is: its tenant and its scopes."""
        return self._get(Account, "/v1/account")

    keys = Listing(Page[Key], "keys")
    """List the tenant's keys, newest first, revoked ones included."""

    def create_key(
        self, name: str, scopes: Sequence[Scope] = ("read", "run"), expires_at: datetime | None = None,
    ) -> CreatedKey:
        """Make a key; its secret cannot be read again. Raises Forbidden for more than this client's key may do.

        The request is sent once: after Away there may be a key whose secret nobody has read. Revoke it.
        """
        return self._create_key(rest_path("keys"), name, scopes, expires_at)

    def revoke_key(self, key: str) -> Key:
        """Refuse a key from now on. `key` is its id or its prefix."""
        return self._send(Key, "DELETE", rest_path("keys", key))

    def audit(
        self, limit: int = 50, after: str | None = None, action: str | None = None, subject: str | None = None,
        key: str | None = None, since: datetime | None = None, until: datetime | None = None,
        address: str | None = None, search: str | None = None,
    ) -> Page[AuditEntry]:
        """List the requests of the tenant that changed something, newest first: those that fit every filter.

        `action`, `key` (of its id, name or prefix) and `address` may be the beginning, `subject` (an id) and `search`
        (in any column) a part.
        """
        moments = {"since": since and since.isoformat(), "until": until and until.isoformat()}
        return self._get(Page[AuditEntry], "/v1/audit", limit=limit, after=after, action=action, subject=subject,
                         key=key, address=address, search=search, **moments)

    def quotas(self) -> Quotas:
        """Return the tenant's quotas, and what is used of each now."""
        return self._get(Quotas, "/v1/quotas")

    def prices(self) -> Prices:
        """Return the price list of the stack."""
        return self._get(Prices, "/v1/prices")

    def set_budget(self, run_id: str, budget: float | None) -> Run:
        """Set what a run may cost; None: no bound. A run that its budget paused goes on when there is more."""
        return self._send(Run, "PUT", rest_path("runs", run_id, "budget"), json={"budget": budget})

    tenants = Listing(Page[Tenant], "tenants")
    """List all tenants, newest first. This and the methods below need an admin key of the operator."""

    def tenant(self, tenant: str) -> Tenant:
        """Return a tenant by id or name."""
        return self._get(Tenant, rest_path("tenants", tenant))

    def create_tenant(self, name: str) -> Tenant:
        """Make a tenant. Raises Conflict if the name is taken."""
        return self._send(Tenant, "POST", "/v1/tenants", json={"name": name})

    def change_tenant(self, tenant: str, **changes: Any) -> Tenant:
        """Change the name of a tenant, whether it is `suspended`, or its quotas: the fields of Limits; None: no limit.

        Raises Conflict for a name that is taken, and for the suspension of an operator.
        """
        return self._send(Tenant, "PATCH", rest_path("tenants", tenant), json=changes)

    def delete_tenant(self, tenant: str) -> Tenant:
        """Delete a tenant and revoke its keys. Raises Conflict while it has runs, models, datasets or uploads."""
        return self._send(Tenant, "DELETE", rest_path("tenants", tenant))

    def tenant_quotas(self, tenant: str) -> Quotas:
        """Return the quotas of any tenant, and what is used of each now."""
        return self._get(Quotas, rest_path("tenants", tenant, "quotas"))

    def set_prices(self, **prices: Any) -> Prices:
        """Set prices by the fields of Prices; the others stay. What was used before keeps its cost."""
        return self._send(Prices, "PATCH", "/v1/prices", json=prices)

    def create_tenant_key(
        self, tenant: str, name: str, scopes: Sequence[Scope] = ("admin",), expires_at: datetime | None = None,
    ) -> CreatedKey:
        """Make a key of another tenant, such as its first; like create_key."""
        return self._create_key(rest_path("tenants", tenant, "keys"), name, scopes, expires_at)

    def _create_key(
        self, path: str, name: str, scopes: Sequence[Scope], expires_at: datetime | None,
    ) -> CreatedKey:
        body: dict[str, Any] = {"name": name, "scopes": list(scopes)}
        if expires_at is not None:
            body["expires_at"] = expires_at.isoformat()
        return self._send(CreatedKey, "POST", path, attempts=1, json=body)
