"""A row of which one value was changed is refused by its field in a short message, or played: nothing else happens."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from hone.environments.contract import EpisodeFailed, WrongParams
from hone.environments.tasks import episode, make
from tests.support.environments.authored import made
from tests.unit.environments.desk import fitting

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 3, 10**30, 1e308, float("nan"), float("inf"), "", "x" * 5000, "\0", "\ud800", "a b", "*", "|",
    "%s{0}", "..", [], [[]], {}, {"": 1}, {"a": {"b": {}}}, "class", [None], "😀", ["a"])
CHANGES = 400
TALK: dict[str, Any] = {
    "prompt": "Hello, it is about my order.", "communicate": ["12.50"], "policy": "Be kind.",
    "goal": {"text": "I want to cancel my order.", "hears": ["cancelled | canceled", "12.50"]},
    "knowledge": [
        {"name": "name", "value": "Ada Berg", "reveal": "opening", "says": "I am {value}."},
        {"name": "order", "value": "W1234", "asked": ["order number | which order"], "form": "W9999"},
        {"name": "email", "value": "ada@mail.org", "reveal": "after", "after": ["order"]},
        {"name": "card", "value": "4417", "reveal": "never", "others": ["1"]}],
    "profile": {"id": "hasty", "persona": "You are in a hurry.", "turns": 8, "hang_up": 0.05,
                "lines": {"nothing": ["What?"]}, "mood": {
                    "least": -2, "repeats": -1, "rules": [{"hears": "sorry", "mood": 0.5, "once": True}]}}}
PLAIN: dict[str, Any] = {"words": "plain", "life": {
    "variables": 2, "values": 2, "questions": 1, "required": 1, "periods": 1, "changes": 1, "rounds": 1}}
ROWS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a user": ("dialogue", {"domain": "talk"}, TALK),
    "a written life": ("changing_user", {}, made()[0]),
    "a recorded talk": ("changing_user", PLAIN, {"user_seed": 3, "replies": ["a", "b", "c"]}),
    "a task of the desk": ("desk", {}, {"prompt": "x", "task": fitting.TASK})}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_with_an_odd_value_is_refused_by_its_field_or_played(name: str) -> None:
    environment, params, row = ROWS[name]
    make(environment, params, 0, row)
    chance, refused = random.Random(name), list[WrongParams]()
    places = [place for place in _places(row) if place]
    for _ in range(CHANGES):
        changed = _changed(row, chance.choice(places), chance.randrange(len(ODD) + 1))
        try:
            _played(environment, params, changed)
        except WrongParams as wrong:
            refused.append(wrong)
        except EpisodeFailed:
            continue
    assert len(refused) > CHANGES / 4
    assert all(wrong.field for wrong in refused)
    assert max(len(str(wrong)) for wrong in refused) < 2500


def _played(environment: str, params: dict[str, Any], row: dict[str, Any]) -> None:
    one = episode(make(environment, params, 0, row))
    one.reset()
    for action in ("which order?", "1", "sorry, cancelled, 12.50"):
        taken = one.step(action)
        if taken.done:
            break
    one.verify()
    json.dumps([one.snapshot(), taken.observation.item])


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, one in inner:
        yield from _places(one, (*at, key))


def _changed(row: dict[str, Any], place: tuple[Any, ...], odd: int) -> dict[str, Any]:
    """Return the row with an odd value at a place; without the value where there is no such odd one."""
    changed = copy.deepcopy(row)
    inner: Any = changed
    for key in place[:-1]:
        inner = inner[key]
    if odd == len(ODD):
        del inner[place[-1]]
    else:
        inner[place[-1]] = ODD[odd]
    return changed
