"""Questions about a database that the policy looks into with a tool: a real SQLite database, made from a seed or a row.

    policy  query  {"sql": "SELECT count(*) FROM items WHERE kind = 'b'"}
    tool    3
    policy  3                       any text that is no tool call is the answer

Each episode has a database of its own, in memory; the policy may change it. What a query may cost is bounded in
SQLite's own steps, so that equal actions end equally on any machine. Queries reach no file, set nothing and draw no
random numbers; one that reads the clock cannot be replayed, which masks its sample if a session has to be rebuilt.
"""

import sqlite3
from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field

from hone.environments.contract import EpisodeOver, Message, Observation, Params, Row, Transition, WrongParams
from hone.environments.hashing import digest, splitmix
from hone.environments.tools import Tool, ToolError, tool_call, use

_STEPS_PER_QUERY = 2_000_000
_HANDLER_EVERY = 10_000
_PAGES = 4_096
_LIMITS = {sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_LENGTH: 100_000, sqlite3.SQLITE_LIMIT_COLUMN: 500,
           sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100}
_PRAGMAS = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"}
_RANDOM = {"random", "randomblob", "load_extension"}
_FILES = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_CREATE_TEMP_INDEX,
          sqlite3.SQLITE_CREATE_TEMP_TABLE, sqlite3.SQLITE_CREATE_TEMP_TRIGGER, sqlite3.SQLITE_CREATE_TEMP_VIEW}
"""Statements that open a file; a temporary table's would be bounded by nothing."""
_HEAP_BYTES = 2**28
"""What SQLite takes at most, of all episodes of this process at a time."""
_TEXT, _ROWS = 2_000, 200
"""Characters and rows of a result that the policy is shown."""

_KINDS = "abcd"
_QUESTIONS = {
    "count": ("how many {kind}?", "SELECT count(*) FROM items WHERE kind = '{kind}'"),
    "sum": ("total price of {kind}?", "SELECT total(price) FROM items WHERE kind = '{kind}'"),
    "max": ("highest price of {kind}?", "SELECT max(price) FROM items WHERE kind = '{kind}'"),
}


class SqliteParams(Params):
    """Size of the generated databases; rows of a dataset bring their own."""

    rows: int = Field(12, ge=4, le=1000, description="Rows of the generated table items(kind, price).")
    turns: int = Field(4, ge=1, le=100, description="Tool calls and answers of an episode at most.")
    questions: list[str] = Field(["count", "sum", "max"], min_length=1, description="Kinds of generated questions.")


class Query(BaseModel):
    """Run one SQL statement (SQLite) and read its rows, one a line, columns separated by |."""

    sql: str = Field(description="The statement.")


@dataclass(frozen=True)
class Asked:
    """A database as a script that makes it, a question about it, and its answer."""

    script: str
    question: str
    answer: str


@dataclass
class _State:
    database: bytes
    turn: int = 0
    answer: str | None = None


