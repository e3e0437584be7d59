"""Micro-batches: prompts once, positions, budgets, and attention that sees exactly a row's own past."""

import random

import numpy as np
import pytest

from hone.models.attention import padded
from hone.trajectory.microbatches import Tree, cut
from hone.trajectory.packing import Row, pack
from tests.unit.trajectory.samples import call, plan, random_step, trajectory


def cuts(step, budget=1000, kept=None):
    batch = pack(*step)
    return batch, list(cut(batch, np.ones(len(batch.rows), np.bool_) if kept is None else kept, budget))


def two_of_one_prompt():
    calls = call([1, 2, 3], [4, 5, 6]), call([1, 2, 3], [7, 8])
    return plan({0: [1.0, 0.0]}), [trajectory(0, index, each) for index, each in enumerate(calls)]


def test_a_shared_prompt_stands_once_and_last_tokens_are_no_input():
    _, [micro] = cuts(two_of_one_prompt())
    assert micro.ids.tolist() == [1, 2, 3, 4, 5, 7]
    assert micro.positions.tolist() == [0, 1, 2, 3, 4, 3]
    assert micro.predicting.tolist() == [2, 3, 4, 2, 5]
    assert micro.targets.tolist() == [4, 5, 6, 7, 8]
    assert micro.trajectory.tolist() == [0, 0, 0, 1, 1]
    assert micro.token.tolist() == [0, 1, 2, 3, 4]


def test_equal_completions_stand_once_and_each_has_its_predictions():
    completions = [[4, 5, 6], [4, 5, 7], [4, 5, 6], [8], [9]]  # a last token is no input: the first three are equal
    samples = [trajectory(0, index, call([1, 2], ids)) for index, ids in enumerate(completions)]
    _, [micro] = cuts((plan({0: [1.0, 0.0, 1.0, 0.0, 0.0]}), samples))
    assert micro.ids.tolist() == [1, 2, 4, 5]
    assert micro.predicting.tolist() == [1, 2, 3] * 3 + [1, 1]
    assert micro.targets.tolist() == [4, 5, 6, 4, 5, 7, 4, 5, 6, 8, 9]
    assert micro.trajectory.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4]
    assert micro.token.tolist() == list(range(11))


def test_what_answers_begin_with_stands_once_and_predicts_for_each():
    completions = [[4, 5, 6, 7], [4, 5, 8, 9], [4, 4, 4, 4]]
    samples = [trajectory(0, index, call([1, 2], ids)) for index, ids in enumerate(completions)]
    _, [micro] = cuts((plan({0: [1.0, 0.0, 0.5]}), samples))
    assert micro.ids.tolist() == [1, 2, 4, 4, 4, 5, 6, 8]
    assert micro.positions.tolist() == [0, 1, 2, 3, 4, 3, 4, 4]
    assert micro.predicting.tolist() == [1, 2, 5, 6, 1, 2, 5, 7, 1, 2, 3, 4]
    assert micro.targets.tolist() == [4, 5, 6, 7, 4, 5, 8, 9, 4, 4, 4, 4]
    assert seen(micro) == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 2, 5], [0, 1, 2, 5, 6],
                           [0, 1, 2, 5, 7]]


def test_a_group_beyond_the_budget_is_cut_between_trajectories():
    samples = [trajectory(0, index, call([1, 2], [index + 3] * 5)) for index in range(5)]
    batch, found = cuts((plan({0: [1.0, 0.0, 0.5, 0.2, 0.1]}), samples), budget=10)
    assert [sorted(set(micro.trajectory.tolist())) for micro in found] == [[0, 1], [2, 3], [4]]
    assert [len(micro.ids) for micro in found] == [10, 10, 6]
    assert np.concatenate([micro.token for micro in found]).tolist() == list(range(batch.tokens.sum()))


def test_equal_predictions_are_distinguished_from_others():
    completions = [[4, 5, 6], [4, 5, 7], [4, 5, 6], [8], [9]]
    samples = [trajectory(0, index, call([1, 2], ids)) for index, ids in enumerate(completions)]
    _, [micro] = cuts((plan({0: [1.0, 0.0, 1.0, 0.0, 0.0]}), samples))
    first, which = micro.distinct
    assert sorted(zip(micro.predicting[first].tolist(), micro.targets[first].tolist(), strict=True)) == [
        (1, 4), (1, 8), (1, 9), (2, 5), (3, 6), (3, 7)]
    assert micro.predicting[first][which].tolist() == micro.predicting.tolist()
    assert micro.targets[first][which].tolist() == micro.targets.tolist()


def seen(micro):
    """For each flat token the places it attends to, as the buckets say."""
    outputs = []
    buckets, restore = padded(micro.spans, micro.behind, len(micro.ids))
    for bucket in buckets:
        (count, length), width = bucket.queries.shape, bucket.keys.shape[1]
        visible = np.tri(length, dtype=np.bool_) if bucket.visible is None else bucket.visible
        visible = np.broadcast_to(visible, (count, length, width))
        outputs += [(int(query), bucket.keys[row][visible[row, place]].tolist())
                    for row in range(count) for place, query in enumerate(bucket.queries[row])]
    picked = [outputs[place] for place in restore]
    assert [token for token, _ in picked] == list(range(len(micro.ids)))
    return [places for _, places in picked]


