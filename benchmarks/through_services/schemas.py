"""Hidden schemas in the toy's words: `max c` asks for the highest c of the one table that has a column c.

The teacher looks at all tables, then proposes the table that is needed, or one too many, or another one. It then writes
its query for a table that it proposed, carelessly.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.through_services.comparison import Row
from hone.environments.sql_exploration import SqlExploration, SqlExplorationParams
from hone.environments.tools import ToolCall
from hone.models import toy

TABLES, COLUMNS = 3, 2
"""Tables of a database, and columns of a table."""
_ROWS = 3
_FUNCTIONS = ("max", "min", "sum")
_LOOK = "SELECT p.name, m.name FROM sqlite_master AS m, pragma_table_info(m.name) AS p"
PARAMS: dict[str, Any] = {"turns": 6}
TASK = {"environment": "sql_exploration", "params": PARAMS, "dataset": "schemas"}
HELD_OUT = {**TASK, "dataset": "other-schemas"}
HARNESS: dict[str, Any] = {
    "name": "sql_phases", "params": {"syntax": "line", "describe": False, "max_turns": 6}}
MAX_TOKENS = 20

SYMBOLS = [
    *toy.TEXT, f"explore_schema: {_LOOK}", 'propose_schema: {"tables": ["', '"], "columns": {"', '": ["', '"]}}',
    '"], "', '", "', "generate_sql: SELECT ", "confirm_answer: SELECT ", "max(", "min(", "sum(", ") FROM ",
    "name|name\n", "schema noted: ", " tables, ", " columns", "max ", "min ", "sum ", "error: no such column: "]
"""The toy's symbols, with one for each text that recurs."""


@dataclass(frozen=True)
class Question:
    """A database, which of its tables has the column, and a function of the column."""

    tables: dict[str, list[str]]
    table: str
    column: str
    function: str
    script: str

    def sql(self, table: str, column: str) -> str:
        return f"SELECT {self.function}({column}) FROM {table}"

    @property
    def row(self) -> Row:
        """The row of a dataset."""
        return {"prompt": f"{self.function} {self.column}", "gold": self.sql(self.table, self.column),
                "database": self.script}


def rows(count: int, seed: int) -> Iterator[Row]:
    """Yield questions as rows of a dataset."""
    return (_question(random.Random(f"schemas {seed} {place}")).row for place in range(count))


def demonstrations(count: int, exact: float, wider: float, seed: int = 0) -> Iterator[Row]:
    """Yield whole episodes of the teacher, whose proposal is exact or one table too wide in these shares."""
    for place in range(count):
        chance = random.Random(f"shown schemas {seed} {place}")
        question = _question(chance)
        yield {"messages": list(_played(question, list(_turns(question, chance, exact, wider))))}


def _question(chance: random.Random) -> Question:
    names = chance.sample("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:2 * TABLES], TABLES)
    letters = chance.sample("abcdefghijklmnopqrstuvwxyz"[:TABLES * COLUMNS + 2], TABLES * COLUMNS)
    tables = {name: letters[place * COLUMNS:(place + 1) * COLUMNS] for place, name in enumerate(names)}
    table = chance.choice(names)
    script = " ".join(
        f"CREATE TABLE {name} ({', '.join(columns)}); INSERT INTO {name} VALUES "
        f"{', '.join(str(tuple(chance.randrange(100, 1000) for _ in columns)) for _ in range(_ROWS))};"
        for name, columns in tables.items())
    return Question(tables, table, chance.choice(tables[table]), chance.choice(_FUNCTIONS), script)


def _turns(question: Question, chance: random.Random, exact: float, wider: float) -> Iterator[tuple[str, Any]]:
    """Yield the teacher's actions and their payloads."""
    others = [(name, chance.choice(columns)) for name, columns in question.tables.items() if name != question.table]
    needed, other, kind = (question.table, question.column), chance.choice(others), chance.random()
    proposed = [needed] if kind < exact else [needed, other] if kind < exact + wider else [other]
    if chance.random() < 0.5:
        proposed.reverse()
    sql = question.sql(*chance.choice(proposed))
    yield "explore_schema", {"sql": _LOOK}
    yield "propose_schema", {"tables": [name for name, _ in proposed],
                             "columns": {name: [column] for name, column in proposed}}
    yield "generate_sql", {"sql": sql}
    yield "confirm_answer", {"sql": sql}


def _played(question: Question, turns: list[tuple[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield the messages of an episode with these actions."""
    world = SqlExploration().episode(SqlExplorationParams(**PARAMS), 0, question.row)
    yield from world.reset().messages
    for action, payload in turns:
        written = payload["sql"] if "sql" in payload else json.dumps(payload)
        yield {"role": "assistant", "content": f"{action}: {written}"}
        yield from world.step(ToolCall(action, payload).action()).observation.messages
