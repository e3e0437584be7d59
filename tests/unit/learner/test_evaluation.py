"""Held-out accuracy: which samples count, which are masked, and when an evaluation is due."""

from typing import Any

import pytest

from hone.spec.run import EvalSpec
from services.learner.driver.evaluation import accuracies
from services.learner.driver.pacing import eval_due


def test_accuracy_is_the_mean_of_what_could_be_graded() -> None:
    rows: list[dict[str, Any]] = [
        {"series": "greedy", "score": 1.0}, {"series": "greedy", "score": 0.0},
        {"series": "sampled", "score": 1.0}, {"series": "sampled", "score": None}]
    assert accuracies(rows) == {"eval/greedy": 0.5, "eval/sampled": 1.0, "eval/masked": 1.0}


@pytest.mark.parametrize(("step", "due"), [
    (0, True), (1, False), (10, True), (25, True), (49, False), (53, True)])
def test_the_base_every_so_often_and_the_last_step_of_each_stage_are_evaluated(step: int, due: bool) -> None:
    assert eval_due(EvalSpec(every=25), {10, 53}, step) is due


def test_without_an_evaluation_nothing_is_due() -> None:
    assert not eval_due(None, {10}, 10)
