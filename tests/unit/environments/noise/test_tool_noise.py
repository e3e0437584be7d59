"""Rules change results as their types say, keep their form, and change nothing where there is nothing."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.environments.noise import parts
from hone.environments.noise.tool_noise import FAILURES, HIDDEN, RULES

FLIGHTS = {"flights": [{"id": "HA12", "date": "2026-03-05", "price": 210, "seats": 4, "status": "open"},
                       {"id": "HA77", "date": "2026-03-06", "price": 340, "seats": 0, "status": "closed"}]}
TEXT = "name: Ada Lovelace\norder: 4711\nstatus: confirmed\ntotal: 31.50\n"
SEEDS = range(40)

numbers = st.integers(-10**9, 10**9) | st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=10)
results = st.dictionaries(st.text(max_size=8), values, max_size=4).map(json.dumps) | st.text()


def changed(kind: str, result: str, seed: int) -> str | None:
    return RULES[kind](result, "price of flight HA12", random.Random(seed))  # type: ignore[index]


def leaves_of(text: str) -> dict[parts.Path, Any]:
    return dict(parts.leaves(parts.parsed(text)))


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("result", [json.dumps(FLIGHTS), json.dumps(FLIGHTS, indent=2), TEXT])
def test_every_type_changes_a_result_and_equal_seeds_change_it_alike(kind: str, result: str) -> None:
    found = [changed(kind, result, seed) for seed in SEEDS]
    assert found == [changed(kind, result, seed) for seed in SEEDS]
    assert all(one is not None and one != result for one in found)
    assert len(set(found)) > 1


def test_a_failure_is_one_of_four_equally_likely_errors() -> None:
    found = [changed("failure", TEXT, seed) for seed in range(400)]
    assert set(found) == set(FAILURES)
    assert min(found.count(one) for one in FAILURES) > 60


@pytest.mark.parametrize("kind", ["incomplete", "error", "redundancy", "misleading"])
@given(results, st.integers(0, 50))
def test_json_keeps_its_keys_and_its_lists(kind: str, result: str, seed: int) -> None:
    found = changed(kind, result, seed)
    if found is not None and parts.is_json(parts.parsed(result)):
        assert parts.shape(parts.parsed(found)) == parts.shape(parts.parsed(result))


def test_incomplete_hides_half_of_the_values_and_first_those_that_were_asked_about_or_cuts_one_off() -> None:
    before = leaves_of(json.dumps(FLIGHTS))
    ways = set[str]()
    for seed in SEEDS:
        after = leaves_of(changed("incomplete", json.dumps(FLIGHTS), seed) or "")
        differing = {path: value for path, value in after.items() if value != before[path]}
        if HIDDEN in differing.values():
            ways.add("mask")
            assert len(differing) == 5, "half of ten values"
            assert ("flights", 0, "price") in differing
            assert ("flights", 0, "id") in differing
        else:
            ways.add("cut")
            [(path, value)] = differing.items()
            assert value.endswith("…")
            assert str(before[path]).startswith(value[:-1])
    assert ways == {"mask", "cut"}


def test_error_changes_one_or_two_values_and_no_more() -> None:
    before = leaves_of(json.dumps(FLIGHTS))
    counts = set[int]()
    for seed in SEEDS:
        after = leaves_of(changed("error", json.dumps(FLIGHTS), seed) or "")
        counts.add(sum(after[path] != before[path] for path in before))
        assert all(type(after[path]) is type(before[path]) for path in before)
    assert counts == {1, 2}


@pytest.mark.parametrize("kind", ["redundancy", "misleading"])
def test_what_is_added_leaves_the_truth(kind: str) -> None:
    for seed in SEEDS:
        found = changed(kind, TEXT, seed) or ""
        assert [line for line in found.split("\n") if line in TEXT.split("\n")] == TEXT.split("\n")
        assert len(found.split("\n")) == len(TEXT.split("\n")) + 3
        shown = leaves_of(changed(kind, json.dumps(FLIGHTS), seed) or "")
        assert all(str(shown[path]).startswith(str(value)) for path, value in leaves_of(json.dumps(FLIGHTS)).items())


@pytest.mark.parametrize("kind", ["error", "redundancy", "misleading"])
def test_json_without_anything_to_change_stays(kind: str) -> None:
    assert changed(kind, "[]", 1) is None
    assert changed(kind, '{"a": null}', 1) is None
