"""Rows of a dataset that are tasks of an environment. The gateway and the driver apply the same rule."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hone.environments.contract import Row, WrongParams
from hone.environments.tasks import maker
from hone.text.abilities import needed

_NAMED, _LONGEST = 5, 300
"""Bad rows that a message names, and most characters about each."""


@dataclass(frozen=True)
class BadRow:
    """A row that is no task: its number, counted from 1, and its problem."""

    number: int
    error: WrongParams

    @property
    def key(self) -> str:
        """Path of the wrong field in the row."""
        return self.error.field.removeprefix("item.")

    def __str__(self) -> str:
        return f"row {self.number}: {self.error}"[:_LONGEST]


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file that is read in pieces and never held whole, without their ends."""
    begun = list[bytes]()
    for piece in pieces:
        first, *others = piece.split(b"\n")
        begun.append(first)
        for line in others:
            yield b"".join(begun)
            begun = [line]
    yield b"".join(begun)


class Sieve:
    """Separates the rows that are tasks of an environment from bad rows. Counts bad rows and keeps the first ones.

    It checks the fields of a row, their types, and that they are not empty, and whether the policy's chat template
    shows what the row's messages and tools need. It runs nothing that a row contains.
    """

    def __init__(
        self, kind: str, params: dict[str, Any], lacks: Callable[[], Mapping[str, str]] = dict[str, str]
    ) -> None:
        """Take the name of an environment and its parameters. Raises WrongParams.

        `lacks` returns what the policy's template cannot show, with reasons (hone.text.abilities). It is asked at most
        once for each row that needs anything.
        """
        self._maker, self._lacks = maker(kind, params), lacks
        self.rows, self.bad, self.first = 0, 0, list[BadRow]()

    def content_hash(self, row: Row) -> str | None:
        """Return the content hash of the next row's task; None if the row is no task.

        Raises WrongParams for wrong parameters of the environment.
        """
        self.rows += 1
        try:
            found = self._maker.task(0, row).content_hash
            self._check_text(row)
            return found
        except WrongParams as error:
            if not error.field.startswith("item"):
                raise
            self._refuse(BadRow(self.rows, error))
            return None

    def _check_text(self, row: Row) -> None:
        needs = needed(row.get("messages") or (), row.get("tools") or ()) if {"messages", "tools"} & row.keys() else ()
        for need in sorted(needs):
            if need in (lacks := self._lacks()):
                raise WrongParams("item.tools" if need == "tools" else "item.messages", need, lacks[need])

    def message(self, dataset: str) -> str:
        """Return the text of a run's event about bad rows. Every process writes the same text."""
        first, more = "; ".join(map(str, self.first)), "; …" if self.bad > len(self.first) else ""
        return f"dataset {dataset!r}: {self.bad} of {self.rows} rows are left out: {first}{more}"

    def _refuse(self, row: BadRow) -> None:
        self.bad += 1
        if len(self.first) < _NAMED:
            self.first.append(row)
