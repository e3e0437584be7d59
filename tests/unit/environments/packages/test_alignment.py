"""States with generated keys are equal exactly where the rows can be matched, references included."""

import copy
import itertools
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hone.environments.packages.package import Column, Manifest, Tables, TableSpec, ToolSpec
from hone.environments.packages.state_check import mismatches

MANIFEST = Manifest(domain="store", summary="A store.", tools=[ToolSpec(name="look", description="Look.")], tables=[
    TableSpec(name="boxes", key="box_id", columns=[
        Column(name="box_id", kind="exempt"), Column(name="size"), Column(name="inside", references="boxes")]),
    TableSpec(name="parts", key="part_id", columns=[
        Column(name="part_id", kind="exempt"), Column(name="box_id", references="boxes"),
        Column(name="weight", type="number"), Column(name="text", kind="semantic")]),
    TableSpec(name="seals", key="box_id", columns=[
        Column(name="box_id", references="boxes"), Column(name="colour")]),
    TableSpec(name="shelves", key="shelf_id", columns=[
        Column(name="shelf_id"), Column(name="box_id", references="boxes")])])


def drawn(source: random.Random) -> Tables:
    """Return a small state with many rows that are alike."""
    boxes = [f"b{place}" for place in range(source.randint(1, 4))]
    parts = [f"p{place}" for place in range(source.randint(0, 4))]
    seals = source.sample(boxes, source.randint(0, min(2, len(boxes))))
    return {
        "boxes": {key: {"box_id": key, "size": source.choice("sm"), "inside": source.choice([None, *boxes])}
                  for key in boxes},
        "parts": {key: {"part_id": key, "box_id": source.choice(boxes), "weight": source.choice((1, 2.5)), "text": "t"}
                  for key in parts},
        "seals": {key: {"box_id": key, "colour": "red"} for key in seals},
        "shelves": {key: {"shelf_id": key, "box_id": source.choice([None, *boxes])} for key in ("left", "right")}}


def renamed(tables: Tables, names: Mapping[str, str]) -> Tables:
    """Return a state with other keys, and all that refers to them."""
    return {table: {names.get(key, key): {column: names.get(value, value) if isinstance(value, str) else value
                                          for column, value in row.items()} for key, row in rows.items()}
            for table, rows in tables.items()}


def shuffled(tables: Tables, source: random.Random) -> Tables:
    """Return a state with its generated keys drawn anew, partly as others had them, and its rows in another order."""
    names = dict[str, str]()
    for table in ("boxes", "parts"):
        keys = list(tables[table])
        pool = [*keys, *(f"{key}_new" for key in keys)]
        names.update(zip(keys, source.sample(pool, len(keys)), strict=True))
    made = renamed(tables, names)
    return {table: dict(source.sample(list(rows.items()), len(rows))) for table, rows in made.items()}


def changed(tables: Tables, source: random.Random) -> Tables:
    """Return a state with one cell that is another."""
    made = copy.deepcopy(tables)
    table, column = source.choice([("boxes", "size"), ("boxes", "inside"), ("parts", "box_id"), ("parts", "weight"),
                                   ("shelves", "box_id"), ("seals", "colour")])
    if made[table]:
        row = made[table][source.choice(list(made[table]))]
        values: dict[str, list[Any]] = {"size": ["s", "m"], "weight": [1, 2.5, 3], "colour": ["red", "blue"]}
        row[column] = source.choice(values.get(column, [None, *made["boxes"]]))
    return made


def equal(one: Tables, other: Tables) -> bool:
    """Return whether some names for the boxes make two states the same, parts counted: the definition."""
    if len(one["boxes"]) != len(other["boxes"]):
        return False
    return any(_plain(renamed(one, dict(zip(one["boxes"], order, strict=True)))) == _plain(other)
               for order in itertools.permutations(other["boxes"]))


def _plain(tables: Tables) -> Any:
    parts = sorted((str(row["box_id"]), row["weight"]) for row in tables["parts"].values())
    return {**tables, "parts": parts}


def pairs(count: int) -> Iterator[tuple[Tables, Tables]]:
    for seed in range(count):
        source = random.Random(seed)
        one = drawn(source)
        other = shuffled(changed(one, source) if seed % 3 else one, source)
        yield one, other


def test_states_are_equal_exactly_where_rows_can_be_matched() -> None:
    outcomes = [(equal(one, other), mismatches(MANIFEST, other, one) == []) for one, other in pairs(600)]
    assert [place for place, (wanted, found) in enumerate(outcomes) if wanted != found] == []
    assert 200 < sum(wanted for wanted, _ in outcomes) < 560


@pytest.mark.parametrize("seed", range(3))
def test_many_rows_that_are_alike_are_matched(seed: int) -> None:
    source = random.Random(seed)
    boxes = {f"b{place}": {"box_id": f"b{place}", "size": "s", "inside": None} for place in range(40)}
    parts = {f"p{place}": {"part_id": f"p{place}", "box_id": f"b{place // 2}", "weight": 1 + place % 2, "text": "t"}
             for place in range(80)}
    one: Tables = {"boxes": boxes, "parts": parts, "seals": {}, "shelves": {}}
    other = shuffled(one, source)
    assert mismatches(MANIFEST, other, one) == []
    part = next(iter(other["parts"].values()))
    part["box_id"] = next(key for key in other["boxes"] if key != part["box_id"])
    assert mismatches(MANIFEST, other, one)


def test_texts_tell_rows_apart_and_the_wrong_reference_is_named() -> None:
    box = {"b": {"box_id": "b", "size": "s", "inside": None}, "c": {"box_id": "c", "size": "m", "inside": None}}
    part = {"part_id": "p", "box_id": "b", "weight": 1, "text": "a very long pole"}
    one: Tables = {"boxes": box, "parts": {"p": part, "q": {**part, "part_id": "q", "text": "nuts"}}, "seals": {},
                   "shelves": {}}
    other = copy.deepcopy(one)
    other["parts"]["p"]["text"], other["parts"]["q"]["text"] = "nuts", "a very long pole"
    assert mismatches(MANIFEST, other, one) == []
    other["parts"]["q"]["box_id"] = "c"
    [wrong] = mismatches(MANIFEST, other, one)
    assert (wrong.table, wrong.column, wrong.expected, wrong.found) == ("parts", "box_id", "b", "c")
