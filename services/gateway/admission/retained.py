"""Stored data of a tenant, how long each kind of it is kept, and what goes first (GET /v1/retention)."""

from collections.abc import Mapping
from datetime import timedelta

from hone.client.storage_resources import Due, Retained
from hone.spec.retention_settings import RetentionSettings
from hone.spec.settings import Settings
from hone.store.database import AsyncTransaction
from services.gateway.middleware.tenancy import TenantSession

_NEXT = 5
"""Items of a kind that are shown as the next to go."""

_DAY_S = 86400.0
_ROWS = ("runs", "events", "preflights", "decisions")
"""Kinds that are rows in the database alone."""
_DELETED = "until it is deleted"
_KEPT: Mapping[str, str] = {
    "models": f"{_DELETED}, or the last run that started from it is",
    "datasets": _DELETED,
    "snapshots": "the newest of each model, until its run is deleted",
    "versions": "the newest keep_versions and every checkpoint_every-th of a run",
    "runs": _DELETED, "samples": "as long as its run", "events": "as long as their run", "exports": _DELETED,
    "preflights": _DELETED, "decisions": "until their route is deleted", "uploads": ""}
"""How long a kind is kept where no setting of the stack says anything else."""

LIMITED: Mapping[str, str] = {
    "runs": "{} after its end, unless an open run started from it", "samples": "{} after the end of its run",
    "events": "{}, and as long after the end of their run",
    "versions": "as its run's spec says; {} after the run's end the base, the newest version, and versions from which "
    "other runs start",
    "exports": "{}", "preflights": "{}", "decisions": "{}, or until their route is deleted",
    "uploads": "{} after its last part"}
"""How long a kind is kept where a setting says so many days."""


async def of_tenant(session: TenantSession, settings: Settings) -> list[Retained]:
    """Return all that the session's tenant keeps, by kind."""
    async with session.transaction() as transaction:
        sums = {row["kind"]: row for row in await transaction.all("retained.sums")}
        found = []
        for kind, kept in _KEPT.items():
            days, setting = _rule(settings, kind)
            row = sums.get(kind, {"items": 0, "bytes": None if kind in _ROWS else 0})
            retained = Retained.model_validate({
                "kind": kind, "items": row["items"], "bytes": row["bytes"], "setting": setting,
                "kept": kept if days is None else LIMITED[kind].format(_days(days))})
            found.append(retained if days is None else await _with_next(transaction, retained, days))
    return found


def _rule(settings: Settings, kind: str) -> tuple[float | None, str | None]:
    """Return the days that a setting gives to a kind, None without a value, and the variable of that setting."""
    if kind == "uploads":
        return settings.orphan_grace_s / _DAY_S, "HONE_ORPHAN_GRACE_S"
    name = f"{kind}_d"
    if name not in RetentionSettings.model_fields:
        return None, None
    return getattr(settings.retention, name), f"HONE_KEEP_{name.upper()}"


def _days(days: float) -> str:
    return "1 day" if days == 1 else f"{days:g} days"


async def _with_next(transaction: AsyncTransaction, kind: Retained, days: float) -> Retained:
    due = await transaction.one(f"retained.{kind.kind}_due", days=days)
    first = await transaction.all(f"retained.{kind.kind}", limit=_NEXT)
    shown = [Due(id=row["id"], name=row["name"], due_at=row["at"] + timedelta(days=days)) for row in first]
    return kind.model_copy(update={"due": due["due"] if due else 0, "next": shown})
