"""A step of verdicts: its plan, its metrics, and the question that a task's item asks."""

from typing import Any

import pytest

from hone.algorithms import presets
from hone.spec.run import AlgorithmSpec
from hone.trajectory.plan import Collected, GroupPlan, StepPlan, by_kind
from services.learner.driver.verification import judged, question

COLLECTED = Collected(name="verification", version=3, items=[(2, 0), (2, 1)])


def plan(groups: int, minibatches: int) -> StepPlan:
    slots = presets.resolve(AlgorithmSpec(preset="self_verify"))
    planned = [GroupPlan(group_id=one, request_no=one, task_hash="", grade_ids=[], rewards=[]) for one in range(groups)]
    return StepPlan(n=4, builder="rollouts", parts=[], groups=planned, slots=slots, lr=1.0, clip_norm=1.0,
                    temperature=1.0, max_tokens=8, minibatches=minibatches)


@pytest.mark.parametrize(("minibatches", "parts"), [(1, 1), (2, 2), (8, 3)])
def test_a_short_batch_of_judgements_is_cut_into_no_more_parts_than_it_has_groups(minibatches: int, parts: int) -> None:
    planned, _ = judged(plan(3, minibatches), {}, COLLECTED, [])
    assert (planned.kind, planned.collected, planned.minibatches) == ("verify", COLLECTED, parts)
    assert StepPlan.model_validate_json(planned.model_dump_json()) == planned


def test_verdicts_are_counted_among_those_that_could_be_graded() -> None:
    samples: list[dict[str, Any]] = [
        {"score": 0.5, "status": "ok"}, {"score": 0.0, "status": "ok"}, {"score": 0.25, "status": "ok"},
        {"score": 0.0, "status": "no_answer"}, {"score": None, "status": "infra_error"}]
    _, metrics = judged(plan(1, 1), {"reward/mean": 0.1}, COLLECTED, samples)
    assert metrics == {"reward/mean": 0.1, "verdict_accuracy": 0.5, "unparsable_verdicts": 0.25}


def test_metrics_of_a_kind_have_names_of_their_own_but_those_of_every_step() -> None:
    metrics = {"loss": 1.0, "groups": 2.0, "lr": 3.0, "trainer/idle_s": 4.0, "storage/read_s": 5.0,
               "groups/expired": 6.0}
    assert by_kind("generate", metrics) == metrics
    assert by_kind("verify", metrics) == {
        "verify/loss": 1.0, "verify/groups": 2.0, "lr": 3.0, "trainer/idle_s": 4.0, "storage/read_s": 5.0,
        "groups/expired": 6.0}


@pytest.mark.parametrize(("item", "asked"), [
    ({"prompt": "2+3="}, "2+3="),
    ({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"},
                   {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]}, "c"),
    ({"prompt": "p", "messages": []}, "p"),
])
def test_the_question_of_an_item(item: dict[str, Any], asked: str) -> None:
    assert question(item) == asked


@pytest.mark.parametrize("item", [{"answer": "1"}, {"prompt": " "}, {"prompt": 3},
                                  {"messages": [{"role": "system", "content": "s"}]}])
def test_an_item_without_a_question_is_refused(item: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected its question"):
        question(item)
