"""Presets, validation of parameters, and the slots that the driver uses."""

import subprocess
import sys

import pytest

from hone.algorithms.allocation.inputs import AllocationInputs
from hone.algorithms.catalogue import ALLOCATIONS, FILTERS, REWARDS, SCHEDULES
from hone.algorithms.inputs import FilterInputs, Progress, RewardInputs
from hone.algorithms.presets import PRESETS, filled, resolve
from hone.algorithms.slots import SLOTS, SlotError, needs
from hone.spec.run import AlgorithmSpec


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_presets_fill_every_slot_with_every_default(preset):
    slots = filled(AlgorithmSpec(preset=preset))
    assert slots.keys() == SLOTS.keys() - {"schedule", "batch_size"}
    for slot, filling in slots.items():
        if slot != "regularizers":
            assert filling["params"].keys() == SLOTS[slot][filling["name"]].model_fields.keys()


def test_dapo_is_clip_higher_with_dynamic_sampling_and_the_overlong_penalty():
    slots = resolve(AlgorithmSpec(preset="dapo"))
    assert slots["loss"] == {"name": "clip_higher", "params": {"low": 0.2, "high": 0.28}}
    assert slots["filter"]["name"] == "dynamic_sampling"
    assert slots["reward"] == {"name": "overlong", "params": {"max_length": 20480, "buffer": 4096, "weight": 1.0}}
    assert slots["aggregation"]["name"] == "token-mean"


def test_a_slot_of_the_spec_replaces_the_presets():
    spec = AlgorithmSpec.model_validate({
        "preset": "grpo", "advantage": {"name": "grpo", "params": {"std_ddof": 0}},
        "regularizers": [{"name": "kl", "params": {"coefficient": 0.01}}]})
    slots = resolve(spec)
    assert slots["advantage"]["params"]["std_ddof"] == 0
    assert slots["regularizers"] == [{"name": "kl", "params": {"coefficient": 0.01, "estimator": "k3"}}]
    assert needs(slots, "regularizers") == {"logp_ref"}


def test_a_regularizer_without_coefficient_needs_nothing():
    spec = AlgorithmSpec.model_validate({"regularizers": [{"name": "kl"}, {"name": "entropy"}]})
    assert needs(resolve(spec), "regularizers") == frozenset()


@pytest.mark.parametrize(("spec", "field", "found", "expected"), [
    ({"preset": "pppo"}, "algorithm.preset", "pppo", "one of grpo"),
    ({"loss": {"name": "clip"}}, "algorithm.loss.name", "clip", "one of ppo_clip"),
    ({"loss": {"name": "ppo_clip", "params": {"lo": 1}}}, "algorithm.loss.params.lo", 1, "one of the keys low, high"),
    ({"loss": {"name": "ppo_clip", "params": {"low": "x"}}}, "algorithm.loss.params.low", "x", "number"),
    ({"filter": {"name": "none", "params": {"k": 1}}}, "algorithm.filter.params.k", 1, "no such key"),
    ({"regularizers": [{"name": "kl"}, {"name": "l2"}]}, "algorithm.regularizers.1.name", "l2", "one of kl, entropy"),
    ({"preset": "sft", "advantage": {"name": "grpo"}}, "algorithm.advantage", "grpo", "'none'"),
    ({"preset": "sft", "filter": {"name": "dynamic_sampling"}}, "algorithm.filter", "dynamic_sampling", "'none'"),
    ({"loss": {"name": "mle"}}, "algorithm.advantage", "grpo", "'none'"),
])
def test_what_does_not_exist_or_fit_is_refused_by_name(spec, field, found, expected):
    with pytest.raises(SlotError) as refused:
        resolve(AlgorithmSpec.model_validate(spec))
    assert (refused.value.field, refused.value.found) == (field, found)
    assert expected in refused.value.expected


def test_the_driver_resolves_without_torch():
    code = "import sys, hone.algorithms.presets; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("length", "expected"), [(16384, 0), (18432, -0.5), (20480, -1), (20481, -1), (10, 0)])
def test_overlong_worked_numbers(length, expected):
    rewards, _, _ = REWARDS["overlong"](RewardInputs([0.0], [length], [False]), {}, {})
    assert rewards == [expected]


def test_overlong_adds_to_the_task_reward_and_punishes_what_was_cut_off():
    given = RewardInputs([1.0, 1.0, None], [18432, 10, 10], [False, True, True])
    rewards, _, metrics = REWARDS["overlong"](given, {"weight": 0.5}, {})
    assert rewards == [0.75, 0.5, None]
    assert metrics["overlong_samples"] == 3


@pytest.mark.parametrize("name", sorted(REWARDS))
def test_rewards_that_are_no_finite_number_are_rejected_and_counted(name):
    given = RewardInputs([float("nan"), float("inf"), 1.0, None], [1] * 4, [False] * 4)
    rewards, _, metrics = REWARDS[name](given, {}, {})
    assert rewards == [None, None, 1.0, None]
    assert metrics["rejected_rewards"] == 2


@pytest.mark.parametrize(("rewards", "kept"), [
    ([0, 0, 0], False), ([1, 1], False), ([0, 1], True), ([0.5, 0.5 + 1e-9], False), ([0.5, 0.5 + 1e-7], True),
    ([1, None], False), ([None, None], False), ([0, None, 1], True), ([], False),
])
def test_dynamic_sampling_keeps_groups_with_signal(rewards, kept):
    assert FILTERS["dynamic_sampling"](FilterInputs([rewards]), {}, {})[0] == [kept]
    assert FILTERS["none"](FilterInputs([rewards]), {}, {})[0] == [True]


@pytest.mark.parametrize(("prompts", "budget", "expected"), [(4, 8, [2, 2, 2, 2]), (3, 8, [3, 3, 2]), (2, 1, [1, 0])])
def test_uniform_gives_out_the_whole_budget(prompts, budget, expected):
    given = AllocationInputs([str(place) for place in range(prompts)], budget)
    assert ALLOCATIONS["uniform"](given, {}, {})[0] == expected


def factors(name, steps, **params):
    return [SCHEDULES[name](Progress(n, steps), params, {})[0] for n in range(1, steps + 1)]


@pytest.mark.parametrize(("name", "steps", "params", "expected"), [
    ("constant", 3, {}, [1, 1, 1]),
    ("constant", 4, {"warmup_steps": 2}, [0.5, 1, 1, 1]),
    ("linear", 4, {}, [1, 0.75, 0.5, 0.25]),
    ("linear", 6, {"decay_fraction": 0.5}, [1, 1, 1, 1, 2 / 3, 1 / 3]),
    ("linear", 4, {"warmup_steps": 2, "decay_fraction": 0.5}, [0.5, 1, 1, 0.5]),
    ("cosine", 4, {}, [1, 0.853553, 0.5, 0.146447]),
    ("cosine", 2, {"floor": 0.5}, [1, 0.75]),
])
def test_schedules(name, steps, params, expected):
    assert factors(name, steps, **params) == pytest.approx(expected, abs=1e-6)
