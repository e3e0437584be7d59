"""A run that judges its own answers is refused before it begins where it could not work."""

from typing import Any

import pytest

from hone.resolution import resolve
from hone.spec.files import as_json
from hone.spec.problems import Invalid

PARTS = {"type": "weighted", "parts": {"right": {"grader": {"type": "exact"}}}}
BASE: dict[str, Any] = {"name": "judge", "model": {"base": "toy"}, "steps": 3, "task": {"environment": "sort_digits"},
                        "algorithm": "self_verify"}


def builder(**params: Any) -> dict[str, Any]:
    return {"algorithm": {"preset": "self_verify", "builder": {"name": "self_verify", "params": params}}}


@pytest.mark.parametrize("changes", [
    {}, {"task": {"dataset": "rows"}}, builder(mode="self_verify", judged="response"), {"grader": PARTS},
    builder(verdict="word", yes_text="+", no_text="-", template="{question}{judged}?", suffixes=[]),
    {"task": {"environment": "reasoning_gym", "params": {"task": "leg_counting"}}},
])
def test_single_questions_may_be_judged(changes: dict[str, Any]) -> None:
    once = resolve({**BASE, **changes})
    assert resolve(as_json(once)) == once
    assert once.algorithm.builder is not None
    assert once.algorithm.builder.params["interval"] == 5


@pytest.mark.parametrize(("changes", "field", "found", "why"), [
    ({"max_staleness": 1}, "max_staleness", "1", "0, because builder self_verify"),
    ({"batch": {"prompts": 1}}, "batch.prompts", "1", "at least 2"),
    ({"task": {"environment": "sqlite"}}, "task.environment", '"sqlite"', "answered once"),
    ({"task": {"environment": "verification", "dataset": "rows"}}, "task.environment", '"verification"', "both texts"),
    ({"harness": {"name": "tool_loop"}}, "harness.name", '"tool_loop"', "chat"),
    ({"algorithm": {"preset": "self_verify", "advantage": {"name": "gdpo"}}, "grader": PARTS},
     "algorithm.advantage.name", '"gdpo"', "does not read components"),
    ({"algorithm": {"preset": "self_verify", "advantage": {"name": "opd"}},
      "contexts": {"privileged": [{"text": "{{ item.answer }}"}]}}, "contexts.privileged", "1 texts", "none, because"),
    (builder(mode="mixed"), "algorithm.builder.params.mode", '"mixed"', "verify_alter"),
    (builder(template="{question}"), "algorithm.builder.params.template", '"{question}"', "{judged}"),
    (builder(interval=0), "algorithm.builder.params.interval", "0", "equal to 1"),
    (builder(cap=0), "algorithm.builder.params.cap", "0", "greater than 0"),
    (builder(yes_text="No"), "algorithm.builder.params", '{"yes_text": "No"}', "differ"),
])
def test_what_cannot_be_judged_is_refused(changes: dict[str, Any], field: str, found: str, why: str) -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, **changes})
    (problem,) = refused.value.problems
    assert (problem.field, problem.found) == (field, found)
    assert why in problem.expected


def test_other_runs_are_not_asked() -> None:
    assert resolve({**BASE, "algorithm": "grpo", "max_staleness": 2, "batch": {"prompts": 1}})


def test_judgements_of_ones_own_are_rows_of_a_dataset() -> None:
    assert resolve({**BASE, "algorithm": "grpo", "task": {"environment": "verification", "dataset": "rows"}})
    with pytest.raises(Invalid, match="rows with prompt, label and rho"):
        resolve({**BASE, "algorithm": "grpo", "task": {"environment": "verification"}})
