"""A run that makes pairs of its own samples is refused before it begins where it could not work."""

from typing import Any

import pytest

from hone.algorithms import presets
from hone.algorithms.slots import SlotError
from hone.resolution.preferences import branches, outcomes, pace
from hone.spec.run import AlgorithmSpec, RunSpec

BASE: dict[str, Any] = {"name": "pairs", "model": {"base": "toy"}, "steps": 3, "task": {"environment": "phase_lock"},
                        "algorithm": {"preset": "selskill"}, "harness": {"name": "skills"}}
SLOTS = presets.filled(AlgorithmSpec(preset="selskill"))
OTHER = presets.filled(AlgorithmSpec(preset="grpo"))
RULES = (pace, outcomes, branches)


def problems(changes: dict[str, Any], slots: dict[str, Any]) -> list[tuple[str, str, str]]:
    spec = RunSpec.model_validate({**BASE, **changes})
    return [(one.field, one.found, one.expected) for rule in RULES for one in rule(spec, slots)]


@pytest.mark.parametrize(("changes", "field", "found", "why"), [
    ({"max_staleness": 1}, "max_staleness", "1", "0, because builder selskill"),
    ({"task": {"environment": "sort_digits"}}, "task.environment", '"sort_digits"', "scores an episode itself"),
    ({"task": {"dataset": "rows"}}, "task.environment", '"dataset"', "how continuations end"),
    ({"harness": {"name": "skills", "params": {"branches": 2}}}, "harness.params.branches", "2",
     "algorithm.builder.params.branches"),
])
def test_what_gives_no_pairs_is_refused(changes: dict[str, Any], field: str, found: str, why: str) -> None:
    [problem] = problems(changes, SLOTS)
    assert problem[:2] == (field, found)
    assert why in problem[2]
    assert problems(changes, OTHER) == []


def test_a_run_of_pairs_has_no_problem() -> None:
    assert problems({}, SLOTS) == problems({"harness": {"name": "skills", "params": {"branches": 0}}}, SLOTS) == []


@pytest.mark.parametrize(("algorithm", "field", "words"), [
    ({"preset": "selskill", "advantage": {"name": "grpo"}}, "algorithm.advantage", "trains on pairs"),
    ({"preset": "selskill", "filter": {"name": "dynamic_sampling"}}, "algorithm.filter", "trains on pairs"),
    ({"preset": "grpo", "modulation": {"name": "selskill"}}, "algorithm.modulation", "builder 'selskill' with it"),
    ({"preset": "selskill", "regularizers": [{"name": "sdar"}]}, "algorithm.regularizers", "none that reads a teacher"),
])
def test_slots_that_do_not_fit_pairs_are_refused(algorithm: dict[str, Any], field: str, words: str) -> None:
    filled = presets.filled(AlgorithmSpec.model_validate(algorithm))
    with pytest.raises(SlotError) as refused:
        presets._refuse_misbuilt(filled)
    assert refused.value.field == field
    assert words in refused.value.expected
