"""Runs SQL of policies and tenants with a limited cost, counted in bytes and never in seconds.

Each step of SQLite's virtual machine moves at most the longest value. So a statement may take many steps over short
values or few steps over long ones. It is tried with a short limit for values first, then with longer ones. Functions
whose cost grows with the product of their arguments' lengths pay for that product. So equal statements have equal
results on every machine, and the most expensive one ends within a fraction of a second.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

Made = TypeVar("Made")
Allowed: TypeAlias = Callable[[int, str | None, str | None, str | None], bool]
"""Whether a statement may take an action: SQLite's code, its two names, and the view or subquery that it is in."""

QUERY_BYTES, _SCRIPT_BYTES = 1_000_000_000, 2_000_000_000
"""Bytes that a query may move, and that a whole script may move."""
_QUERY_CHARACTERS = 20_000
_LONGEST = (2_000, 20_000, 100_000)
"""Most bytes of a value or row in each attempt. The limit also holds for a table's SQL and a column's name."""
_QUERY_TICKS, _SCRIPT_TICK = 100, 25
"""Checks of a query's budget; and steps between two checks of a script's budget, which each statement pays at least."""
_CALL, _PLACE, _NUMBER = 20_000, 4, 20
"""Price of a call of an expensive function, or of a name in a statement; price of each pair of positions that may be
compared; most characters of a number."""
_DEAR = {"like": (2, 3), "glob": (2,), "instr": (2,), "replace": (3,), "trim": (2,), "ltrim": (2,), "rtrim": (2,)}
"""Functions that compare all positions of two arguments, with the numbers of arguments that they take."""
_MAKING = {"printf": (-1,), "format": (-1,)}
"""Functions that return NULL instead of an error when their result is too long."""
_PAGES = 4_096
_HEAP_BYTES = 2**27
"""Most memory of SQLite for all episodes of this process together. It limits the cost of compiling a statement."""
_LIMITS = {sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_COLUMN: 500,
           sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100}
PRAGMAS = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"})
"""Pragmas that read metadata, the only ones that a statement may use."""
_REFUSED = {"random", "randomblob", "load_extension", "json_patch"}
"""Functions that draw random numbers, reach files, or have a cost quadratic in their input."""
_UNBOUNDED = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_CREATE_TEMP_INDEX,
              sqlite3.SQLITE_CREATE_TEMP_TABLE, sqlite3.SQLITE_CREATE_TEMP_TRIGGER, sqlite3.SQLITE_CREATE_TEMP_VIEW,
              sqlite3.SQLITE_CREATE_VTABLE}
"""Actions that open a file or avoid the limits: temporary tables, and virtual tables, which count no steps."""
_STATEMENTS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}


class StatementError(ValueError):
    """SQLite refused a statement, or the statement costs too much."""


def queried(
    database: bytes, use: Callable[[sqlite3.Connection], Made], allowed: Allowed = lambda *_: True,
    budget: int = QUERY_BYTES,
) -> Made:
    """Return the result of `use`, which runs one statement on a copy of a database. Raises StatementError.

    The statement also has to be `allowed` each of its actions. It may move `budget` bytes.
    """
    def bounded(longest: int, purse: "_Purse") -> sqlite3.Connection:
        connection = _opened(database, longest, purse, QUERY_BYTES // longest // _QUERY_TICKS, _CALL, allowed)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _QUERY_CHARACTERS)
        return connection

    return _attempted(budget, bounded, use)


def scripted(script: str) -> bytes:
    """Return the database that an SQL script creates, as bytes. Raises StatementError."""
    def bounded(longest: int, purse: "_Purse") -> sqlite3.Connection:
        return _opened(b"", longest, purse, _SCRIPT_TICK, _SCRIPT_TICK * longest)

    def made(connection: sqlite3.Connection) -> bytes:
        if "\0" in script:  # a query with one is refused by SQLite's own error, a script by another kind of error
            raise sqlite3.ProgrammingError("the script contains a null character")
        connection.executescript(script)
        return content(connection)

    return _attempted(_SCRIPT_BYTES, bounded, made)


def content(connection: sqlite3.Connection) -> bytes:
    """Return a database as bytes. Afterwards the connection has no limits."""
    connection.set_authorizer(None)
    return bytes(connection.serialize())


def _attempted(
    budget: int, opened: Callable[[int, "_Purse"], sqlite3.Connection], use: Callable[[sqlite3.Connection], Made]
) -> Made:
    for longest in _LONGEST:
        purse = _Purse(budget)
        connection = opened(longest, purse)
        try:
            return use(connection)
        except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError, MemoryError) as error:
            if longest == _LONGEST[-1] or not _too_long(error):
                raise StatementError(purse.refusal or str(error) or "out of memory") from error
        finally:
            connection.close()
    raise AssertionError("the last attempt returns or raises")


