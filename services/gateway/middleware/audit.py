"""The audit log: every request that changes rows leaves one row, in the transaction that changed them."""

from dataclasses import dataclass

from starlette.types import Scope

from hone.store.database import AsyncTransaction

_READS = frozenset({"GET", "HEAD", "OPTIONS"})

UNLOGGED = frozenset({"uploads.put_part"})
"""Actions without a row: the parts of an upload, which may be thousands. Its beginning and its end have one."""

RECORDED = frozenset({"chat.completed", "routes.feedback"})
"""Actions that leave rows of their own. They are here only with a subject: a model was published."""


@dataclass
class AuditedRequest:
    """A request as the audit log tells it: no bodies, no secrets. `subject` is the id of what it makes or changes."""

    scope: Scope  # its route is known once the request has reached it
    subject: str = ""
    logged: bool = False

    async def tell(self, transaction: AsyncTransaction, tenant_id: str, key_id: str) -> None:
        """Write the request's row, unless it has one, or unless this transaction has changed nothing."""
        route = self.scope.get("route")
        if self.logged or route is None or self.scope["method"] in _READS:
            return
        action = f"{route.tags[0]}.{route.name}"
        subject = self.subject or next(iter(self.scope["path_params"].values()), "")
        if action in UNLOGGED or (action in RECORDED and not subject):
            return
        client = self.scope.get("client")
        self.logged = bool(await transaction.run(
            "audit_log.add_if_changed", tenant_id=tenant_id, key_id=key_id, action=action, subject=subject,
            request_id=self.scope["state"]["request_id"], address=client[0] if client else ""))
