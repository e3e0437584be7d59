"""Environment packages and domains as specs name them: a run keeps the digest, whatever the name means later."""

from collections.abc import Mapping
from typing import Any

from hone.environments.capabilities import AddedTasks
from hone.environments.catalogue import ENVIRONMENTS, has
from hone.spec.problems import Invalid, Problem, found
from hone.store.database import AsyncTransaction
from services.gateway.middleware.tenancy import TenantSession


async def pinned(session: TenantSession, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec's JSON with the digest of each package that it names. Raises Invalid for a name that means none."""
    if not _plays_any(spec):
        return dict(spec)
    async with session.transaction() as transaction:
        return dict(await _pinned(transaction, session.tenant_id, spec, ""))


def _plays_any(value: Any) -> bool:
    if isinstance(value, Mapping):
        return has(str(value.get("environment")), "plays_added") or any(map(_plays_any, value.values()))
    return isinstance(value, list) and any(map(_plays_any, value))


async def _pinned(transaction: AsyncTransaction, tenant_id: str, value: Any, at: str) -> Any:
    if isinstance(value, Mapping):
        inside = {name: await _pinned(transaction, tenant_id, one, f"{at}.{name}".lstrip("."))
                  for name, one in value.items()}
        return await _source(transaction, tenant_id, inside, at) if (
            has(str(value.get("environment")), "plays_added")) else inside
    if isinstance(value, list):
        return [await _pinned(transaction, tenant_id, one, f"{at}[{place}]") for place, one in enumerate(value)]
    return value


async def _source(transaction: AsyncTransaction, tenant_id: str, source: dict[str, Any], at: str) -> dict[str, Any]:
    params, kind = source.get("params") or {}, source["environment"]
    added = AddedTasks(**(ENVIRONMENTS.facts(kind).added or {}))
    own = added.param
    reference = params.get(own) if isinstance(params, Mapping) else None
    field = f"{at}.params.{own}".lstrip(".")
    expected = f"the name or the digest of a {own} that was added (`hone environments list`)"
    if not isinstance(reference, str) or not reference:
        raise Invalid([Problem(field, found(reference), expected)])
    row = await transaction.one("packages.known", tenant_id=tenant_id, reference=reference)
    if row is None or (row["format"] or "hone") != added.format:
        raise Invalid([Problem(field, found(reference), expected)])
    return {**source, "params": {**params, own: row["digest"]}}
