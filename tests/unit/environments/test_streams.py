"""Streams of tasks: the key of a stream fixes its tasks, and the two splits share none."""

from hashlib import sha256
from typing import Any

import pytest

from hone.environments.contract import WrongParams
from hone.environments.hashing import canonical, mixed_seed, splitmix
from hone.environments.streams import SplitExhausted, draw
from hone.environments.tasks import Split, make, split_of

DIGITS = {"digits": 6}
FOUR = {"digits": 4}


@pytest.mark.parametrize(("state", "mixed"), [(0, 0xE220A8397B1DCDAF), (0x9E3779B97F4A7C15, 0x6E789E6AA1B965F4)])
def test_splitmix_gives_the_published_numbers(state: int, mixed: int) -> None:
    assert splitmix(state) == mixed


def test_mixed_seed_depends_on_every_part_and_their_order() -> None:
    seeds = {mixed_seed(*parts) for parts in [(1, 2, 3), (1, 2, 4), (1, 3, 2), (2, 1, 3), (1, 2), (-1, 2, 3)]}
    assert len(seeds) == 6
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_the_content_hash_is_that_of_the_canonical_json() -> None:
    task = draw("sort_digits", DIGITS, "train", 1, 0, 1)[0]
    digits = f"{splitmix(task.seed) % 10**6:06d}"
    text = f'{{"environment":"sort_digits","messages":[{{"content":"s{digits}=","role":"user"}}]}}'
    assert task.content_hash == sha256(text.encode()).hexdigest()
    assert canonical({"b": "ö", "a": [1, None]}) == '{"a":[1,null],"b":"\\u00f6"}'


def test_the_same_question_is_the_same_content_whatever_its_answer() -> None:
    rows: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {"prompt": "2+3=", "answer": "5"}), ({}, {"prompt": "2+3=", "answer": "6", "level": 1}),
        ({"grader": {"type": "numeric"}}, {"messages": [{"role": "user", "content": "2+3="}], "completion": "5"})]
    asked = [make("dataset", params, seed, row) for seed, (params, row) in enumerate(rows)]
    assert len({task.content_hash for task in asked}) == 1
    assert make("dataset", {}, 0, {"prompt": "3+2=", "answer": "5"}).content_hash != asked[0].content_hash


def test_a_place_is_the_same_task_however_it_is_reached() -> None:
    whole = draw("sort_digits", DIGITS, "train", 5, 0, 40)
    assert whole == draw("sort_digits", DIGITS, "train", 5, 0, 15) + draw("sort_digits", DIGITS, "train", 5, 15, 25)
    assert whole != draw("sort_digits", DIGITS, "train", 6, 0, 40)


@pytest.mark.parametrize(("split", "seeds"), [
    ("train", [908839664, 733647653, 1934047200]),
    ("held_out", [1489305978, 951293563, 896699104]),
])
def test_a_stream_never_changes(split: Split, seeds: list[int]) -> None:
    """Stored runs are replayed from seeds: these numbers are part of the contract."""
    assert [task.seed for task in draw("sort_digits", DIGITS, split, 1, 0, 3)] == seeds


def test_splits_are_disjoint_over_thousands_of_draws() -> None:
    train = {task.content_hash for seed in range(4) for task in draw("sort_digits", FOUR, "train", seed, 0, 2000)}
    held = {task.content_hash for seed in range(2) for task in draw("sort_digits", FOUR, "held_out", seed, 0, 300)}
    assert len(train) > 4000
    assert len(held) > 300
    assert not train & held
    assert {split_of(hashed) for hashed in train} == {"train"}
    assert {split_of(hashed) for hashed in held} == {"held_out"}
    assert all(int(hashed[:8], 16) % 16 == 0 for hashed in held)


def test_distinct_tasks_are_distinct_and_in_stream_order() -> None:
    plain = draw("sort_digits", {"digits": 3}, "held_out", 3, 0, 400)
    distinct = draw("sort_digits", {"digits": 3}, "held_out", 3, 0, 40, True)
    hashes = [task.content_hash for task in distinct]
    assert len(set(hashes)) == 40
    assert hashes == list(dict.fromkeys(task.content_hash for task in plain))[:40]


def test_a_tiny_task_space_is_named_when_it_runs_out() -> None:
    with pytest.raises(SplitExhausted, match=r"sort_digits with .* has no more tasks in split held_out") as out:
        draw("sort_digits", {"digits": 2}, "held_out", 1, 0, 90, True)
    assert 0 < out.value.available < 20


@pytest.mark.parametrize(("first", "count", "distinct", "field"), [
    (-1, 1, False, "first"), (0, 0, False, "count"), (3, 1, True, "first"),
])
def test_a_wrong_range_is_named(first: int, count: int, distinct: bool, field: str) -> None:
    with pytest.raises(WrongParams) as refused:
        draw("sort_digits", DIGITS, "train", 1, first, count, distinct)
    assert refused.value.field == field


def test_a_dataset_makes_no_tasks_of_its_own() -> None:
    with pytest.raises(WrongParams, match="an environment that makes its own tasks"):
        draw("dataset", {}, "train", 1, 0, 1)


def test_reasoning_gym_streams_repeat() -> None:
    params = {"task": "leg_counting"}
    again = draw("reasoning_gym", params, "train", 2, 0, 20)
    assert again == draw("reasoning_gym", params, "train", 2, 0, 20)
    assert len({task.content_hash for task in again}) == 20
