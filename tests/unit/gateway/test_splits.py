"""How many rows of a run's datasets train and are held out, and which splits are refused."""

from typing import Any

import pytest

from hone.environments.tasks import held_out_rows, make, split_of
from services.gateway.admission import splits
from tests.support.gateway.task_rows import Row, Shelf, checked, resolved

MANY: list[Row] = [{"prompt": f"question {number}", "answer": "a"} for number in range(200)]
HELD = [row for row in MANY if split_of(make("dataset", {}, 0, row).content_hash) == "held_out"]
TRAINED = [row for row in MANY if row not in HELD]


def outcome(datasets: dict[str, list[Row]], **changes: Any) -> tuple[list[str], list[str]]:
    changes = {"task": {"dataset": "rows"}, "eval": {}, **changes}
    problems, sentences = splits.check(resolved(**changes), checked(Shelf(**datasets), **changes))
    return [str(problem) for problem in problems], sentences


@pytest.mark.parametrize(("rows", "train", "held"), [
    (MANY, len(TRAINED), len(HELD)), ([*MANY, *TRAINED], 2 * len(TRAINED), len(HELD)),
    (TRAINED[:10], 9, 1), (TRAINED[:2], 1, 1), (HELD[:2], 1, 1), (HELD[:9], 1, 8)])
def test_a_split_of_a_dataset_is_reported(rows: list[Row], train: int, held: int) -> None:
    assert outcome({"rows": rows}) == ([], [
        f"dataset 'rows': {train} of {len(rows)} rows train, {held} {'is' if held == 1 else 'are'} held out "
        "for evaluation",
        f"dataset 'rows': each evaluation asks all {held} {'different ' * (held > 1)}held-out task{'s' * (held > 1)} "
        "(eval.prompts is 256)"])
    assert f"asks {'all' if held == 1 else '1 of'} {held}" in outcome({"rows": rows}, eval={"prompts": 1})[1][1]


@pytest.mark.parametrize("rows", [MANY[:1], [MANY[0], {**MANY[0], "answer": "b"}]])
def test_one_task_cannot_be_split(rows: list[Row]) -> None:
    count = "1 row" if len(rows) == 1 else "2 rows"
    [problem], _ = outcome({"rows": rows})
    assert problem.startswith(f"task.dataset: found rows, whose {count} make 1 task, expected at least 2 different")
    assert outcome({"rows": rows}, eval=None) == ([], [])
    assert outcome({"rows": rows}, eval={"source": {"environment": "sort_digits"}}) == ([], [])


def test_rows_of_an_evaluation_dataset_do_not_train() -> None:
    _, sentences = outcome({"rows": MANY, "other": MANY[:30]}, eval={"prompts": 8, "source": {"dataset": "other"}})
    assert sentences == ["dataset 'rows': 170 of 200 rows train, 30 are held out for evaluation",
                         "dataset 'other': each evaluation asks 8 of 30 different held-out tasks (eval.prompts is 8)"]
    [problem], _ = outcome({"rows": MANY[:9], "other": MANY}, eval={"source": {"dataset": "other"}})
    assert problem.startswith("task.dataset: found rows, with every row held out for evaluation, expected")


def test_every_stage_has_rows_to_train_on() -> None:
    stages = [{"until": 1, "task": {"dataset": "first"}}]
    [problem], _ = outcome({"rows": MANY, "first": HELD[:3]}, stages=stages)
    assert problem.startswith("stages[0].task.dataset: found first, with every row held out")
    alone = [{"until": 4, "task": {"dataset": "first"}}]
    assert outcome({"rows": MANY, "first": TRAINED}, stages=alone)[1][0].startswith("dataset 'first': ")


def test_new_rows_move_no_task_but_the_one_that_stood_in() -> None:
    hashes = [make("dataset", {}, 0, row).content_hash for row in MANY]
    for count in range(2, len(hashes)):
        moved = held_out_rows(hashes[:count]) ^ (held_out_rows(hashes[:count + 1]) & set(hashes[:count]))
        assert len(moved) <= 1
        assert not moved or {split_of(one) for one in hashes[:count]} != {"train", "held_out"}


def test_each_source_of_a_mixture_is_split_by_itself_and_held_out_of_all() -> None:
    mixture = [{"name": "a", "weight": 1, "dataset": "rows"}, {"name": "b", "weight": 1, "dataset": "few"}]
    problems, sentences = outcome({"rows": MANY, "few": [*HELD[:2], *TRAINED[:8]]}, task={"mixture": mixture})
    assert problems == []
    assert sentences == [
        f"dataset 'rows': {len(TRAINED)} of 200 rows train, {len(HELD)} are held out for evaluation",
        "dataset 'few': 8 of 10 rows train, 2 are held out for evaluation",
        f"dataset 'rows': each evaluation asks all {len(HELD)} different held-out tasks (eval.prompts is 256)",
        "dataset 'few': each evaluation asks all 2 different held-out tasks (eval.prompts is 256)"]
    [problem], _ = outcome({"rows": MANY, "few": TRAINED[:1]}, task={"mixture": mixture})
    assert problem.startswith("task.mixture[1].dataset: found few, whose 1 row make 1 task")
