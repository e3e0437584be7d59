"""A judge of steps whose score gates the reward. The numbers are those of V-tableR1's spec."""

import json
from typing import Any

import pytest

from hone.graders.contract import Status
from hone.graders.questions import Question
from hone.graders.specs import checked
from tests.unit.graders.judging import judged_by

CRITIC: dict[str, Any] = {
    "type": "process_critic", "model": "judge", "task": "{{ item.question }}",
    "grader": {"type": "string_check", "operation": "like", "input": "{{ sample.output_text }}", "reference": "= 4"}}


def says(*scores: float) -> Any:
    return lambda _: json.dumps({"scores": scores})


async def test_the_process_gates_the_reward() -> None:
    """R = T (0.9 R_acc + 0.1 R_fmt): (0.9, 0.2, 0.5, 0.06) for accuracy (1, 1, 1, 0) and T (.9, .2, .5, .6)."""
    spec = checked(CRITIC)
    found = [(await judged_by(spec, says(process), output))[0].score
             for process, output in ((0.9, "2+2 = 4"), (0.2, "2+2 = 4"), (0.5, "2+2 = 4"), (0.6, "2+2 = 5"))]
    assert found == pytest.approx([0.9, 0.2, 0.5, 0.06])


@pytest.mark.parametrize(("reduction", "process"), [("mean", 0.725), ("min", 0.1), ("geometric_mean", 0.531830)])
async def test_steps_are_reduced_and_scored_where_they_stand(reduction: str, process: float) -> None:
    output = "two\n\n  and two \nis\n= 4"
    [result] = await judged_by(checked({**CRITIC, "gate": {"reduction": reduction}}), says(1, 0.8, 0.1, 1), output)
    assert result.components["process"] == pytest.approx(process, abs=1e-6)
    assert [(output[step.start:step.end], step.value) for step in result.steps] == [
        ("two", 1.0), ("and two", 0.8), ("is", 0.1), ("= 4", 1.0)]
    paragraphs = checked({**CRITIC, "steps": "paragraphs"})
    [whole] = await judged_by(paragraphs, says(0.5, 1), output)
    assert [output[step.start:step.end] for step in whole.steps] == ["two", "and two \nis\n= 4"]


async def test_no_judge_is_asked_where_there_is_nothing_to_gate() -> None:
    def never(_: Question) -> str:
        raise AssertionError("it was asked")

    [wrong] = await judged_by(checked({**CRITIC, "least": 3}), never, "= 5")
    assert (wrong.status, wrong.score) == (Status.OK, 0.0)
    [added] = await judged_by(checked({**CRITIC, "least": 3, "gate": {"mode": "additive"}}), says(0.5), "= 5")
    assert added.score == 0.5


@pytest.mark.parametrize("said", ["0.5", "{}", '{"scores": [1]}', '{"scores": [1, 2]}', '{"scores": [1, "a"]}'])
async def test_a_step_without_a_score_masks_the_sample(said: str) -> None:
    [result] = await judged_by(checked(CRITIC), lambda _: said, "2+2\n= 4")
    assert (result.status, result.score) == (Status.JUDGE_ERROR, None)
