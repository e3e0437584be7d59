"""Graders as requests give them, also by name: a run keeps the content, whatever the name means later."""

from collections.abc import Mapping
from typing import Any

from hone.environments import row_json
from hone.graders import specs
from hone.graders.specs import STORED, Spec
from hone.spec.problems import Invalid, Problem, found
from hone.store.database import AsyncTransaction
from services.gateway.middleware.tenancy import TenantSession


async def filled(session: TenantSession, given: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Return JSON with the content of each stored grader that it names. Raises Invalid for a name that means none."""
    if not _names_any(given):
        return dict(given)
    async with session.transaction() as transaction:
        return dict(await _filled(transaction, session.tenant_id, given, at))


async def checked(session: TenantSession, given: Mapping[str, Any]) -> Spec:
    """Return the grader of a request's field `grader`. Raises Invalid with every problem."""
    try:
        return specs.checked(await filled(session, given, "grader"), "grader")
    except Invalid as error:
        raise Invalid([Problem(one.field if one.field.startswith("grader") else f"grader.{one.field}", one.found,
                               one.expected) for one in error.problems]) from None


def _names_any(value: Any) -> bool:
    if isinstance(value, Mapping):
        return value.get("type") == STORED or any(map(_names_any, value.values()))
    return isinstance(value, list) and any(map(_names_any, value))


async def _filled(transaction: AsyncTransaction, tenant_id: str, value: Any, at: str) -> Any:
    if isinstance(value, Mapping) and value.get("type") == STORED:
        return await _content(transaction, tenant_id, value, at)
    if isinstance(value, Mapping):
        return {name: await _filled(transaction, tenant_id, inside, f"{at}.{name}".lstrip("."))
                for name, inside in value.items()}
    if isinstance(value, list):
        return [await _filled(transaction, tenant_id, inside, f"{at}[{place}]") for place, inside in enumerate(value)]
    return value


async def _content(transaction: AsyncTransaction, tenant_id: str, named: Mapping[str, Any], at: str) -> Any:
    name, hash = named.get("name"), named.get("hash")
    if unknown := sorted(named.keys() - {"type", "name", "hash"}):
        raise Invalid([Problem(f"{at}.{unknown[0]}", "an unknown key", "type, name and perhaps hash")])
    if not isinstance(name, str) or not isinstance(hash, str | None):
        raise Invalid([Problem(f"{at}.name", found(name), "the name of a grader that was added, as text")])
    row = await transaction.one("stored_graders.one", tenant_id=tenant_id, name=name, hash=hash)
    if row is None:
        which = name if hash is None else f"{name} with the hash {hash}"
        raise Invalid([Problem(f"{at}.name", which, "a grader that was added (`hone graders stored`)")])
    return row_json.plain(row_json.read(row["grader"]))
