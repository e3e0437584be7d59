"""Hidden schemas in the toy's words: `max c` asks for the highest c of the one table that has a column c.

The teacher asks the database which table has the column, or only what the tables are called. Then it proposes the table
that it saw first, or another one too, or another one alone, and queries a table that it proposed.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.through_services.comparison import Row
from hone.models import toy

TABLES, COLUMNS = 4, 2
"""Tables of a database, and columns of a table."""
_ROWS = 3
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FUNCTIONS: Mapping[str, Callable[[list[int]], int]] = {"max": max, "min": min, "sum": sum}
_NAMES = "SELECT name FROM sqlite_master"
_WHERE = "SELECT m.name FROM sqlite_master AS m, pragma_table_info(m.name) AS p WHERE p.name = "
PARAMS: dict[str, Any] = {"turns": 6}
TASK = {"environment": "sql_exploration", "params": PARAMS, "dataset": "schemas"}
HELD_OUT = {**TASK, "dataset": "other-schemas"}
HARNESS: dict[str, Any] = {"name": "sql_phases", "params": {"syntax": "line", "describe": False, "max_turns": 6}}
MAX_TOKENS = 20

SYMBOLS = [
    *toy.TEXT, f"explore_schema: {_NAMES}", f"explore_schema: {_WHERE}", 'propose_schema: {"tables": ["',
    '"], "columns": {"', '": ["', '"]}}', '"], "', '", "', "generate_sql: SELECT ", "confirm_answer: SELECT ", "max(",
    "min(", "sum(", ") FROM ", "schema noted: ", " tables, ", " columns", "max ", "min ", "sum ", "name\n",
    "error: no such table: ", "error: no such column: "]
"""What the task and the harness write, a token each text that recurs."""
POLICY: Mapping[str, Any] = {"hidden": 64, "ffn": 256, "vocab_size": 128, "symbols": SYMBOLS}
"""Sizes of the policy: a hundred thousand parameters."""


@dataclass(frozen=True)
class Question:
    """A database: its tables' columns with their values. A function of a column, and which of the tables has it."""

    tables: dict[str, dict[str, list[int]]]
    table: str
    column: str
    function: str

    @property
    def script(self) -> str:
        return " ".join(
            f"CREATE TABLE {name} ({', '.join(columns)}); INSERT INTO {name} VALUES "
            f"{', '.join(map(str, zip(*columns.values(), strict=True)))};" for name, columns in self.tables.items())

    def sql(self, table: str) -> str:
        return f"SELECT {self.function}({self.column}) FROM {table}"

    @property
    def row(self) -> Row:
        """The row of a dataset."""
        return {"prompt": f"{self.function} {self.column}", "gold": self.sql(self.table), "database": self.script}


def rows(count: int, seed: int) -> Iterator[Row]:
    """Yield questions as rows of a dataset."""
    return (_question(random.Random(f"schemas {seed} {place}")).row for place in range(count))


def demonstrations(count: int, where: float, exact: float, wider: float, seed: int = 0) -> Iterator[Row]:
    """Yield whole episodes of the teacher.

    It asks for the column in the share `where`, and proposes the first table that it saw alone in the share `exact`,
    and with another one in the share `wider`.
    """
    for place in range(count):
        chance = random.Random(f"shown schemas {seed} {place}")
        yield {"messages": list(_played(_question(chance), chance, where, exact, wider))}


def _question(chance: random.Random) -> Question:
    names, letters = chance.sample(_LETTERS.upper(), TABLES), chance.sample(_LETTERS, TABLES * COLUMNS)
    own = {name: letters[place * COLUMNS:(place + 1) * COLUMNS] for place, name in enumerate(names)}
    table = chance.choice(names)
    values = {name: [[chance.randrange(100, 1000) for _ in columns] for _ in range(_ROWS)]
              for name, columns in own.items()}
    tables = {name: dict(zip(columns, map(list, zip(*values[name], strict=True)), strict=True))
              for name, columns in own.items()}
    return Question(tables, table, chance.choice(own[table]), chance.choice(list(_FUNCTIONS)))


def _played(
    question: Question, chance: random.Random, where: float, exact: float, wider: float
) -> Iterator[dict[str, str]]:
    """Yield the messages of one episode of the teacher; the environment's words are written without running it."""
    yield {"role": "user", "content": f"{question.function} {question.column}\n"}
    knows = chance.random() < where
    seen = [question.table] if knows else list(question.tables)
    yield from _turn("explore_schema", f"{_WHERE}'{question.column}'" if knows else _NAMES, "\n".join(["name", *seen]))
    other = chance.choice([name for name in question.tables if name != seen[0]])
    kind = chance.random()
    proposed = seen[:1] if kind < exact else [seen[0], other] if kind < exact + wider else [other]
    schema = {"tables": proposed, "columns": {name: [question.column] for name in proposed}}
    noted = f"schema noted: {len(proposed)} tables, {len(proposed)} columns"
    yield from _turn("propose_schema", json.dumps(schema), noted)
    table = chance.choice(proposed)
    yield from _turn("generate_sql", question.sql(table), _result(question, table))
    yield from _turn("confirm_answer", question.sql(table))


def _turn(action: str, payload: str, heard: str = "") -> Iterator[dict[str, str]]:
    yield {"role": "assistant", "content": f"{action}: {payload}"}
    if heard:
        yield {"role": "tool", "content": f"{heard}\n"}


def _result(question: Question, table: str) -> str:
    if question.column not in question.tables[table]:
        return f"error: no such column: {question.column}"
    found = _FUNCTIONS[question.function](question.tables[table][question.column])
    return f"{question.function}({question.column})\n{found}"
