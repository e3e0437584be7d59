"""Questions about a database whose schema the policy does not see: TRUST-SQL, arXiv 2603.16448.

It has four tools. A question is answered by the SQL of the last one, never by its result.

    explore_schema  {"sql": "PRAGMA table_info(orders)"}                          result or error
    propose_schema  {"tables": ["orders"], "columns": {"orders": ["amount"]}}     numbers of tables and columns
    generate_sql    {"sql": "SELECT sum(amount) FROM orders"}                     result or error
    confirm_answer  {"sql": "SELECT sum(amount) FROM orders"}                     the episode ends

Queries only read; their cost is counted in bytes (`statements`), where the paper's code waits ten seconds, so that
equal actions have equal results. A question whose gold SQL fails is no task. A step is not `valid` where its action or
its SQL cannot be read; SQL that names a column which there is not is valid, and is answered by SQLite's error.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hone.environments import sql_databases
from hone.environments.contract import (
    EnvironmentParams,
    EpisodeOver,
    Message,
    Observation,
    Row,
    Transition,
    WrongParams,
)
from hone.environments.hashing import digest, splitmix
from hone.environments.sql_databases import MOST_COLUMNS, QUESTIONS, HiddenQuestion, Shape
from hone.environments.sql_reading import NotMetadata, NotSql, Table, ordered, read, tables, used
from hone.environments.sql_results import Comparison, same
from hone.environments.statements import StatementError, scripted
from hone.environments.tools import Tool, ToolCall, ToolError, tool_call, use
from hone.spec.snapshots import state_of

_MOST_CELLS = 200_000
PHASES = ("explore_schema", "propose_schema", "generate_sql", "confirm_answer")
"""Names of the tools, in the order in which they are used."""
MALFORMED = "malformed"
"""Name of the note in which a harness says how a turn broke the format."""
RIGHT, RUNS, FAILS = 1.0, 0.2, 0.0
"""R_exec of a confirmed query: the gold result, another one, or an error."""


class SqlExplorationParams(EnvironmentParams):
    """Size of the generated databases, and what the policy may do and see. Rows of a dataset have their own database.
    """

    databases: int = Field(20, ge=1, le=1_000_000, description="Number of different generated databases.")
    min_tables: int = Field(5, ge=2, le=500, description="Fewest tables of a generated database.")
    max_tables: int = Field(15, ge=2, le=500, description="Most tables. Half of them are asked about, the rest are "
                            "stale copies.")
    min_columns: int = Field(3, ge=2, le=MOST_COLUMNS, description="Fewest columns of a table, besides id, name and a "
                             "foreign key.")
    max_columns: int = Field(8, ge=2, le=MOST_COLUMNS, description="Most columns of a table, besides id, name and a "
                             "foreign key.")
    rows: int = Field(20, ge=1, le=1000, description="Rows of each generated table.")
    questions: list[str] = Field(list(QUESTIONS), min_length=1, description="Kinds of generated questions: "
                                 f"{', '.join(QUESTIONS)}.")
    turns: int = Field(10, ge=1, le=100, description="Most actions of an episode.")
    shown_rows: int = Field(100, ge=1, le=1000, description="Most rows of a result that the policy sees.")
    shown_characters: int = Field(4096, ge=16, le=100_000, description="Most characters of an answer that the policy "
                                  "sees: about 1024 tokens.")
    metadata_only: bool = Field(False, description="Refuse to explore_schema more than sqlite_master and PRAGMA; "
                                "false: it is told so, as in the paper.")
    comparison: Comparison = Field("multiset", description="How results are compared: multiset, in order where the "
                                   "gold SQL has an ORDER BY; or set30, the first 30 rows as a set (the paper's code).")

    @model_validator(mode="after")
    def _fit(self) -> "SqlExplorationParams":
        for part in ("tables", "columns"):
            if getattr(self, f"min_{part}") > getattr(self, f"max_{part}"):
                raise ValueError(f"expected min_{part} of at most max_{part}")
        if self.max_tables * self.max_columns * self.rows > _MOST_CELLS:
            raise ValueError(f"expected max_tables x max_columns x rows of at most {_MOST_CELLS}")
        if unknown := set(self.questions) - QUESTIONS.keys():
            raise ValueError(f"expected questions among {', '.join(QUESTIONS)}, not {', '.join(sorted(unknown))}")
        return self

    @property
    def shape(self) -> Shape:
        return Shape((self.min_tables, self.max_tables), (self.min_columns, self.max_columns), self.rows)


class Explore(BaseModel):
    """Read the database's metadata by one SQL statement (SQLite): sqlite_master or PRAGMA."""

    sql: str = Field(description="The statement.")


