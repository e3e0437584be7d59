"""A snapshot of another form is refused where it comes in, or is one of the task: no later step fails on it."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import EpisodeFailed, EpisodeOver
from hone.environments.tasks import episode
from tests.support.environments.tasks import TASKS
from tests.unit.environments.packages.shop import OneShelf, shop
from tests.unit.environments.tau2.kiosk import KioskShelf

ODD = [None, True, 7, -1, 10 ** 400, 1.5, float("nan"), "x", "\ud800", [], [1], {}, {"a": 1}]
MOST_SPOTS = 24
REFUSED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What the service says of `state_json`."""


@pytest.fixture(autouse=True)
def _shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ENVIRONMENTS["package"], "shelf", OneShelf(shop()))
    monkeypatch.setattr(ENVIRONMENTS["tau2"], "shelf", KioskShelf())


@pytest.mark.parametrize("name", TASKS)
def test_a_snapshot_of_another_form_is_refused_or_can_be_played(name: str) -> None:
    if name == "household":
        pytest.importorskip("fast_downward", reason="the household's planner is not installed (no C++ compiler)")
    one = episode(TASKS[name]())
    one.reset()
    whole = json.loads(json.dumps(one.snapshot()))
    one.restore(whole)
    hashed = one.state_hash()
    broken = [{**whole, "database": "aGVsbG8="}] if "database" in whole else []  # base64, and no database
    for empty in ({}, {"answer": 5, "more": 1}, {**whole, "more": 1}, *broken):
        with pytest.raises(REFUSED):
            one.restore(empty)
    for odd in _variants(whole):
        try:
            one.restore(odd)
        except REFUSED:
            continue
        one.state_hash()
        try:
            one.step("look")
        except (EpisodeOver, EpisodeFailed):
            continue
    one.restore(whole)
    assert one.state_hash() == hashed


def _variants(whole: dict[str, Any]) -> Iterator[Any]:
    for spot in _spots(whole)[:MOST_SPOTS]:
        for odd in ODD:
            other = copy.deepcopy(whole)
            _holder(other, spot)[spot[-1]] = odd
            yield other
        other = copy.deepcopy(whole)
        del _holder(other, spot)[spot[-1]]
        yield other


def _spots(value: Any) -> list[tuple[Any, ...]]:
    """Return the paths to values, the outer ones first."""
    found: list[tuple[Any, ...]] = []
    level: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while level:
        level = [((*path, name), inner) for path, one in level for name, inner in (
            one.items() if isinstance(one, dict) else enumerate(one[:1]) if isinstance(one, list) else ())]
        found += [path for path, _ in level]
    return found


def _holder(value: Any, spot: tuple[Any, ...]) -> Any:
    for name in spot[:-1]:
        value = value[name]
    return value
