"""Hypotheses of a model about decision policies: it reads contrasted pairs of exposures and proposes conditions.

Only conditions are taken, as they name columns of the behaviour and bounds within their range; rates always come from
data. The prompt and the choice of pairs are a reconstruction: arXiv 2604.15190.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hone.audiences.behaviour import Behaviour
from hone.audiences.columns import Features, Floats
from hone.audiences.decision_policies import Condition, Predicate
from hone.audiences.reasoning import Message, Prompt, first_object

MOST_PAIRS, MOST_PROPOSED, DEEPEST = 20, 12, 3
_DRAWN = 400
"""Exposures of either outcome among which pairs are sought."""
_TOKENS = 2048
_SCHEMA: dict[str, Any] = {
    "type": "object", "additionalProperties": False, "required": ["hypotheses"], "properties": {"hypotheses": {
        "type": "array", "items": {"type": "array", "items": {
            "type": "object", "additionalProperties": False, "required": ["column", "comparison", "bound"],
            "properties": {"column": {"type": "string"}, "comparison": {"enum": ["<=", ">"]},
                           "bound": {"type": "number"}}}}}}}


@dataclass(frozen=True)
class Proposed:
    """Hypotheses of an answer, and the reasons for those left out. `read`: it could be read as a whole."""

    conditions: tuple[Condition, ...] = ()
    refused: tuple[str, ...] = ()
    read: bool = True


@dataclass(frozen=True)
class ContrastedPairs:
    """Exposures of one step: of each pair the first one reached it, the second one, who is like it, did not."""

    step: str
    pairs: Sequence[tuple[Features, Features]]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of every column

    @property
    def messages(self) -> list[Message]:
        """The question as messages of a chat."""
        columns = [f"- {name}: " + ("1 or 0" if "=" in name else f"{low:.4g} to {high:.4g}")
                   for name, (low, high) in self.ranges.items()]
        shown = [line for one, other in self.pairs for line in (
            f"reached {self.step}: {_written(one)}", f"did not: {_written(other)}", "")]
        return [{"role": "system", "content": "You find rules of behaviour in logs. You propose conditions; their "
                                              "rates are measured later."},
                {"role": "user", "content": "\n".join([
                    f"Pairs of users of an application who are alike. One of each reached the step {self.step}.", "",
                    *shown, "Columns, with their ranges:", *columns, "",
                    f"Under which conditions do users reach {self.step} more or less often than others? Propose at "
                    f"most {MOST_PROPOSED} conditions, each of 1 to {DEEPEST} comparisons that hold together. Answer "
                    'with JSON alone: {"hypotheses": [[{"column": "...", "comparison": ">", "bound": 0.5}]]}'])}]

    @property
    def prompt(self) -> Prompt:
        """The question with the form of its answer."""
        return Prompt(self.messages, _SCHEMA, _TOKENS)

    def as_json(self) -> dict[str, Any]:
        """Return them as an object of JSON."""
        return {"step": self.step, "pairs": self.pairs,
                "ranges": {name: list(one) for name, one in self.ranges.items()}}


def of_json(stored: Mapping[str, Any]) -> ContrastedPairs:
    """Return the pairs of an object that `as_json` made."""
    return ContrastedPairs(stored["step"], [(one, other) for one, other in stored["pairs"]],
                           {name: (low, high) for name, (low, high) in stored["ranges"].items()})


def contrasted(behaviour: Behaviour, most: int, seed: int) -> list[ContrastedPairs]:
    """Return up to `most` pairs for each step: those who are most alike, each exposure in one pair at most.

    Likeness is the distance of all columns, each in units of its deviation. Steps with one outcome alone have no pairs.
    """
    encoded, names = behaviour.encoded, behaviour.columns.names
    ranges = {name: (float(encoded[:, place].min()), float(encoded[:, place].max()))
              for place, name in enumerate(names)}
    scaled = encoded / np.maximum(encoded.std(0), 1e-9)
    found = []
    for place, step in enumerate(behaviour.steps):
        drawn = np.random.default_rng([seed, 7, place])
        done, other = (drawn.permutation(np.flatnonzero((behaviour.outcomes[:, place] > 0.5) == wanted))[:_DRAWN]
                       for wanted in (True, False))
        pairs = [(behaviour.rows[done[row]], behaviour.rows[other[column]])
                 for row, column in _nearest(scaled[done], scaled[other], most)]
        if pairs:
            found.append(ContrastedPairs(step, pairs, ranges))
    return found


def _nearest(rows: Floats, others: Floats, most: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the nearest pairs, the nearest first."""
    distance = np.sqrt(np.maximum(
        (rows**2).sum(1)[:, None] + (others**2).sum(1)[None] - 2 * rows @ others.T, 0.0))
    for _ in range(min(most, *distance.shape)):
        row, column = np.unravel_index(np.argmin(distance), distance.shape)
        yield int(row), int(column)
        distance[row], distance[:, column] = np.inf, np.inf


def read(text: str, ranges: Mapping[str, tuple[float, float]]) -> Proposed:
    """Return the conditions that an answer proposes, and why others of it are not taken."""
    said = first_object(text)
    given = said.get("hypotheses") if said is not None else None
    if not isinstance(given, list):
        return Proposed(refused=("no JSON object with a list hypotheses",), read=False)
    taken, refused = dict[Condition, None](), list[str]()
    for place, one in enumerate(given[:MOST_PROPOSED]):
        found = _condition(one, ranges, f"hypotheses[{place}]")
        if isinstance(found, str):
            refused.append(found)
        else:
            taken[found] = None
    return Proposed(tuple(taken), tuple(refused))


def _condition(given: object, ranges: Mapping[str, tuple[float, float]], at: str) -> Condition | str:
    if not isinstance(given, list) or not 0 < len(given) <= DEEPEST:
        return f"{at}: found {_short(given)}, expected a list of 1 to {DEEPEST} comparisons"
    found = [_predicate(one, ranges, f"{at}[{place}]") for place, one in enumerate(given)]
    wrong = [one for one in found if isinstance(one, str)]
    return wrong[0] if wrong else tuple(one for one in found if isinstance(one, Predicate))


def _predicate(given: object, ranges: Mapping[str, tuple[float, float]], at: str) -> Predicate | str:
    if not isinstance(given, Mapping):
        return f"{at}: found {_short(given)}, expected an object"
    column, comparison, bound = (given.get(name) for name in ("column", "comparison", "bound"))
    if not isinstance(column, str) or column not in ranges:
        return f"{at}.column: found {_short(column)}, expected one of the columns"
    if comparison not in ("<=", ">"):
        return f"{at}.comparison: found {_short(comparison)}, expected <= or >"
    low, high = ranges[column]
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound) or not (
            low <= bound < high):
        return f"{at}.bound: found {_short(bound)}, expected a number of at least {low:.4g} and below {high:.4g}"
    return Predicate(column=column, comparison=comparison, bound=float(bound))


def _short(value: object) -> str:
    return repr(value)[:80]


def _written(row: Features) -> str:
    return json.dumps({part: dict(known) for part, known in row.items()}, sort_keys=True)