def _too_long(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_TOOBIG


@dataclass
class _Purse:
    """The bytes that a statement may still move, and the reason of a refusal."""

    left: int
    refusal: str = ""

    def pay(self, price: int) -> bool:
        """Take a price out of the purse; return False when it is empty."""
        self.left -= price
        if self.left < 0:
            self.refusal = "interrupted: the statement costs too much"
        return self.left >= 0


def _opened(
    database: bytes, longest: int, purse: _Purse, tick: int, statement: int, allowed: Allowed = lambda *_: True
) -> sqlite3.Connection:
    """Return a connection in memory that reaches no files and stops when its purse is empty.

    It pays after every `tick` steps. Each statement also pays the price `statement`.
    """
    connection = sqlite3.connect(":memory:")
    if database:
        connection.deserialize(database)
    for pragma in (f"max_page_count = {_PAGES}", f"hard_heap_limit = {_HEAP_BYTES}", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    for limit, value in _LIMITS.items():
        connection.setlimit(limit, value)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    for name, counts in {**_DEAR, **_MAKING}.items():
        for count in counts:
            connection.create_function(name, count, _paid(name, purse), deterministic=True)
    connection.set_progress_handler(lambda: int(not purse.pay(tick * longest)), tick)
    connection.set_authorizer(_authorizer(purse, statement, allowed))
    return connection


def _authorizer(purse: _Purse, statement: int, allowed: Allowed) -> Callable[..., int]:
    """Return SQLite's authorizer: it refuses forbidden actions, and takes the price of compiling a statement."""
    def authorized(action: int, first: str | None, second: str | None, _: str | None, inside: str | None) -> int:
        refused = (
            not purse.pay(statement if action in _STATEMENTS else _CALL) or action in _UNBOUNDED
            or (action == sqlite3.SQLITE_PRAGMA and first not in PRAGMAS)
            or (action == sqlite3.SQLITE_FUNCTION and second in _REFUSED) or not allowed(action, first, second, inside))
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    return authorized


def _paid(name: str, purse: _Purse) -> Callable[..., Any]:
    """Return SQLite's own function `name`, run on another connection. Each call pays for itself."""
    own: list[sqlite3.Connection] = []

    def called(*given: Any) -> Any:
        if not purse.pay(_CALL + (_places(given) if name in _DEAR else 0)):
            raise StatementError(purse.refusal)
        if not own:
            own.append(_plain())
        try:
            (made,) = own[0].execute(f"SELECT {name}({', '.join('?' * len(given))})", given).fetchone()
        except sqlite3.Error as error:
            if _too_long(error):
                raise OverflowError from error  # SQLite turns it into its error for long values
            purse.refusal = str(error)
            raise
        purse.pay(_length(made))
        return made

    return called


def _places(given: tuple[Any, ...]) -> int:
    return _PLACE * _length(given[0]) * _length(given[1])


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes) else _NUMBER


def _plain() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST[-1])
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _LIMITS[sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH])
    return connection
