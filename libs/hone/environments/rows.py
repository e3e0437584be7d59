"""Rows of a dataset as an environment takes them: one rule for whoever makes a run and for whoever draws its tasks."""

from dataclasses import dataclass
from typing import Any

from hone.environments.contract import Row, WrongParams
from hone.environments.tasks import maker

_NAMED, _LONGEST = 5, 300
"""Bad rows that are named, and characters that a line says of each."""


@dataclass(frozen=True)
class BadRow:
    """A row that is no task: its number, counted from 1, and what is wrong with it."""

    number: int
    error: WrongParams

    @property
    def key(self) -> str:
        """Where in the row it is wrong."""
        return self.error.field.removeprefix("item.")

    def __str__(self) -> str:
        return f"row {self.number}: {self.error}"[:_LONGEST]


class Sieve:
    """Lets the rows pass that are tasks of an environment; of the others it keeps how many, and the first.

    It looks at what a row has, of which type, and whether that is empty. Nothing of a row is carried out.
    """

    def __init__(self, kind: str, params: dict[str, Any]) -> None:
        """Take the name of an environment and its parameters. Raises WrongParams."""
        self._maker = maker(kind, params)
        self.rows, self.bad, self.first = 0, 0, list[BadRow]()

    def passes(self, row: Row) -> bool:
        """Return whether the next row is a task. Raises WrongParams where that is the parameters' fault."""
        self.rows += 1
        try:
            self._maker.environment.content(self._maker.params, 0, row)
        except WrongParams as error:
            if not error.field.startswith("item"):
                raise
            self._refuse(BadRow(self.rows, error))
            return False
        return True

    def told(self, dataset: str) -> str:
        """Return what the event of a run says of its dataset's bad rows: the same, whoever writes it first."""
        first, more = "; ".join(map(str, self.first)), "; …" if self.bad > len(self.first) else ""
        return f"dataset {dataset!r}: {self.bad} of {self.rows} rows are left out: {first}{more}"

    def _refuse(self, row: BadRow) -> None:
        self.bad += 1
        if len(self.first) < _NAMED:
            self.first.append(row)
