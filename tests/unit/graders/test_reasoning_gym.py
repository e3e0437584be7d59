"""A reasoning-gym task's own verifier decides."""

import os
from typing import Any

import pytest

from hone.environments.tasks import episode, make
from hone.graders.contract import Result, Status
from hone.graders.judgement import judged
from hone.graders.specs import spec

ITEM = episode(make("reasoning_gym", {"task": "countdown"}, 3)).reset().item
LEGS = episode(make("reasoning_gym", {"task": "leg_counting"}, 3)).reset().item


def grade(item: dict[str, Any], output: str, tag: str = "optional") -> Result:
    return judged(spec(f'{{"type": "reasoning_gym", "answer_tag": "{tag}"}}'), item, output)


@pytest.mark.parametrize(("output", "tag", "score"), [
    (LEGS["answer"], "optional", 1.0),
    (f"I think <answer>7</answer> no <answer> {LEGS['answer']} </answer>.", "optional", 1.0),
    (f"<answer>{LEGS['answer']}</answer>", "required", 1.0),
    ("-1", "optional", 0.0),
])
def test_the_answer_is_scored(output: str, tag: str, score: float) -> None:
    result = grade(LEGS, output, tag)
    assert (result.status, result.score, result.decided_by) == (Status.OK, score, "leg_counting")


def test_any_right_answer_counts_and_partial_scores_are_the_tasks_own() -> None:
    assert grade(ITEM, ITEM["answer"]).score == 1.0
    partial = grade(ITEM, "1+1").score
    assert partial is not None
    assert 0 < partial < 1


def test_a_required_tag_that_is_missing_is_no_answer() -> None:
    assert grade(LEGS, LEGS["answer"], "required").status is Status.NO_ANSWER


@pytest.mark.parametrize("item", [
    {}, {"params": {"task": "leg_counting"}}, {"params": {"task": "legs"}, "seed": 3}, {**LEGS, "prompt": "Another?"},
])
def test_a_row_that_names_no_task_is_our_fault(item: dict[str, Any]) -> None:
    result = grade(item, "7")
    assert (result.status, result.score) == (Status.INVALID_SPEC, None)


RUN = "__import__('os').environ.setdefault('HONE_ESCAPED', 'yes')"


@pytest.mark.parametrize("task", ["binary_matrix", "n_queens", "spiral_matrix", "string_insertion", "countdown",
                                  "puzzle24", "polynomial_multiplication", "simple_integration",
                                  "intermediate_integration"])
def test_no_verifier_runs_what_a_policy_wrote(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HONE_ESCAPED", raising=False)
    monkeypatch.setattr("hone.environments.reasoning_gym.HASH_ORDERED", frozenset())
    item = episode(make("reasoning_gym", {"task": task}, 3)).reset().item
    for answer in (RUN, f"[{RUN}]", f"1 + ({RUN} == 'x')", "oracle_answer.split()"):
        assert (grade(item, answer).score or 0.0) <= 0.05
    assert "HONE_ESCAPED" not in os.environ
    if item["answer"]:
        assert grade(item, item["answer"]).score == 1.0


@pytest.mark.parametrize("task", ["spiral_matrix", "countdown"])
def test_nor_does_a_mixture_of_tasks(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HONE_ESCAPED", raising=False)
    mixture = {"task": "composite", "datasets": [{"name": task, "weight": 1.0, "config": {}}]}
    item = episode(make("reasoning_gym", mixture, 3)).reset().item
    assert (grade(item, RUN).score or 0.0) <= 0.05
    assert "HONE_ESCAPED" not in os.environ
    assert grade(item, item["answer"]).score == 1.0


def test_a_tasks_own_variables_and_exponents_are_formulas() -> None:
    params = {"task": "simple_integration", "symbols": ["theta"]}
    item = episode(make("reasoning_gym", params, 3)).reset().item
    assert "theta" in item["answer"]
    assert grade(item, item["answer"]).score == 1.0
    assert grade(item, f"{item['answer']} + 1e-05 - 1e-05").score == 1.0
    assert grade(item, f"{item['answer']} + gamma.__class__").score == 0.0


def test_a_literal_answer_is_still_read() -> None:
    item = episode(make("reasoning_gym", {"task": "spiral_matrix"}, 3)).reset().item
    assert (grade(item, str(item["answer"].split())).score or 0.0) > 0
