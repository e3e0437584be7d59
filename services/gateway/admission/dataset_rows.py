"""Checks the rows of an uploaded dataset one by one. The report names number, field, value and expectation."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any

from hone.audiences import behaviour
from hone.environments import row_json
from hone.spec import strict_json
from hone.spec.problems import Invalid, Problem, found, unstorable
from hone.spec.settings import Settings
from hone.text import shape
from services.gateway.middleware.errors import Unusable

_REPORTED = 100
"""Problems in a report, the first ones; the other bad rows are only counted."""

_RENDERED = ("messages", "tools")
"""Keys that a chat template renders. Their numbers are numbers, as they are where the template runs elsewhere."""

_TEXTS = 5
"""Rows that the report names whose numbers are kept as texts."""

_NAMED = 3
"""Rows that are named of those that lack a key which others have."""

_MOST_KEYS, _LONGEST_KEY = 1000, 200
"""Different keys of all rows together, and characters of a key: the dataset's description counts each."""

_ENDING = 2  # bytes of "\r\n"
_PROMPTS = ("prompt", "messages")
_COMPLETIONS = ("completion", "chosen", "rejected")


@dataclass(frozen=True)
class RowBounds:
    """Limits of a dataset, so that no row or dataset takes all the memory or time of the processes that read it."""

    rows: int = 10_000_000
    row_bytes: int = 2**20
    depth: int = 32

    @classmethod
    def of(cls, settings: Settings) -> "RowBounds":
        """Return the bounds of the settings."""
        return cls(settings.max_rows, settings.max_row_kb * 2**10, settings.max_row_depth)

    def lines(self, file: IO[bytes]) -> Iterator[bytes]:
        """Yield the lines of a file; of a line that is longer than a row may be, the beginning."""
        while line := file.readline(self.row_bytes + _ENDING):
            yield line
            while not line.endswith(b"\n") and len(line) == self.row_bytes + _ENDING:
                line = file.readline(self.row_bytes + _ENDING)


@dataclass
class RowChecks:
    """The outcome of the checks. Rows are numbered from 1, and blank lines are not rows."""

    rows: int = 0
    bad: int = 0
    problems: list[tuple[int, Problem]] = field(default_factory=list)  # by row number
    columns: Counter[str] = field(default_factory=Counter)  # good rows that have the key
    lacking: dict[str, list[int]] = field(default_factory=dict)  # row numbers of the first good rows without the key
    largest: int = 0  # bytes of the largest good row, as it is stored
    as_text: int = 0  # good rows in which a number is kept as its text
    texts: list[tuple[int, str]] = field(default_factory=list)  # row number and number, of the first such rows
    _first: list[int] = field(default_factory=list)  # numbers of the first good rows

    @property
    def good(self) -> int:
        return self.rows - self.bad

    def too_many(self, row: dict[str, Any]) -> list[Problem]:
        """Return the problem of a row with a new key where there are as many as a dataset may have; else none."""
        new = [key for key in row if key not in self.columns]
        if not new or len(self.columns) + len(new) <= _MOST_KEYS:
            return []
        return [Problem("row", f"the key {found(new[0])}, after {len(self.columns)} other keys in the rows before",
                        f"at most {_MOST_KEYS} different keys in a dataset")]

    def note_keys(self, row: dict[str, Any]) -> None:
        """Note which keys the present row, which is good, has and which it lacks."""
        for key in row.keys() - self.columns.keys():
            self.lacking[key] = self._first.copy()
        self.columns.update(row.keys())
        for key in self.columns.keys() - row.keys():
            if len(self.lacking[key]) < _NAMED:
                self.lacking[key].append(self.rows)
        if len(self._first) < _NAMED:
            self._first.append(self.rows)

    def note_literals(self, row: dict[str, Any]) -> None:
        """Note whether the present row, which is good, keeps a number as its text."""
        number = next(row_json.literals(row), None)
        self.as_text += number is not None
        if number is not None and len(self.texts) < _TEXTS:
            self.texts.append((self.rows, number))

    def as_json(self) -> dict[str, Any]:
        shown = [{"row": row, **problem.as_json()} for row, problem in self.problems]
        texts = [{"row": row, "number": found(number)[1:-1]} for row, number in self.texts]
        return {"rows": self.rows, "good": self.good, "bad": self.bad, "problems": shown,
                "numbers_as_text": self.as_text, "first_as_text": texts}

    def facts(self) -> dict[str, Any]:
        """Return the facts of the stored rows for the dataset's manifest."""
        return {"rows": self.good, "columns": dict(sorted(self.columns.items())),
                "lacking": {key: rows for key, rows in sorted(self.lacking.items()) if rows},
                "largest_row_bytes": self.largest}


def rows_without(manifest: Mapping[str, Any], column: str) -> str | None:
    """Return how many rows of a dataset have a key, and the numbers of the first that lack it; None if all have it."""
    rows, having = manifest["rows"], manifest["columns"].get(column, 0)
    if having == rows:
        return None
    numbers = manifest.get("lacking", {}).get(column, [])
    more = rows - having - len(numbers)
    named = f"; without it: row {', '.join(map(str, numbers))}" + (f" and {more} more" if more else "")
    return f"{having} of {rows} rows have {column}{named if numbers else ''}"