class Propose(BaseModel):
    """State the tables and columns that the answer needs."""

    model_config = ConfigDict(strict=True)

    tables: list[str] = Field(description="Names of the tables.")
    columns: dict[str, list[str]] = Field(description="Names of the columns by table.")
    joins: Any = Field(None, description="How the tables are joined; for yourself.")


class Generate(BaseModel):
    """Run a candidate query and see its result."""

    sql: str = Field(description="The query.")


class Confirm(BaseModel):
    """Give the final query. It ends the episode."""

    sql: str = Field(description="The query.")


@dataclass(frozen=True)
class _State:
    turn: int = 0
    done: tuple[str, ...] = ()  # tools that were used and understood, each once
    seen: tuple[str, ...] = ()  # tables that the results of explore_schema named
    proposed: dict[str, Any] | None = None
    sql: str | None = None  # the confirmed query
    executed: float = FAILS


@dataclass(frozen=True)
class _Gold:
    """A database as bytes, what its tables are called, the gold result, and the schema that the gold SQL uses."""

    script_hash: str
    database: bytes
    tables: list[str]
    result: Table
    schema: dict[str, Any]


class SqlExploration:
    """A row is `{"prompt": question, "database": SQL script, "gold": SQL}`, and may have `evidence` and `name`."""

    summary = "Answer a question about a database with hidden schema by SQL: explore, propose, generate, confirm."
    params = SqlExplorationParams
    harness = "sql_phases"
    grader = "sql_phases"
    columns = frozenset({"database", "gold"})
    asked_roles: frozenset[str] = frozenset()
    foreign = False

    def rules(self, params: SqlExplorationParams) -> dict[str, float]:
        return {}

    def messages(self, params: SqlExplorationParams, seed: int, item: Row | None) -> list[Message]:
        return _opening(_asked(params, seed, item))

    def content(self, params: SqlExplorationParams, seed: int, item: Row | None) -> dict[str, Any]:
        asked = _asked(params, seed, item)
        world = asked.script if item is not None else [asked.database, asdict(params.shape)]
        return {"database": world, "question": asked.question, "evidence": asked.evidence}

    def episode(self, params: SqlExplorationParams, seed: int, item: Row | None) -> "SqlEpisode":
        asked = _asked(params, seed, item)
        return SqlEpisode(asked, params, _gold(asked.script, asked.gold))


