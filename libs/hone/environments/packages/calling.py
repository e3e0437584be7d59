"""Calls of a package's tools. Their code runs in the sandbox: it sees tables, arguments and the number of the step.

A tool of `tools.py` is a function with the tool's name. It gets `db` and its arguments by name, changes the tables in
place, and returns a JSON value:

    def cancel_order(db, order_id):
        order = db["orders"].get(order_id)
        if order is None:
            raise Rejected("there is no such order")
        order["status"] = "cancelled"
        return {"order_id": order_id, "status": "cancelled"}

`db.now` is the time, `db.new_id("ret")` an id that is new: both follow from the step alone, so that a call that is
repeated does the same.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hone.environments.packages import plain_source
from hone.environments.packages.package import Package, Tables
from hone.environments.packages.state_form import unfit
from hone.sandbox.program import Ended, Limits, Outcome, Program, Ran

LIMITS = Limits(wall_s=10.0, call_s=2.0, cpu_s=10.0)
MOST_STATE_BYTES = 2**20

PREAMBLE = '''
import json as _json


class Rejected(Exception):
    """The call is refused, and changes nothing."""


class _Db(dict):
    def __init__(self, tables, step):
        super().__init__(tables)
        self.now = "2026-01-%02dT%02d:%02d:00Z" % (1 + step // 1440 % 28, 8 + step // 60 % 12, step % 60)
        self._step, self._made = step, 0

    def new_id(self, prefix):
        self._made += 1
        return "%s_%d_%d" % (prefix, self._step, self._made)


def _hone_call(tables, tool, arguments, step):
    db = _Db(tables, step)
    try:
        result = globals()[tool](db, **arguments)
    except Rejected as rejected:
        return {"rejected": str(rejected)}
    left = {"tables": dict(db), "result": result}
    _json.dumps(left, allow_nan=False)  # NaN equals nothing, and is no JSON
    return left

'''


@dataclass(frozen=True)
class PackageCall:
    """A call to be made: in these tables, as the step of this number."""

    tables: Tables
    tool: str
    arguments: dict[str, Any]
    step: int = 0


@dataclass(frozen=True)
class Called:
    """Result of a call. `rejected`: the tool refused it by `Rejected`. `failed`: its code is wrong, with the reason.

    `tables` are those after the call; of a call that was rejected or failed those before it.
    """

    tables: Tables
    result: Any = None
    rejected: str | None = None
    failed: str | None = None


class Runner(Protocol):
    """Runs programs: the sandbox, or in tests this process."""

    def run(self, program: Program) -> Ran:
        """Return the result of a program."""


class ToolsLost(Exception):
    """The sandbox failed. It says nothing about the tools."""


def called(runner: Runner, package: Package, calls: Sequence[PackageCall]) -> list[Called]:
    """Return the results of calls, each of its own tables. Raises ToolsLost."""
    if not calls:
        return []
    ran = runner.run(Program(
        PREAMBLE + package.source, function="_hone_call", limits=LIMITS,
        calls=[[one.tables, one.tool, one.arguments, one.step] for one in calls]))
    if ran.status is Ended.INFRA_ERROR:
        raise ToolsLost(ran.detail)
    found = [outcome_read(package, one, outcome) for one, outcome in zip(calls, ran.outcomes, strict=False)]
    why = f"{ran.status}: {ran.detail}" if ran.detail else str(ran.status)
    return [*found, *(Called(one.tables, failed=why) for one in calls[len(found):])]


def outcome_read(package: Package, call: PackageCall, outcome: Outcome) -> Called:
    """Return the result of a call of `_hone_call`."""
    value = outcome.value
    if outcome.error:
        return Called(call.tables, failed=outcome.error.replace("\0", "\ufffd"))  # no column of text can hold it
    if wrong := unfit(value):
        return Called(call.tables, failed=f"it left {wrong.found} as {wrong.field or 'a value'}, expected "
                                          f"{wrong.expected}")
    if isinstance(value, dict) and set(value) == {"rejected"}:
        return Called(call.tables, rejected=str(value["rejected"]))
    if not isinstance(value, dict) or set(value) != {"tables", "result"} or not are_tables(value["tables"]):
        return Called(call.tables, failed="it left something else than rows by table and key")
    if other := other_tables(call.tables, value["tables"], {table.name for table in package.manifest.tables}):
        return Called(call.tables, failed=f"it left {other}")
    return Called(value["tables"], value["result"])


def other_tables(before: Iterable[str], after: Iterable[str], known: Iterable[str]) -> str:
    """Return which table tools took away or made up; empty: none."""
    gone, new = sorted({*before} - {*after}), sorted({*after} - {*before} - {*known})
    return f"no table {gone[0]}, expected one" if gone else f"an unknown table {new[0]}, expected none" if new else ""


def sharing_check(source: str, limits: Limits) -> Program:
    """Return the program whose one call says whether calls of `source`, a tools.py, may share a program."""
    return Program(Path(plain_source.__file__).read_text(), function="keeps_nothing", calls=[[source]], limits=limits)


def are_tables(value: Any) -> bool:
    """Return whether a value is rows by table and key."""
    return isinstance(value, dict) and all(
        isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values()) for rows in value.values())