def refuse(report: RowChecks, allow_bad_rows: bool) -> None:
    """Raise Invalid when no row is good, and Unusable when some are bad and that is not allowed."""
    problems = _by_rows(report.problems)
    if not report.good:
        raise Invalid(problems or [Problem("file", "no rows", "at least one row")])
    if report.bad and not allow_bad_rows:
        raise Unusable(
            f"{report.bad} of {report.rows} rows are bad; allow_bad_rows would store the other {report.good}.",
            problems, extra={"report": report.as_json()})


def _by_rows(problems: Iterable[tuple[int, Problem]]) -> list[Problem]:
    """Return problems of rows, a problem that many rows have in common once, with the first of these rows."""
    rows: dict[Problem, list[int]] = {}
    for row, problem in problems:
        rows.setdefault(problem, []).append(row)
    return [Problem(f"{_named(having)}: {problem.field}", problem.found, problem.expected)
            for problem, having in rows.items()]


def _named(rows: Sequence[int]) -> str:
    more = len(rows) - _NAMED
    named = f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:_NAMED]))}"
    return f"{named} and {more} more" if more > 0 else named


def check(
    lines: Iterable[bytes], keep: Callable[[bytes], object], bounds: RowBounds = RowBounds(),
) -> RowChecks:
    """Return the report on all rows, and hand each good row to `keep` as one line of canonical JSON.

    Raises Invalid if there are more rows than a dataset may have.
    """
    report = RowChecks()
    for line in lines:
        if not line.strip():
            continue
        report.rows += 1
        if report.rows > bounds.rows:
            raise Invalid([Problem("file", f"more than {bounds.rows} rows", f"at most {bounds.rows} (HONE_MAX_ROWS)")])
        row, problems = _row(line.removeprefix(b"\xef\xbb\xbf") if report.rows == 1 else line, bounds)
        problems = problems or report.too_many(row)
        if problems:
            report.bad += 1
            report.problems += [(report.rows, problem) for problem in problems[:_REPORTED - len(report.problems)]]
            continue
        report.note_keys(row)
        report.note_literals(row)
        stored = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
        report.largest = max(report.largest, len(stored))
        keep(stored + b"\n")
    return report


def _row(line: bytes, bounds: RowBounds) -> tuple[dict[str, Any], list[Problem]]:
    if len(line.rstrip(b"\r\n")) > bounds.row_bytes:
        return {}, [Problem("row", f"more than {bounds.row_bytes} bytes",
                            f"at most {bounds.row_bytes} bytes (HONE_MAX_ROW_KB)")]
    try:
        row = row_json.read(line)
        if isinstance(row, dict):
            row |= {name: row_json.plain(row[name]) for name in _RENDERED if name in row}
    except strict_json.RepeatedKey as error:
        return {}, [Problem(ascii(error.key)[1:-1][:200] or "row", "the key twice", "each key of an object once")]
    except (ValueError, RecursionError) as error:
        return {}, [Problem("row", f"a line that is not JSON: {error}"[:200], "one JSON object per line")]
    if not isinstance(row, dict):
        return {}, [Problem("row", found(row), "a JSON object")]
    return row, [*unstorable(row, deepest=bounds.depth), *_keys(row), *_prompt(row), *_answers(row)]


def _keys(row: dict[str, Any]) -> list[Problem]:
    return [Problem("row", f"a key of {len(key)} characters", f"at most {_LONGEST_KEY}")
            for key in row if len(key) > _LONGEST_KEY][:1]


def _prompt(row: dict[str, Any]) -> list[Problem]:
    given = [name for name in _PROMPTS if name in row]
    if not given and len(row.keys() & behaviour.KEYS) > len(behaviour.KEYS) / 2:  # what users did: nobody is prompted
        return [Problem(name, "nothing", f"a key of a row of behaviour: {', '.join(behaviour.KEYS)}")
                for name in behaviour.KEYS if name not in row]
    if len(given) != 1:
        both = "both prompt and messages" if given else "nothing"
        return [Problem("prompt", both, "either prompt or messages")]
    if given == ["messages"]:
        return _conversation(row)
    if not isinstance(row["prompt"], str) or not row["prompt"]:
        return [Problem("prompt", found(row["prompt"]), "a text that is not empty")]
    return []


def _conversation(row: dict[str, Any]) -> list[Problem]:
    wrong = shape.misfits(row["messages"], row.get("tools"))
    return [Problem(one.field, found(one.found), one.expected) for one in islice(wrong, _REPORTED)]


def _answers(row: dict[str, Any]) -> list[Problem]:
    problems = []
    for name in (each for each in _COMPLETIONS if each in row):
        if not isinstance(row[name], str) or not row[name]:
            problems.append(Problem(name, found(row[name]), "a text that is not empty"))
    if "chosen" in row and row["chosen"] == row.get("rejected"):
        problems.append(Problem("rejected", found(row["rejected"]), "another text than chosen"))
    if "answer" in row and (isinstance(row["answer"], bool) or not isinstance(row["answer"], str | int | float)):
        problems.append(Problem("answer", found(row["answer"]), "a text or a number"))
    if not row.keys() - {*_PROMPTS, "tools"} and not _trained(row.get("messages")):
        problems.append(Problem("answer", "nothing", "an answer, a completion, or another key that a grader reads"))
    return problems


def _trained(messages: Any) -> bool:
    """Return whether a conversation holds the assistant's own answers, which a supervised run trains."""
    return isinstance(messages, list) and any(
        isinstance(one, dict) and one.get("role") == "assistant" for one in messages[1:])
