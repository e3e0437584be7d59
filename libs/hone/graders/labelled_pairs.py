"""Outputs with labels, on which judges are measured, and the rows of a dataset as such pairs."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hone.environments.hashing import digest
from hone.graders.sample import Item
from hone.spec.problems import Invalid, Problem, found

MASTER_KEY = "master_key"
"""The kind of texts that answer nothing, such as `Solution:`, and that some judges accept."""
MOST_PAIRS = 2000
DATASET = "dataset:"
"""The name of a set that a user uploaded begins with this."""
COLUMNS = ("output", "label")
"""The columns that each row of a dataset needs; `kind` and `item` may be there."""

_LABELS: Mapping[object, bool] = {"right": True, "wrong": False}
_LONGEST_KIND, _MOST_KINDS = 60, 100


@dataclass(frozen=True)
class Pair:
    """An output of a task's row, and whether it is right. `kind` groups pairs in reports."""

    item: Item
    output: str
    right: bool
    kind: str


def hash_of(pairs: Iterable[Pair]) -> str:
    """Return a digest of a set's content."""
    return digest([asdict(pair) for pair in pairs])


def of_rows(rows: Iterable[Mapping[str, Any]]) -> list[Pair]:
    """Return the pairs in a dataset's rows. A row's item is its column `item`, or its other columns.

    Raises Invalid for the first row that is no pair, for too many rows or kinds, and for labels that are all equal.
    """
    pairs = list[Pair]()
    for number, row in enumerate(rows, 1):
        if number > MOST_PAIRS:
            raise Invalid([Problem("rows", f"more than {MOST_PAIRS}", f"at most {MOST_PAIRS} pairs")])
        pairs.append(_pair(number, row))
    if len(kinds := {pair.kind for pair in pairs}) > _MOST_KINDS:
        raise Invalid([Problem("kind", f"{len(kinds)} different kinds", f"at most {_MOST_KINDS} kinds")])
    if len({pair.right for pair in pairs}) < 2:
        raise Invalid([Problem("label", "the same label in all rows", "right outputs and wrong ones")])
    return pairs


def _pair(number: int, row: Mapping[str, Any]) -> Pair:
    output, label, kind = row.get("output"), row.get("label"), row.get("kind", "pair")
    if not isinstance(output, str):
        raise Invalid([Problem(f"row {number}: output", found(output), "a text")])
    right = label if isinstance(label, bool) else _LABELS.get(label) if isinstance(label, str) else None
    if right is None:
        raise Invalid([Problem(f"row {number}: label", found(label), "true or false, or right or wrong")])
    if not isinstance(kind, str) or not 0 < len(kind) <= _LONGEST_KIND:
        raise Invalid([Problem(f"row {number}: kind", found(kind), f"a text of 1 to {_LONGEST_KIND} characters")])
    item = row.get("item", {name: value for name, value in row.items() if name not in (*COLUMNS, "kind")})
    if not isinstance(item, dict):
        raise Invalid([Problem(f"row {number}: item", found(item), "a JSON object")])
    return Pair(item, output, right, kind)
