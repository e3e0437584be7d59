"""Questions about a SQLite database that the policy queries with a tool. A seed or a row makes the database.

    policy  query  {"sql": "SELECT count(*) FROM items WHERE kind = 'b'"}
    tool    3
    policy  3                       any text that is no tool call is the answer

Each episode has its own database in memory, and the policy may change it. The cost of a query is limited by the bytes
that it moves (`statements`), so equal actions have equal results on every machine. Queries cannot reach files, change
settings or draw random numbers. A query that reads the clock cannot be replayed: if the session has to be rebuilt, the
sample is masked.
"""

import sqlite3
from base64 import b64encode
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field

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
from hone.environments.sql_tables import made
from hone.environments.statements import StatementError, content, queried, scripted
from hone.environments.tools import Tool, ToolError, tool_call, use
from hone.spec.snapshots import WrongSnapshot, state_of

_TEXT, _ROWS = 2_000, 200
"""Most characters and rows of a result that the policy sees."""

_KINDS = "abcd"
_QUESTIONS = {
    "count": ("how many {kind}?", "SELECT count(*) FROM items WHERE kind = '{kind}'"),
    "sum": ("total price of {kind}?", "SELECT total(price) FROM items WHERE kind = '{kind}'"),
    "max": ("highest price of {kind}?", "SELECT max(price) FROM items WHERE kind = '{kind}'"),
}


class SqliteParams(EnvironmentParams):
    """Size of the generated databases. Rows of a dataset have their own database."""

    rows: int = Field(12, ge=4, le=1000, description="Rows of the generated table items(kind, price).")
    turns: int = Field(4, ge=1, le=100, description="Most turns of an episode: tool calls and the answer.")
    questions: list[str] = Field(
        ["count", "sum", "max"], min_length=1, description="Kinds of generated questions: count, sum and max.")


class Query(BaseModel):
    """Run one SQL statement (SQLite) and read its rows, one a line, columns separated by |."""

    sql: str = Field(description="The statement.")


@dataclass(frozen=True)
class SqlQuestion:
    """The script that makes a database, a question about the database, and the answer."""

    script: str
    question: str
    answer: str


@dataclass
class _DatabaseState:
    database: bytes
    turn: int = 0
    answer: str | None = None