def test_a_completion_sees_its_prompt_and_itself_only():
    _, [micro] = cuts(two_of_one_prompt())
    assert seen(micro) == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 2, 5]]


@pytest.mark.parametrize("seed", range(4))
def test_every_prediction_sees_exactly_its_rows_past(seed):
    batch, found = cuts(random_step(seed=seed, groups=9, longest_prompt=40, longest_completion=70), budget=300)
    assert len(found) > 1
    for micro in found:
        past = seen(micro)
        for place, token, owner in zip(micro.predicting, micro.token, micro.trajectory, strict=True):
            [row] = batch.rows[owner]
            step = token - batch.offsets[owner]
            ids = [*row.prompt, *row.response[:step]]
            assert micro.ids[past[place]].tolist() == ids
            assert micro.positions[past[place]].tolist() == list(range(len(ids)))


@pytest.mark.parametrize("budget", [1, 20, 60, 10_000])
def test_the_budget_cuts_but_loses_and_reorders_nothing(budget):
    batch, found = cuts(random_step(seed=3), budget)
    assert np.concatenate([micro.token for micro in found]).tolist() == list(range(batch.tokens.sum()))
    assert all(len(micro.ids) <= budget for micro in found if len(set(micro.trajectory.tolist())) > 1)


def test_a_group_stays_together_where_it_fits():
    batch, found = cuts(random_step(seed=3, groups=8), budget=80)
    owners = [set(batch.group[micro.trajectory].tolist()) for micro in found]
    assert sum(map(len, owners)) == len(set().union(*owners))


@pytest.mark.parametrize("budget", [2000, 700])
def test_what_is_cut_is_of_like_size_and_even_in_number(budget):
    _, found = cuts(random_step(seed=5, groups=40, longest_prompt=4, longest_completion=11), budget)
    sizes = [len(micro.ids) for micro in found]
    assert len(sizes) % 2 == 0
    assert max(sizes) - min(sizes) < 0.2 * max(sizes)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_rank_has_its_share_and_two_cut_as_one_does(ranks):
    batch, one = cuts(random_step(seed=5, groups=40, longest_prompt=4, longest_completion=11), 700)
    found = list(cut(batch, np.ones(len(batch.rows), np.bool_), 700, ranks))
    sizes = [len(micro.ids) for micro in found]
    assert len(sizes) % ranks == 0
    assert max(sizes) - min(sizes) < 0.3 * max(sizes)
    assert ranks > 2 or [micro.token.tolist() for micro in found] == [micro.token.tolist() for micro in one]


def test_few_tokens_are_not_cut():
    _, found = cuts(random_step(seed=5, groups=4), budget=1000)
    assert len(found) == 1


def test_what_is_not_kept_is_not_computed():
    batch, found = cuts(two_of_one_prompt(), kept=np.array([False, True]))
    assert [micro.ids.tolist() for micro in found] == [[1, 2, 3, 7]]
    assert found[0].token.tolist() == [3, 4]
    assert len(batch.rows) == 2


def test_the_same_prompt_in_another_group_is_packed_again():
    step = plan({0: [1.0], 1: [0.0]}), [trajectory(group, 0, call([1, 2], [3])) for group in range(2)]
    assert cuts(step)[1][0].ids.tolist() == [1, 2, 1, 2]


def row(prompt, response):
    return Row(tuple(prompt), list(response), list(range(len(response))), [0.0] * len(response), (0,), "answer")


def branches(*rows):
    return [(branch.ids.tolist(), branch.shared) for branch in Tree(list(rows)).branches]


def test_a_last_token_is_no_input():
    assert row([1, 2], [3, 4]).inputs == (1, 2, 3)
    assert branches(row([1, 2], [3, 4]), row([1, 2], [3, 5])) == [([1, 2, 3], 0)]


def test_a_prompt_stands_once_however_short():
    first, second = row([1], [2] * 9), row([1], [3] * 9)
    assert branches(second, first) == [([1, *[2] * 8], 0), ([1, *[3] * 8], 1)]


@pytest.mark.parametrize(("alike", "shared"), [(1, 2), (2, 4), (3, 5), (7, 9)])
def test_an_answers_beginning_is_shared_from_a_quarter_on(alike, shared):
    first, second = [5] * 8 + [0], [5] * alike + [6] * (8 - alike) + [0]
    assert branches(row([1, 2], first), row([1, 2], second))[1][1] == shared


@pytest.mark.parametrize(("alike", "shared"), [(1, 0), (2, 2), (7, 7)])
def test_so_is_that_of_another_prompt(alike, shared):
    first, second = [5] * 8, [5] * alike + [6] * (8 - alike)
    assert branches(row(first, [1, 2]), row(second, [1, 2]))[1][1] == shared


def test_a_prompt_that_goes_on_behind_an_answer_shares_both():
    assert branches(row([1, 2], [3, 4, 5]), row([1, 2, 3, 4, 8, 9], [6, 7])) == [
        ([1, 2, 3, 4], 0), ([1, 2, 3, 4, 8, 9, 6], 4)]


def test_an_input_that_another_begins_with_adds_nothing():
    rows = row([1, 2], [3, 4, 5]), row([1, 2], [3, 9]), row([1, 2, 3], [4, 5])
    assert branches(*rows) == [([1, 2, 3], 0), ([1, 2, 3, 4], 3), ([1, 2, 3, 4], 4)]
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
