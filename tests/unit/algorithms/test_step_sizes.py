"""The sizes of steps as pieces: equal to the list of all steps, and as cheap for a billion steps as for ten."""

import tracemalloc
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.catalogue import BATCH_SIZES
from hone.algorithms.schedules.batch_size import Consumption, batches
from hone.algorithms.schedules.step_sizes import Piece, StepSizes

GROWING = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)), min_size=1, max_size=5)


def one_by_one(name: str, params: Mapping[str, object], budget: int) -> list[int]:
    sizes, consumed = list[int](), 0
    while consumed < budget:
        rows, _, _ = BATCH_SIZES[name](Consumption(consumed, budget), params, {})
        sizes.append(rows)
        consumed += rows
    return sizes


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 9)), min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_pieces_answer_as_the_list_of_all_steps_does(drawn: list[tuple[int, int]]) -> None:
    sizes = StepSizes(tuple(Piece(steps, size) for steps, size in drawn))
    listed = [size for steps, size in drawn for _ in range(steps)]
    assert (list(sizes), sizes.steps, sizes.largest) == (listed, len(listed), max(listed))
    assert [sizes.size(n) for n in range(1, len(listed) + 1)] == listed
    assert [sizes.before(n) for n in range(1, len(listed) + 3)] == [
        sum(listed[:n - 1]) for n in range(1, len(listed) + 3)]


@given(GROWING, st.integers(1, 400))
@settings(max_examples=50, deadline=None)
def test_the_batches_of_a_schedule_are_those_that_it_gives(drawn: list[tuple[int, int]], budget: int) -> None:
    stages = [{"until": sum(length for length, _ in drawn[:place]), "rows": 1 + sum(more for _, more in drawn[:place])}
              for place in range(1, len(drawn) + 1)]
    for name, params in (("stages", {"stages": stages}), ("fsl", {"small": 2, "large": 16, "growth": 0.5})):
        assert list(batches(name, params, budget)) == one_by_one(name, params, budget)


def test_a_billion_steps_take_no_memory() -> None:
    tracemalloc.start()
    sizes = batches("late_switch", {"small": 1, "large": 2, "fraction": 0.5}, 2**31 - 1)
    assert (sizes.steps, sizes.size(sizes.steps)) == (2**30 + 2**29, 1)
    assert sizes.before(sizes.steps + 1) == 2**31 - 1
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
