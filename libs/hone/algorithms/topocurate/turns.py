"""Turns of rollouts, and which of them are equivalent: equal tools and statuses, similar arguments and observations.

A reconstruction, as are all of its thresholds.
"""

import json
import math
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hone.algorithms.inputs import Floats
from hone.spec.parameters import Strict

_WIDTH = 4096
_SLACK = 1e-9
MOST_TURNS = 200
"""Turns of a rollout that count."""


class Thresholds(Strict):
    """How similar equivalent turns are."""

    arguments: float = 0.9  # share of equal arguments, or cosine of texts
    observations: float = 0.85  # cosine of texts


@dataclass(frozen=True)
class Turn:
    """An action of a rollout and what came of it. Its reasoning does not count."""

    tool: str
    arguments: Mapping[str, Any] | str  # by name; a text where the action is no call of a tool
    ok: bool
    observation: str

    @property
    def named(self) -> dict[str, Any]:
        """The arguments in canonical form, by name; a text is one argument."""
        given = self.arguments if isinstance(self.arguments, Mapping) else {"text": self.arguments}
        return {str(name).lower(): canonical(value) for name, value in given.items()}

    @property
    def key(self) -> str:
        """A text that turns share which are equal in everything that counts."""
        return json.dumps([self.tool, self.named, self.ok, _spaced(self.observation)], sort_keys=True, default=str)


@dataclass(frozen=True)
class Rollout:
    """One sample of a task: its turns and whether it succeeded."""

    turns: Sequence[Turn]
    success: bool


def canonical(value: Any) -> Any:
    """Return a value in the form in which values are compared: lower case, numbers as numbers, keys in order."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Mapping):
        return {str(name).lower(): canonical(value[name]) for name in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [canonical(one) for one in value]
    return _text(_spaced(str(value)))


def _text(text: str) -> Any:
    if date := re.fullmatch(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})", text):
        year, month, day = map(int, date.groups())
        return f"{year:04}-{month:02}-{day:02}"
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _spaced(text: str) -> str:
    return " ".join(text.lower().split())


def classes(rollouts: Sequence[Rollout], thresholds: Thresholds) -> list[list[int]]:
    """Return the class of each turn of each rollout, numbered by first appearance.

    Equal turns are in one class. So are turns with the same tool and status whose arguments and observations are
    similar enough, and whatever such turns link together.
    """
    keys = [[turn.key for turn in rollout.turns[:MOST_TURNS]] for rollout in rollouts]
    found: dict[str, Turn] = {}
    for rollout, own in zip(rollouts, keys, strict=True):
        for turn, key in zip(rollout.turns, own, strict=False):
            found.setdefault(key, turn)
    places = {key: place for place, key in enumerate(found)}
    roots = _linked(list(found.values()), thresholds)
    numbers: dict[int, int] = {}
    return [[numbers.setdefault(roots[places[key]], len(numbers)) for key in own] for own in keys]


def _linked(turns: Sequence[Turn], thresholds: Thresholds) -> list[int]:
    """Return the smallest index of each turn's class, where turns that are similar enough are in one."""
    parent = list(range(len(turns)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for one, other in _similar(turns, thresholds):
        first, second = sorted((root(one), root(other)))
        parent[second] = first
    return [root(place) for place in range(len(turns))]


def _similar(turns: Sequence[Turn], thresholds: Thresholds) -> Iterator[tuple[int, int]]:
    """Yield the pairs of turns that are equivalent."""
    alike: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for place, turn in enumerate(turns):
        alike[turn.tool, turn.ok].append(place)
    observed, said = _vectors([turn.observation for turn in turns]), _vectors([
        turn.arguments if isinstance(turn.arguments, str) else "" for turn in turns])
    for own in alike.values():
        near = np.triu(observed[own] @ observed[own].T >= thresholds.observations - _SLACK, 1)
        for first, second in np.argwhere(near):
            one, other = own[first], own[second]
            if _agreement(turns[one], turns[other], float(said[one] @ said[other])) >= thresholds.arguments - _SLACK:
                yield one, other


def _agreement(one: Turn, other: Turn, texts: float) -> float:
    """Return how similar two turns' arguments are: `texts` where both are texts, else the share of equal ones."""
    if isinstance(one.arguments, str) and isinstance(other.arguments, str):
        return texts
    mine, theirs = one.named, other.named
    names = mine.keys() | theirs.keys()
    equal = sum(name in mine and name in theirs and mine[name] == theirs[name] for name in names)
    return equal / len(names) if names else 1.0


def _vectors(texts: Sequence[str]) -> Floats:
    """Return a vector of length 1 for each text: its trigrams of characters, rare ones with more weight.

    A text without any has a component of its own, so that empty texts are alike and unlike all others.
    """
    counts = np.zeros((len(texts), _WIDTH + 1))
    for place, text in enumerate(texts):
        lower = text.lower()
        grams = [lower[start:start + 3] for start in range(max(1, len(lower) - 2))] if lower else []
        for gram in grams:
            counts[place, zlib.crc32(gram.encode("utf-8", "replace")) % _WIDTH] += 1
        if not grams:
            counts[place, _WIDTH] = 1
    rarity = 1 + np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0)))
    weighed = counts * rarity
    found: Floats = weighed / np.linalg.norm(weighed, axis=1, keepdims=True)
    return found
