"""The stored grades: the first result of a sample under a grader stays, whoever comes later."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hone.rpc.errors import NotFound
from hone.rpc.transactions import transaction
from hone.store.database import AsyncDatabase, AsyncTransaction, Row
from services.reward.bench import Key
from services.reward.results import Result, Status

_COLUMNS = ("group_ids", "indexes", "components", "statuses", "values", "reasons", "extracted", "decided_by", "cost_ms")


@dataclass(frozen=True)
class Stored:
    """A grade with the id of its row."""

    grade_id: int
    result: Result


@dataclass(frozen=True)
class Account:
    """Whose grades, by which grader."""

    tenant_id: str
    run_id: str
    grader_hash: str

    def names(self) -> dict[str, str]:
        """Return the account as parameters of a statement."""
        return {"tenant_id": self.tenant_id, "run_id": self.run_id, "grader_hash": self.grader_hash}


class Ledger:
    """Raises NotReady with the reason while the database is away."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def stored(self, account: Account, keys: Collection[Key]) -> dict[Key, Stored]:
        """Return the grades that samples have already. Raises NotFound for a group that is not the run's."""
        async with transaction(self._database) as opened:
            return await _stored(opened, account, keys)

    async def add(self, account: Account, results: Mapping[Key, Result]) -> dict[Key, Stored]:
        """Store results and return the grades that stand: these, or those that were there before."""
        async with transaction(self._database) as opened:
            rows = await opened.all("reward.add", **account.names(), **_columns(results))
            grades = _grades(rows)
        if missed := results.keys() - grades.keys():
            grades |= await self.stored(account, missed)
        return grades


async def _stored(opened: AsyncTransaction, account: Account, keys: Collection[Key]) -> dict[Key, Stored]:
    groups, indexes = [key[0] for key in keys], [key[1] for key in keys]
    rows = await opened.all("reward.stored", **account.names(), group_ids=groups, indexes=indexes)
    if unknown := [row["group_id"] for row in rows if not row["known"]]:
        raise NotFound(f"group {unknown[0]}: not a group of run {account.run_id!r} of tenant {account.tenant_id!r}")
    return _grades(row for row in rows if row["id"] is not None)


def _grades(rows: Iterable[Row]) -> dict[Key, Stored]:
    kept = list(rows)
    components: dict[Key, dict[str, float]] = {}
    for row in kept:
        if row["component"]:
            components.setdefault((row["group_id"], row["index"]), {})[row["component"]] = row["value"]
    return {key: Stored(row["id"], _result(row, components.get(key, {}))) for key, row in _totals(kept)}


def _totals(rows: Iterable[Row]) -> Iterator[tuple[Key, Row]]:
    return (((row["group_id"], row["index"]), row) for row in rows if not row["component"])


def _result(row: Row, components: Mapping[str, float]) -> Result:
    return Result(Status(row["status"]), row["value"], components, tuple(row["reasons"]), row["extracted"],
                  row["decided_by"], row["cost_ms"])


def _columns(results: Mapping[Key, Result]) -> dict[str, list[Any]]:
    """Return one row for each result and one for each of its components, as columns."""
    lines = [line for key, result in results.items() for line in _lines(key, result)]
    return dict(zip(_COLUMNS, map(list, zip(*lines, strict=True)), strict=True))


def _lines(key: Key, result: Result) -> Iterator[tuple[Any, ...]]:
    extracted = None if result.extracted is None else result.extracted.replace("\0", "�")  # Postgres text has no NUL
    reasons = json.dumps([reason.replace("\0", "�") for reason in result.reasons])
    yield (*key, "", result.status.value, result.score, reasons, extracted, result.decided_by, result.cost_ms)
    for name, value in result.components.items():
        yield (*key, name, Status.OK.value, value, "[]", None, result.decided_by, 0.0)
