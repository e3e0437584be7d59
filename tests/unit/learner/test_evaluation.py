"""Held-out accuracy: which samples count, which are masked, and when an evaluation is due."""

from typing import Any

import pytest

from hone.spec.run import EvalSpec
from services.learner.driver.evaluation import accuracies, task_scores
from services.learner.driver.pacing import eval_due


def answer(series: str, task: str, score: float | None, source: str = "") -> dict[str, Any]:
    return {"series": series, "task_hash": task, "score": score, "source": source}


def test_accuracy_is_the_mean_of_what_could_be_graded() -> None:
    rows = [answer("greedy", "t1", 1.0), answer("greedy", "t2", 0.0), answer("sampled", "t1", 1.0),
            answer("sampled", "t2", None)]
    assert accuracies(rows) == {"eval/greedy": 0.5, "eval/sampled": 1.0, "eval/masked": 1.0}


def test_a_task_with_several_answers_counts_once() -> None:
    rows = [answer("sampled", "t1", 1.0), answer("sampled", "t1", 0.5), answer("sampled", "t1", None),
            answer("sampled", "t2", 0.0), answer("sampled", "t3", None)]
    assert accuracies(rows) == {"eval/sampled": 0.375, "eval/masked": 2.0}
    assert task_scores(rows) == {("", "sampled"): {"t1": 0.75, "t2": 0.0, "t3": None}}


def test_each_source_has_an_accuracy_and_all_of_them_have_its_mean() -> None:
    rows = [answer("greedy", "t1", 1.0, "a"), answer("greedy", "t2", 1.0, "a"), answer("greedy", "t3", 0.5, "a"),
            answer("greedy", "t1", 0.0, "b"), answer("greedy", "t9", None, "c")]
    assert accuracies(rows, ["c", "c"], ["a", "b", "c"]) == {
        "eval/greedy": 2.5 / 3 / 2, "eval/masked": 3.0, "source/a/eval/greedy": 2.5 / 3, "source/a/eval/masked": 0.0,
        "source/b/eval/greedy": 0.0, "source/b/eval/masked": 0.0, "source/c/eval/masked": 3.0}


@pytest.mark.parametrize(("step", "due"), [
    (0, True), (1, False), (10, True), (25, True), (49, False), (53, True)])
def test_the_base_every_so_often_and_the_last_step_of_each_stage_are_evaluated(step: int, due: bool) -> None:
    assert eval_due(EvalSpec(every=25), {10, 53}, step) is due


def test_without_an_evaluation_nothing_is_due() -> None:
    assert not eval_due(None, {10}, 10)
