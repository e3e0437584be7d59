"""The stored grades. The first result of a sample under a grader stays; later results are ignored."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from pydantic_core import to_json

from hone.graders.contract import Result, Scored, Status
from hone.graders.error_kinds import error_kind
from hone.rpc import outage
from hone.rpc.errors import NotFound
from hone.store.database import AsyncDatabase, AsyncTransaction, Row
from services.reward.grading import Key
from services.reward.storable import storable_result

SECOND = 2
"""The regrade_no of second opinions."""


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
    regrade_no: int = 0  # 0: the grades that a run learns from; 1: later ones, beside them; or SECOND

    def names(self) -> dict[str, str | int]:
        """Return the account as the parameters of a statement."""
        return {"tenant_id": self.tenant_id, "run_id": self.run_id, "grader_hash": self.grader_hash,
                "regrade_no": self.regrade_no}


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
        results = {key: storable_result(result) for key, result in results.items()}
        with outage.reported():
            async with self._database.transaction() as opened:
                added = await write(opened, account, results)
        grades = {key: StoredGrade(grade_id, results[key]) for key, grade_id in added.items()}
        if earlier := results.keys() - grades.keys():
            grades |= await self.stored(account, earlier)
        return grades


async def write(opened: AsyncTransaction, account: Account, results: Mapping[Key, Result]) -> dict[Key, int]:
    """Store results that can be stored as text, with their usage. Return the ids of the new grades."""
    lines = [line for key, result in results.items() for line in _lines(key, result)]
    group_ids = sorted({group_id for group_id, _ in results})
    rows = await opened.all("grades.add", **account.names(), group_ids=group_ids, grades=to_json(lines).decode())
    added = {(row["group_id"], row["index"]): row["id"] for row in rows if _whole(row)}
    seconds = sum(results[key].cost_ms for key in added) / 1000
    used = {"kinds": ["grades", "grading_s"], "amounts": [float(len(added)), seconds]}
    if account.key_id:
        await opened.run("usage.add_of_run_by_key", run_id=account.run_id, key_id=account.key_id, **used)
    else:
        await opened.run("usage.add", run_id=account.run_id, **used)
    return added


def _whole(row: Row) -> bool:
    """Return whether a row is a sample's grade; others are its components and the scores of its turns and steps."""
    return row["level"] == "trajectory" and not row["component"]


def _grades(rows: Collection[Row]) -> dict[Key, StoredGrade]:
    of_sample: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        of_sample[row["group_id"], row["index"]].append(row)
    return {key: _grade(own) for key, own in of_sample.items() if any(map(_whole, own))}


def _grade(rows: Sequence[Row]) -> StoredGrade:
    [row] = filter(_whole, rows)
    result = Result(Status(row["status"]), row["value"], reasons=tuple(row["reasons"]), extracted=row["extracted"],
                    decided_by=row["decided_by"], cost_ms=row["cost_ms"], tokens=row["tokens"],
                    evidence=tuple(row["evidence"]))
    if len(rows) == 1:
        return StoredGrade(row["id"], result)
    components = {one["component"]: one["value"] for one in rows if one["level"] == "trajectory" and one["component"]}
    turns: dict[str, dict[str, float]] = defaultdict(dict)
    for one in (one for one in rows if one["level"] == "turn"):
        turns[one["place"]][one["component"]] = one["value"]
    steps = tuple(_step(one) for one in sorted(rows, key=itemgetter("position")) if one["level"] == "step")
    return StoredGrade(row["id"], replace(result, components=components, turns=turns, steps=steps))


def _step(row: Row) -> Scored:
    call, start, end = row["place"].rsplit(" ", 2)
    return Scored(call, int(start), int(end), row["component"], row["value"])


def _lines(key: Key, result: Result) -> Iterator[dict[str, Any]]:
    """Yield one row for a result, and one for each of its components and of the scores of its turns and steps."""
    line = {"group_id": key[0], "index": key[1], "decided_by": result.decided_by, "level": "trajectory", "position": 0,
            "place": ""}
    yield {**line, "component": "", "status": result.status, "value": result.score, "cost_ms": result.cost_ms,
           "reasons": result.reasons, "extracted": result.extracted,
           "error": error_kind(result.status, result.reasons) or "", "tokens": result.tokens,
           "evidence": result.evidence}
    part = {**line, "status": Status.OK, "cost_ms": 0.0, "reasons": [], "error": "", "tokens": {}, "evidence": []}
    for name, value in result.components.items():
        yield {**part, "component": name, "value": value}
    for position, (call, scores) in enumerate(result.turns.items()):
        for name, value in scores.items():
            yield {**part, "component": name, "value": value, "level": "turn", "position": position, "place": call}
    for position, step in enumerate(result.steps):
        yield {**part, "component": step.name, "value": step.value, "level": "step", "position": position,
               "place": f"{step.call} {step.start} {step.end}"}
