"""What rows begin with alike stands once, where it is worth a context of its own."""

import random

import pytest

from hone.trajectory.packing import Row
from hone.trajectory.trees import Tree


def row(prompt, response):
    return Row(tuple(prompt), list(response), list(range(len(response))), [0.0] * len(response), (0,), "answer")


def told(*rows):
    return [(branch.ids.tolist(), branch.shared) for branch in Tree(list(rows)).branches]


def test_a_last_token_is_no_input():
    assert row([1, 2], [3, 4]).inputs == (1, 2, 3)
    assert told(row([1, 2], [3, 4]), row([1, 2], [3, 5])) == [([1, 2, 3], 0)]


def test_a_prompt_stands_once_however_short():
    first, second = row([1], [2] * 9), row([1], [3] * 9)
    assert told(second, first) == [([1, *[2] * 8], 0), ([1, *[3] * 8], 1)]


@pytest.mark.parametrize(("alike", "shared"), [(1, 2), (2, 4), (3, 5), (7, 9)])
def test_an_answers_beginning_is_shared_from_a_quarter_on(alike, shared):
    first, second = [5] * 8 + [0], [5] * alike + [6] * (8 - alike) + [0]
    assert told(row([1, 2], first), row([1, 2], second))[1][1] == shared


@pytest.mark.parametrize(("alike", "shared"), [(1, 0), (2, 2), (7, 7)])
def test_so_is_that_of_another_prompt(alike, shared):
    first, second = [5] * 8, [5] * alike + [6] * (8 - alike)
    assert told(row(first, [1, 2]), row(second, [1, 2]))[1][1] == shared


def test_a_prompt_that_goes_on_behind_an_answer_shares_both():
    assert told(row([1, 2], [3, 4, 5]), row([1, 2, 3, 4, 8, 9], [6, 7])) == [
        ([1, 2, 3, 4], 0), ([1, 2, 3, 4, 8, 9, 6], 4)]


def test_an_input_that_another_begins_with_adds_nothing():
    rows = row([1, 2], [3, 4, 5]), row([1, 2], [3, 9]), row([1, 2, 3], [4, 5])
    assert told(*rows) == [([1, 2, 3], 0), ([1, 2, 3, 4], 3), ([1, 2, 3, 4], 4)]
    assert Tree(list(rows)).size == 4


@pytest.mark.parametrize("seed", range(5))
def test_every_branch_goes_on_from_the_one_before(seed):
    source = random.Random(seed)
    rows = [row(source.choices([1, 2], k=source.randint(1, 4)), source.choices([1, 2, 3], k=source.randint(1, 9)))
            for _ in range(30)]
    tree, before = Tree(rows), list[int]()
    for branch in tree.branches:
        assert list(branch.inputs) == branch.ids.tolist()
        assert branch.ids[:branch.shared].tolist() == before[:branch.shared]
        before = branch.ids.tolist()
    assert {branch.inputs for branch in tree.branches} == {one.inputs for one in rows}
    assert len({branch.inputs for branch in tree.branches}) <= tree.size < sum(len(one.inputs) for one in rows)
