"""Stages of a run: each has its own spec, and a wrong stage is refused with its field."""

from typing import Any

import pytest

from hone.resolution import resolve
from hone.resolution.stages import ends, stages
from hone.spec.files import as_json
from hone.spec.problems import Invalid
from hone.spec.run import RunSpec
from services.learner.driver.pacing import sizes

BASE: dict[str, Any] = {
    "name": "staged", "model": {"base": "toy"}, "steps": 9, "task": {"environment": "sort_digits"},
    "grader": {"type": "exact"}, "batch": {"prompts": 4, "samples": 8}}
WARM_UP: dict[str, Any] = {"until": 3, "algorithm": "sft", "task": {"dataset": "shown"}, "lr": 0.5}
EASY: dict[str, Any] = {"until": 5, "name": "easy", "task": {"environment": "sort_digits", "params": {"digits": 2}}}
HINT = {"contexts": {"privileged": [{"text": "It is {{ item.answer }}."}]}}
TEACHER = {"roles": {"teacher": {"model": "large"}}}


def staged(*own: dict[str, Any], **changes: Any) -> RunSpec:
    return resolve({**BASE, "stages": list(own), **changes})


@pytest.mark.parametrize("spec", [
    staged(WARM_UP), staged(WARM_UP, EASY), staged(EASY, {"until": 9, "sampling": {"max_tokens": 3}}),
    staged({"until": 2, "algorithm": "opd"}, **TEACHER), staged({"until": 2, "algorithm": "sdar"}, **HINT),
    staged(WARM_UP, algorithm="ppo"), staged({"until": 1, "algorithm": "ppo"}, critic={"clip": 0.25}),
])
def test_resolving_twice_changes_nothing(spec: RunSpec) -> None:
    assert resolve(as_json(spec)) == spec
    assert all(stage.algorithm and stage.task and stage.harness and stage.batch for stage in spec.stages)


def test_a_run_without_stages_is_one() -> None:
    spec = resolve(BASE)
    [only] = stages(spec)
    assert (only.first, only.last, only.name, only.spec) == (1, 9, "grpo", spec)
    assert ends(spec) == {9}


def test_stages_follow_each_other_and_the_run_goes_on_after_them() -> None:
    spec = staged(WARM_UP, EASY)
    found = [(stage.name, stage.first, stage.last, stage.spec.steps) for stage in stages(spec)]
    assert found == [("sft", 1, 3, 3), ("easy", 4, 5, 2), ("grpo", 6, 9, 4)]
    assert ends(spec) == {3, 5, 9}
    assert len(stages(staged({"until": 9}))) == 1


def test_what_a_stage_does_not_say_is_the_runs() -> None:
    warm_up, easy, rest = (stage.spec for stage in stages(staged(WARM_UP, EASY, optimizer={"lr": 2.0})))
    assert [one.optimizer.lr for one in (warm_up, easy, rest)] == [0.5, 2.0, 2.0]
    assert [one.task.params.get("digits") for one in (easy, rest)] == [2, 6]
    assert (easy.grader, rest.grader) == (None, {"type": "exact"}), "a grader belongs to its task"
    assert (warm_up.grader, warm_up.eval, warm_up.batch.samples) == (None, None, 1)
    assert (easy.batch, easy.sampling) == (rest.batch, rest.sampling)


def test_a_stage_of_completions_has_one_row_a_prompt_unless_it_says_so() -> None:
    spec = staged({**WARM_UP, "batch": {"prompts": 6}}, EASY)
    assert list(sizes(spec)) == [6] * 3 + [4] * 6
    assert [stage.spec.batch.samples for stage in stages(spec)] == [1, 8, 8]


def test_another_model_is_heard_in_the_stages_that_read_it() -> None:
    distilled, rest = (stage.spec for stage in stages(staged({"until": 2, "algorithm": "opd"}, **TEACHER)))
    assert distilled.roles.teacher
    assert not rest.roles.teacher
    warm_up, rest = (stage.spec for stage in stages(staged(WARM_UP, algorithm="ppo")))
    assert (warm_up.critic, rest.critic is None) == (None, False)


BAD: list[tuple[dict[str, Any], str, str, str]] = [
    ({"stages": [{"until": 0}]}, "stages[0].until", "0", "greater than or equal to 1"),
    ({"stages": [{"until": 10}]}, "stages[0].until", "10", "at most the run's 9 steps"),
    ({"stages": [EASY, {"until": 5}]}, "stages[1].until", "5", "more than 5, where the stage begins"),
    ({"stages": [{"until": 1, "algoritm": "sft"}]}, "stages[0].algoritm", 'unknown key with value "sft"',
     "did you mean algorithm?"),
    ({"stages": [{"until": 1, "algorithm": "grop"}]}, "stages[0].algorithm.preset", '"grop"', "did you mean grpo?"),
    ({"stages": [{"until": 1, "algorithm": "sft"}]}, "stages[0].task.dataset", "nothing", "a dataset with completions"),
    ({"stages": [EASY, {"until": 6, "batch": {"samples": 1}}]}, "stages[1].batch.samples", "1", "at least 2"),
    ({"stages": [{**WARM_UP, "batch": {"samples": 2}}]}, "stages[0].batch.samples", "2", "1, because"),
    ({"stages": [{"until": 1, "task": {"environment": "sort"}}]}, "stages[0].task.environment", '"sort"',
     "sort_digits"),
    ({"stages": [{"until": 1, "algorithm": "opd"}]}, "roles.teacher", "nothing", "a teacher"),
    ({"stages": [EASY], **TEACHER}, "roles.teacher", "a value", "no method of any stage"),
    ({"stages": [EASY], "critic": {}}, "critic", "a value", "no method of any stage"),
    ({"stages": [{"until": 1, "algorithm": "self_verify"}]}, "stages[0].algorithm.builder", '"self_verify"', "phases"),
    ({"stages": [{"until": 1, "batch": {"schedule": {"name": "constant", "budget": 4}}}]},
     "stages[0].batch.schedule", '"constant"', "its own size"),
    ({"stages": [EASY], "sampling": {"max_tokens": 0}}, "sampling.max_tokens", "0", "equal to 1"),
    ({"stages": [EASY], "batch": {"samples": 1}}, "batch.samples", "1", "at least 2"),
]


@pytest.mark.parametrize(("changes", "field", "found", "why"), BAD)
def test_what_cannot_be_a_stage_is_refused(changes: dict[str, Any], field: str, found: str, why: str) -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, **changes})
    (problem,) = refused.value.problems
    assert (problem.field, problem.found) == (field, found)
    assert why in problem.expected


@pytest.mark.parametrize(("changes", "field"), [
    ({"eval": None}, "steps"), ({"stages": [{"until": 1}]}, "stages[0].until"),
    ({"judge_check": {}, "grader": {"type": "judge", "judge": "j", "prompt": "{{ sample.output }}"}}, "judge_check")])
def test_a_run_that_trains_nothing_has_something_to_evaluate(changes: dict[str, Any], field: str) -> None:
    assert resolve({**BASE, "steps": 0}).steps == 0
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, "steps": 0, **changes})
    assert field in [problem.field for problem in refused.value.problems]