class Sqlite:
    """A row is `{"prompt": question, "database": SQL script, "answer": str}`; without rows, questions are generated."""

    summary = "Answer a question about a SQLite database by querying it with a tool."
    params = SqliteParams
    harness = "tool_loop"
    columns = frozenset({"database", "answer"})
    foreign = False

    def rules(self, params: SqliteParams) -> dict[str, float]:
        return {}

    def messages(self, params: SqliteParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": _asked(params, seed, item).question + "\n"}]

    def content(self, params: SqliteParams, seed: int, item: Row | None) -> dict[str, str]:
        asked = _asked(params, seed, item)
        if item is not None:
            _made(asked.script)
        return {"database": asked.script, "question": asked.question}

    def episode(self, params: SqliteParams, seed: int, item: Row | None) -> "SqliteEpisode":
        asked = _asked(params, seed, item)
        return SqliteEpisode(asked, params.turns, self.messages(params, seed, item), _made(asked.script))


class SqliteEpisode:
    """One database under one policy's hands."""

    def __init__(self, asked: Asked, turns: int, opening: list[Message], database: bytes) -> None:
        self._asked, self._turns, self._opening, self._fresh = asked, turns, opening, database
        self._tools = {"query": Tool(Query, self._query)}
        self._state = _State(database)

    def reset(self) -> Observation:
        self._state = _State(self._fresh)
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
        self._state = _State(**{**snapshot, "database": b64decode(snapshot["database"])})

    def fork(self) -> "SqliteEpisode":
        other = SqliteEpisode(self._asked, self._turns, self._opening, self._fresh)
        other._state = replace(self._state)
        return other

    def state_hash(self) -> str:
        return digest({**self.snapshot(), "asked": self._asked.__dict__})

    def verify(self) -> float | None:
        """1 for the expected answer, compared as a number where both are."""
        return float(_equal(self._state.answer, self._asked.answer))

    def _used(self, call: Any) -> tuple[str, bool]:
        try:
            return use(self._tools, call), True
        except ToolError as error:
            return f"error: {error}", False

    def _query(self, arguments: Query) -> str:
        connection = _opened(self._state.database)
        try:
            said = _shown(connection.execute(arguments.sql))
            connection.commit()
            self._state.database = _bytes(connection)
        except MemoryError as error:
            raise ToolError("out of memory") from error
        except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
            raise ToolError(str(error)) from error
        finally:
            connection.close()
        return said

    def _seen(self, said: list[Message]) -> Observation:
        item = {"question": self._asked.question, "answer": self._asked.answer, "verified": self.verify()}
        tools = [tool.described(name) for name, tool in self._tools.items()]
        turns_left = self._turns - self._state.turn
        return Observation(said, item, {"type": "environment"}, turns_left, self.state_hash(), tools)


def _asked(params: SqliteParams, seed: int, item: Row | None) -> Asked:
    if item is None:
        return _generated(params, seed)
    for key in ("database", "prompt", "answer"):
        if not isinstance(item.get(key), str) or not item[key]:
            raise WrongParams(f"item.{key}", item.get(key), "a text that is not empty")
    return Asked(item["database"], item["prompt"], item["answer"])


def _generated(params: SqliteParams, seed: int) -> Asked:
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
    connection = _opened(_made(script))
    (answer,) = connection.execute(sql.format(kind=kind)).fetchone()
    connection.close()
    return Asked(script, question.format(kind=kind), _cell(answer))


def _made(script: str) -> bytes:
    connection = _opened(b"")
    try:
        connection.executescript(script)
        return _bytes(connection)
    except (sqlite3.Error, MemoryError) as error:
        raise WrongParams("item.database", script[:200], f"an SQL script ({error})") from error
    finally:
        connection.close()


def _opened(database: bytes) -> sqlite3.Connection:
    """Return a connection that reaches no file but its own memory and gives up on what takes too long."""
    connection = sqlite3.connect(":memory:")
    if database:
        connection.deserialize(database)
    left = _STEPS_PER_QUERY // _HANDLER_EVERY

    def tick() -> int:
        nonlocal left
        left -= 1
        return int(left <= 0)

    for pragma in (f"max_page_count = {_PAGES}", f"hard_heap_limit = {_HEAP_BYTES}", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    connection.set_progress_handler(tick, _HANDLER_EVERY)
    connection.set_authorizer(_authorized)
    for limit, value in _LIMITS.items():
        connection.setlimit(limit, value)
    return connection


def _authorized(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    refused = (
        action in _FILES
        or (action == sqlite3.SQLITE_PRAGMA and first not in _PRAGMAS)
        or (action == sqlite3.SQLITE_FUNCTION and second in _RANDOM))
    return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK


def _bytes(connection: sqlite3.Connection) -> bytes:
    connection.set_authorizer(None)
    return bytes(connection.serialize())


def _shown(rows: sqlite3.Cursor) -> str:
    """Return rows as text, read only as far as they are shown."""
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
    try:
        return float(given) == float(wanted)
    except ValueError:
        return given.strip().casefold() == wanted.strip().casefold()