class SqlEpisode:
    """One policy at work with one question."""

    def __init__(self, asked: HiddenQuestion, params: SqlExplorationParams, gold: _Gold) -> None:
        self._asked, self._params, self._gold = asked, params, gold
        self._hash = digest([gold.script_hash, asked.question, asked.gold, asked.evidence, asked.database])
        self._tools = dict(zip(PHASES, (
            Tool(Explore, self._explored), Tool(Propose, self._proposed), Tool(Generate, self._generated),
            Tool(Confirm, self._confirmed)), strict=True))
        self._state = _State()

    def reset(self) -> Observation:
        self._state = _State()
        return self._observed(_opening(self._asked))

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the answer is confirmed, or the turns are used up")
        before, call = self._state, tool_call(action) or ToolCall(None, {"text": action})
        said, valid = self._used(call)
        kept = (before.proposed, before.sql) == (self._state.proposed, self._state.sql)
        done = dict.fromkeys([*before.done, call.tool or ""]) if valid else before.done
        self._state = replace(self._state, turn=before.turn + 1, done=tuple(done))
        messages = [] if self._state.sql is not None else [{"role": "tool", "content": f"{said}\n"}]
        return Transition(self._observed(messages), self._over(), valid, effect=not kept)

    def snapshot(self) -> dict[str, Any]:
        return asdict(self._state)

    def restore(self, snapshot: dict[str, Any]) -> None:
        self._state = state_of(_State, snapshot)

    def fork(self) -> "SqlEpisode":
        other = SqlEpisode(self._asked, self._params, self._gold)
        other._state = self._state
        return other

    def state_hash(self) -> str:
        return digest({**self.snapshot(), "asked": self._hash})

    def verify(self) -> float | None:
        """Return 1 where the confirmed query has the gold result, else 0."""
        return float(self._state.executed == RIGHT)

    def examination_tools(self) -> dict[str, Tool]:
        return {"query": Tool(Generate, self._generated)}

    def _over(self) -> bool:
        return self._state.sql is not None or self._state.turn >= self._params.turns

    def _used(self, call: ToolCall) -> tuple[str, bool]:
        try:
            return use(self._tools, call)[:self._params.shown_characters], True
        except ToolError as error:
            return f"error: {error}"[:self._params.shown_characters], False

    def _explored(self, arguments: Explore) -> str:
        try:
            said = self._shown(arguments.sql, self._params.metadata_only)[:self._params.shown_characters]
        except NotMetadata as error:
            raise ToolError(str(error)) from error
        named = set(re.findall(r"\w+", said.lower()))
        seen = dict.fromkeys([*self._state.seen, *(table for table in self._gold.tables if table.lower() in named)])
        self._state = replace(self._state, seen=tuple(seen))
        return said

    def _proposed(self, arguments: Propose) -> str:
        schema = {"tables": arguments.tables, "columns": arguments.columns}
        self._state = replace(self._state, proposed=schema)
        columns = sum(len(set(names)) for names in arguments.columns.values())
        return f"schema noted: {len(set(arguments.tables))} tables, {columns} columns"

    def _generated(self, arguments: Generate) -> str:
        return self._shown(arguments.sql)

    def _confirmed(self, arguments: Confirm) -> str:
        self._state = replace(self._state, sql=arguments.sql, executed=self._executed(arguments.sql))
        return ""

    def _shown(self, sql: str, metadata: bool = False) -> str:
        """Return a query's result as text, or SQLite's error. Raises ToolError for what is no SQL."""
        try:
            return _text(read(self._gold.database, sql, self._params.shown_rows, metadata=metadata))
        except NotSql as error:
            raise ToolError(str(error)) from error
        except NotMetadata:
            raise
        except StatementError as error:
            return f"error: {error}"

    def _executed(self, sql: str) -> float:
        try:
            found = read(self._gold.database, sql)
        except StatementError:
            return FAILS
        right = same(found, self._gold.result, ordered(self._asked.gold), self._params.comparison)
        return RIGHT if right else RUNS

    def _observed(self, said: Sequence[Message]) -> Observation:
        state, asked = self._state, self._asked
        item = {"question": asked.question, "gold": asked.gold, "schema": self._gold.schema, "sql": state.sql,
                "proposed": state.proposed, "executed": state.executed, "done": list(state.done),
                "tables_seen": len(state.seen), "tables_needed": len(self._gold.schema["tables"]),
                "verified": self.verify()}
        described = [tool.described(name) for name, tool in self._tools.items()]
        return Observation(list(said), item, {"type": SqlExploration.grader}, self._params.turns - state.turn,
                           self.state_hash(), described)


def _opening(asked: HiddenQuestion) -> list[Message]:
    known = [f"Database: {asked.database}", *([f"Known: {asked.evidence}"] if asked.evidence else [])]
    lines = [*(known if asked.database else known[1:]), asked.question]
    return [{"role": "user", "content": "\n".join(lines) + "\n"}]


def _asked(params: SqlExplorationParams, seed: int, item: Row | None) -> HiddenQuestion:
    if item is None:
        made = sql_databases.database(splitmix(seed) % params.databases, params.shape)
        return sql_databases.question(seed, made, params.questions)
    for key in ("database", "prompt", "gold"):
        if not isinstance(item.get(key), str) or not item[key]:
            raise WrongParams(f"item.{key}", item.get(key), "a text that is not empty")
    for key in ("evidence", "name"):
        if not isinstance(item.get(key, ""), str):
            raise WrongParams(f"item.{key}", item[key], "a text")
    return HiddenQuestion(
        item.get("name", ""), item["database"], item["prompt"], item["gold"], item.get("evidence", ""))


@lru_cache(maxsize=16)
def _gold(script: str, gold: str) -> _Gold:
    script_hash, database = _made(script)
    try:
        return _Gold(script_hash, database, tables(database), read(database, gold), used(database, gold))
    except StatementError as error:
        raise WrongParams("item.gold", gold[:200], f"a query that runs ({error})") from error


@lru_cache(maxsize=16)
def _made(script: str) -> tuple[str, bytes]:
    try:
        return digest(script), scripted(script)
    except StatementError as error:
        raise WrongParams("item.database", script[:200], f"an SQL script ({error})") from error


def _text(table: Table) -> str:
    lines = [table.columns, *([_cell(cell) for cell in row] for row in table.rows)]
    return "\n".join(["|".join(line) for line in lines] + (["..."] if table.more else []))


def _cell(value: object) -> str:
    return "NULL" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


