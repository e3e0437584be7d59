"""Tasks and tools with noise."""

from typing import Any

from hone.environments.contract import Task, Transition
from hone.environments.tasks import make
from hone.environments.tools import ToolCall
from hone.spec.noise import TaskNoise

ROW = {"prompt": "How many?", "answer": "3",
       "database": "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'one'), (2, 'two')"}
SURE: dict[str, Any] = {"prob": 1, "interval": 0, "intensity": 3}
READ, WRITE = "SELECT a, b FROM t", "INSERT INTO t VALUES (3, 'three')"


def task(kind: str, environment: str = "sqlite", row: Any = ROW, **terms: Any) -> Task:
    made = make(environment, {"turns": 8} if environment == "sqlite" else {}, 5, row)
    return Task(**{**made.__dict__, "noise": TaskNoise.model_validate({"type": kind, **SURE, **terms}).model_dump()})


def query(made: Any, sql: str) -> Transition:
    return made.step(ToolCall("query", {"sql": sql}).action())  # type: ignore[no-any-return]


def said(taken: Transition) -> str:
    return str(taken.observation.messages[-1]["content"])
