"""Tools grow without dead ends, and the numbers of ScaleEnv's examples hold."""

import random

import pytest

from hone.environments.packages.package import ToolSpec
from hone.environments.synthesis.graph import (
    Conditions,
    complexity,
    dead_ends,
    edges,
    expand,
    gate,
    orders,
    spoken,
    subgraph_complexity,
)
from tests.unit.environments.packages.shop import MANIFEST


def tool(name: str, needs: str = "", gives: str = "", reads: str = "", writes: str = "") -> ToolSpec:
    return ToolSpec(name=name, description=name, needs=needs.split(), gives=gives.split(), reads=reads.split(),
                    writes=writes.split())


FIND, BOOK = tool("find", gives="room_id"), tool("book", needs="room_id", gives="booking_id", writes="bookings")
PAY, LIST = tool("pay", needs="booking_id", writes="payments"), tool("list_all", reads="bookings")


@pytest.mark.parametrize(("tools", "links", "expected"), [(20, 30, 0.70), (30, 40, 1.00), (8, 7, 0.23)])
def test_the_complexity_is_that_of_the_examples(tools: int, links: int, expected: float) -> None:
    assert complexity(tools, links) == pytest.approx(expected)


def test_an_edge_is_a_fact_a_condition_or_a_table() -> None:
    found = edges([FIND, BOOK, PAY, LIST], {"book": Conditions(after=("room booked",)),
                                            "pay": Conditions(before=("room booked",))})
    assert {(edge.source, edge.target, edge.kind) for edge in found} == {
        ("find", "book", "data"), ("book", "pay", "data"), ("book", "pay", "order"), ("book", "list_all", "state")}
    assert subgraph_complexity(found, {"book", "pay"}) == complexity(2, 1), "two kinds between two tools are one edge"


def test_a_tool_comes_in_when_all_its_facts_are_known() -> None:
    assert expand([PAY, BOOK, LIST, FIND], [], 4) == ["list_all", "find", "book", "pay"]
    assert expand([PAY, BOOK, FIND], [], 2) == ["find", "book"]
    assert expand([PAY, BOOK], [], 9) == []
    assert expand([PAY, BOOK], [], 9, known=["room_id"]) == ["book", "pay"]
    assert dead_ends([PAY, BOOK]) == ["pay", "book"]


def test_what_is_no_key_can_be_said() -> None:
    assert spoken(MANIFEST) == {"email"}
    assert dead_ends(MANIFEST.tools, spoken(MANIFEST)) == []
    assert dead_ends(MANIFEST.tools[1:], spoken(MANIFEST)) == ["cancel_order"]


def test_no_random_graph_grows_a_dead_end() -> None:
    for seed in range(50):
        source = random.Random(seed)
        tools = [tool(f"t{number}", needs=" ".join(f"f{source.randint(0, 20)}" for _ in range(source.randint(0, 2))),
                      gives=f"f{source.randint(0, 20)}") for number in range(40)]
        source.shuffle(tools)
        grown = expand(tools, [], 20)
        assert dead_ends(one for one in tools if one.name in grown) == []


def test_the_gate_closes_where_a_graph_is_full_or_nothing_can_be_done() -> None:
    assert [gate(0.7, 0.5), gate(0.99, 0.25), gate(1.0, 1.0), gate(0.2, 0.2)] == [1.0, 1.0, 0.0, 0.0]


def test_orders_keep_what_comes_first() -> None:
    found = list(orders(5, {2: [0], 4: [2, 3]}, 40, random.Random(1)))
    assert {tuple(sorted(order)) for order in found} == {(0, 1, 2, 3, 4)}
    assert all(order.index(0) < order.index(2) < order.index(4) > order.index(3) for order in found)
    assert len({tuple(order) for order in found}) > 5