class Sqlite:
    """A row is `{"prompt": question, "database": SQL script, "answer": str}`; without rows, questions are generated.

    The database may be a SQLite file in base64, too. Further fields of a row are for its grader.
    """

    summary = "Answer a question about a SQLite database by querying it with a tool."
    params = SqliteParams
    harness = "tool_loop"
    columns = frozenset({"database", "answer"})
    asked_roles: frozenset[str] = frozenset()
    foreign = False

    def rules(self, params: SqliteParams) -> dict[str, float]:
        return {}

    def messages(self, params: SqliteParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": _asked(params, seed, item).question + "\n"}]

    def content(self, params: SqliteParams, seed: int, item: Row | None) -> dict[str, str]:
        asked = _asked(params, seed, item)
        return {"database": asked.script, "question": asked.question}

    def episode(self, params: SqliteParams, seed: int, item: Row | None) -> "SqliteEpisode":
        asked = _asked(params, seed, item)
        facts = {name: value for name, value in (item or {}).items() if name not in ("prompt", "database")}
        return SqliteEpisode(asked, params.turns, self.messages(params, seed, item), _made(asked.script), facts)


class SqliteEpisode:
    """One policy at work with one database."""

    def __init__(
        self, asked: SqlQuestion, turns: int, opening: list[Message], database: bytes, facts: Row | None = None
    ) -> None:
        """`facts` are further fields of the row, for its grader."""
        self._asked, self._turns, self._opening, self._fresh, self._facts = asked, turns, opening, database, facts or {}
        self._tools = {"query": Tool(Query, self._query)}
        self._state = _DatabaseState(database)

    def reset(self) -> Observation:
        self._state = _DatabaseState(self._fresh)
        return self._seen(self._opening)

    def step(self, action: str) -> Transition:
        state = self._state
        if state.answer is not None or state.turn >= self._turns:
            raise EpisodeOver("the question has been answered, or its turns are used up")
        state.turn, before, call = state.turn + 1, state.database, tool_call(action)
        if call is None:
            state.answer = action.strip()
            return Transition(self._seen([]), done=True, valid=True, effect=True)
        said, valid = self._used(call)
        return Transition(self._seen([{"role": "tool", "content": said + "\n"}]), done=state.turn >= self._turns,
                          valid=valid, effect=state.database != before)

    def snapshot(self) -> dict[str, Any]:
        return {**self._state.__dict__, "database": b64encode(self._state.database).decode()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        state = state_of(_DatabaseState, snapshot)
        try:
            queried(state.database, lambda opened: opened.execute("SELECT count(*) FROM sqlite_master").fetchone())
        except (StatementError, sqlite3.Error) as error:
            raise WrongSnapshot("database", f"{len(state.database)} bytes", f"a SQLite database ({error})") from error
        self._state = state

    def fork(self) -> "SqliteEpisode":
        other = SqliteEpisode(self._asked, self._turns, self._opening, self._fresh, self._facts)
        other._state = replace(self._state)
        return other

    def state_hash(self) -> str:
        return digest({**self.snapshot(), "asked": self._asked.__dict__})

    def verify(self) -> float | None:
        """Return 1 for the expected answer, else 0. Answers are compared as numbers where both are."""
        return float(_equal(self._state.answer, self._asked.answer))

    def examination_tools(self) -> dict[str, Tool]:
        return self._tools

    def _used(self, call: Any) -> tuple[str, bool]:
        try:
            return use(self._tools, call), True
        except ToolError as error:
            return f"error: {error}", False

    def _query(self, arguments: Query) -> str:
        def carried_out(connection: sqlite3.Connection) -> tuple[str, bytes]:
            said = _shown(connection.execute(arguments.sql))
            connection.commit()
            return said, content(connection)

        try:
            said, self._state.database = queried(self._state.database, carried_out)
        except StatementError as error:
            raise ToolError(str(error)) from error
        return said

    def _seen(self, said: list[Message]) -> Observation:
        own = {"question": self._asked.question, "answer": self._asked.answer, "verified": self.verify()}
        item = {**self._facts, **own}
        tools = [tool.described(name) for name, tool in self._tools.items()]
        turns_left = self._turns - self._state.turn
        return Observation(said, item, {"type": "environment"}, turns_left, self.state_hash(), tools)


def _asked(params: SqliteParams, seed: int, item: Row | None) -> SqlQuestion:
    if item is None:
        return _generated(params, seed)
    for key in ("database", "prompt", "answer"):
        if not isinstance(item.get(key), str) or not item[key]:
            raise WrongParams(f"item.{key}", item.get(key), "a text that is not empty")
    return SqlQuestion(item["database"], item["prompt"], item["answer"])


def _generated(params: SqliteParams, seed: int) -> SqlQuestion:
    drawn = [splitmix(splitmix(seed) ^ place) for place in range(params.rows + 1)]
    rows = [(_KINDS[value % len(_KINDS)], value // 8 % 90 + 10) for value in drawn[1:]]
    known = sorted({kind for kind, _ in rows})
    for name in params.questions:
        if name not in _QUESTIONS:
            raise WrongParams("params.questions", name, f"names among {', '.join(_QUESTIONS)}")
    question, sql = _QUESTIONS[params.questions[drawn[0] % len(params.questions)]]
    kind = known[drawn[0] // 64 % len(known)]
    values = ", ".join(f"('{kind}', {price})" for kind, price in rows)
    script = f"CREATE TABLE items (kind TEXT, price INTEGER); INSERT INTO items VALUES {values};"
    (answer,) = queried(scripted(script), lambda database: database.execute(sql.format(kind=kind)).fetchone())
    return SqlQuestion(script, question.format(kind=kind), _cell(answer))


def _made(script: str) -> bytes:
    try:
        return made(script)
    except StatementError as error:
        raise WrongParams("item.database", script[:200], f"an SQL script, or a SQLite file in base64 ({error})"
                          ) from error


def _shown(rows: sqlite3.Cursor) -> str:
    """Return rows as text. Rows beyond the limit are not read."""
    lines, length = list[str](), 0
    for row in rows:
        lines.append("|".join(map(_cell, row)))
        length += len(lines[-1]) + 1
        if length > _TEXT or len(lines) == _ROWS:
            break
    rows.close()
    return "\n".join(lines)[:_TEXT]


def _cell(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _equal(given: str | None, wanted: str) -> bool:
    if given is None:
        return False
    if given.strip().casefold() == wanted.strip().casefold():
        return True
    try:
        return float(given) == float(wanted)
    except ValueError:
        return False
