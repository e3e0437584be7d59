"""The stored grades. The first result of a sample under a grader stays; later results are ignored."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from hone.graders.contract import Result, Status
from hone.rpc import outage
from hone.rpc.errors import NotFound
from hone.store.database import AsyncDatabase, Row
from services.reward.grading import Key


@dataclass(frozen=True)
class StoredGrade:
    """A grade with the id of its row."""

    grade_id: int
    result: Result


@dataclass(frozen=True)
class Account:
    """The run and the grader that grades belong to, and the key that uses them if it is not the run's."""

    tenant_id: str
    run_id: str
    grader_hash: str
    key_id: str = ""

    def names(self) -> dict[str, str]:
        """Return the account as the parameters of a statement."""
        return {"tenant_id": self.tenant_id, "run_id": self.run_id, "grader_hash": self.grader_hash}


class Ledger:
    """Reads and writes grades. Each method raises NotReady, with the reason, while the database is away."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def stored(self, account: Account, keys: Collection[Key]) -> dict[Key, StoredGrade]:
        """Return the stored grades of samples. Raises NotFound for a group of another run."""
        group_ids = sorted({group_id for group_id, _ in keys})
        with outage.reported():
            rows = await self._database.all("grades.stored", **account.names(), group_ids=group_ids)
        foreign = set(group_ids).difference(rows[0]["own"])
        if foreign:
            raise NotFound(f"group {min(foreign)}: not a group of run {account.run_id!r} "
                           f"of tenant {account.tenant_id!r}")
        graded = [row for row in rows if row["id"] is not None]
        return {key: grade for key, grade in _grades(graded).items() if key in keys}

    async def add(self, account: Account, results: Mapping[Key, Result]) -> dict[Key, StoredGrade]:
        """Store results and return each sample's stored grade: the new one, or an earlier one."""
        lines = [line for key, result in results.items() for line in _lines(key, result)]
        group_ids = sorted({group_id for group_id, _ in results})
        with outage.reported():
            async with self._database.transaction() as opened:
                rows = await opened.all("grades.add", **account.names(), group_ids=group_ids,
                                        grades=to_json(lines).decode())
                added = {(row["group_id"], row["index"]): row["id"] for row in rows if not row["component"]}
                seconds = sum(results[key].cost_ms for key in added) / 1000
                used = {"kinds": ["grades", "grading_s"], "amounts": [float(len(added)), seconds]}
                if account.key_id:
                    await opened.run("usage.add_of_run_by_key", run_id=account.run_id, key_id=account.key_id, **used)
                else:
                    await opened.run("usage.add", run_id=account.run_id, **used)
        grades = {key: StoredGrade(grade_id, results[key]) for key, grade_id in added.items()}
        if earlier := results.keys() - grades.keys():
            grades |= await self.stored(account, earlier)
        return grades


def _grades(rows: Collection[Row]) -> dict[Key, StoredGrade]:
    components: dict[Key, dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row["component"]:
            components[row["group_id"], row["index"]][row["component"]] = row["value"]
    totals = {(row["group_id"], row["index"]): row for row in rows if not row["component"]}
    return {key: StoredGrade(row["id"], _result(row, components.get(key, {}))) for key, row in totals.items()}


def _result(row: Row, components: Mapping[str, float]) -> Result:
    return Result(Status(row["status"]), row["value"], components, tuple(row["reasons"]), row["extracted"],
                  row["decided_by"], row["cost_ms"])


def _lines(key: Key, result: Result) -> Iterator[dict[str, Any]]:
    """Yield one row for a result and one for each of its components."""
    line = {"group_id": key[0], "index": key[1], "decided_by": result.decided_by}
    yield {**line, "component": "", "status": result.status, "value": result.score, "cost_ms": result.cost_ms,
           "reasons": [_storable(reason) for reason in result.reasons],
           "extracted": None if result.extracted is None else _storable(result.extracted)}
    for name, value in result.components.items():
        yield {**line, "component": name, "status": Status.OK, "value": value, "cost_ms": 0.0, "reasons": []}


def _storable(text: str) -> str:
    """Return a text that Postgres can store: without NUL and without half a surrogate pair."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
