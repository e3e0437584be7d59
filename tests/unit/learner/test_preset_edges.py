"""Every preset that trains on rewards, at its edges: rewards of any kind, cut-off and masked samples, several updates.
"""

import math
from dataclasses import replace

import pytest
import torch

from hone.algorithms.presets import PRESETS, builder_of, supervised, unmet
from hone.algorithms.slots import BUILDERS, method, needs
from hone.spec.run import AlgorithmSpec
from hone.trajectory.records import Span
from tests.support.learner.learners import learner
from tests.unit.trajectory.samples import of_kinds, random_episodes, with_teacher

NAMES = sorted(name for name in PRESETS if unmet(name) is None and not supervised(AlgorithmSpec(preset=name))
               and not BUILDERS[builder_of(AlgorithmSpec(preset=name))].makes_pairs)
TAUGHT = {"opd", "aopd", "scope", "sdar"}
"""Presets that learn from a teacher even if all rewards are equal."""
UNSCALED = {"dr_grpo", "rloo", "gigpo", "v0_5"}
"""Presets whose advantages grow with the rewards, as their papers have them."""
DISCOUNTED = {"gigpo"}
"""Presets that compare turns by how far they are from the outcome, so that equal outcomes differ, too."""
MIXED = [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]
KINDS = {"constant": [0.5] * 6, "from -1 to 1": [-1.0, 1.0, 0.3, -0.2, 0.0, -1.0],
         "from 0 to 10": [0.0, 10.0, 3.0, 10.0, 7.5, 0.0]}


def step(name, rewards=MIXED, groups=2, **changes):
    """A plan of two groups of three samples whose parts of the reward are equal to it, and turns without rewards."""
    size = len(rewards) // groups
    plan, made = random_episodes(groups, size, seed=4, algorithm={"preset": name})
    if method(plan.slots, "advantage").kinds:  # its grader grades every call
        made = [replace(one, calls=[replace(each, scores={"score": value or 0.0}) for each in one.calls])
                for one, value in zip(of_kinds(plan, made), rewards, strict=True)]
    made = [replace(one, steps=[replace(each, reward=0.0, rules={"format": 0.0}) for each in one.steps])
            for one in made]
    parts = [dict.fromkeys(("exec", "fmt", "schema", "r_rank", "r_dist"), value or 0.0) for value in rewards]
    planned = [group.model_copy(update={"rewards": rewards[place * size:][:size],
                                        "components": parts[place * size:][:size]})
               for place, group in enumerate(plan.groups)]
    teacher = "model" if needs(plan.slots, "advantage", "modulation", "loss", "regularizers") & {
        "logp_teacher", "support"} else ""
    return plan.model_copy(update={"groups": planned, "teacher": teacher, **changes}), with_teacher(made)


def gradient(made):
    trained = learner(critic={} if made[0].slots["advantage"]["name"] == "gae" else None)
    metrics = trained.forward_backward(*made)
    assert all(map(math.isfinite, metrics.values())), metrics
    found = {name: tensor.grad if tensor.grad is not None else torch.zeros_like(tensor)
             for name, tensor in trained.models.policy.trained.items()}
    assert all(tensor.isfinite().all() for tensor in found.values())
    return found


def size(found):
    return max(float(tensor.abs().max()) for tensor in found.values())


def assert_same(left, right, tolerance=0.0):
    for name, tensor in left.items():
        torch.testing.assert_close(tensor, right[name], atol=tolerance * size(right), rtol=0, msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_equal_rewards_move_nothing_but_towards_a_teacher(name):
    found = gradient(step(name, KINDS["constant"]))
    assert size(found) == 0 or name in TAUGHT | DISCOUNTED
    assert size(gradient(step(name))) > 0


@pytest.mark.parametrize("name", NAMES)
def test_rewards_of_another_range_are_no_other_rewards(name):
    """Advantages are relative: scaled and moved rewards give the same gradient, or one in proportion."""
    found, scale = gradient(step(name, KINDS["from -1 to 1"])), 20 if name in UNSCALED else 1
    if name == "trust_sql" or name in TAUGHT:  # they read which results are right
        assert size(gradient(step(name, KINDS["from 0 to 10"]))) > 0
        return
    moved = gradient(step(name, [20 * reward + 3 * (name not in DISCOUNTED) for reward in KINDS["from -1 to 1"]]))
    assert_same({key: tensor / scale for key, tensor in moved.items()}, found, 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_masked_sample_is_as_if_it_had_never_been(name):
    plan, made = step(name, [*MIXED[:5], None])
    other = [*made[:5], replace(made[5], calls=[
        replace(each, completion_ids=[each.completion_ids[0]] * 9, logp_sample=[-9.0] * 9, train_mask=[True] * 9,
                spans=[Span("schema", 0, 4)]) for each in made[5].calls])]
    assert_same(gradient((plan, made)), gradient((plan, other)))


@pytest.mark.parametrize("name", NAMES)
def test_untrained_tokens_and_their_probabilities_have_no_part(name):
    plan, made = step(name)

    def dark(one, logp):
        hidden = replace(one.calls[0], train_mask=[False, *one.calls[0].train_mask[1:]],
                         logp_sample=[logp, *one.calls[0].logp_sample[1:]], spans=[])
        return replace(one, calls=[hidden, *one.calls[1:]])

    one, other = ([dark(each, logp) for each in made] for logp in (-0.1, -30.0))
    assert_same(gradient((plan, one)), gradient((plan, other)))


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_that_was_cut_off_counts_as_the_plan_says(name):
    plan, made = step(name)
    cut = [*made[:4], replace(made[4], calls=[replace(made[4].calls[0], finish_reason="length"), *made[4].calls[1:]]),
           made[5]]
    kept = gradient((plan, cut))
    if name != "scope":
        assert_same(kept, gradient((plan, made)))
    dropped = plan.model_copy(update={"slots": {**plan.slots, "truncated": "drop"}})
    without = plan.model_copy(update={"groups": [plan.groups[0], plan.groups[1].model_copy(update={
        "rewards": [plan.groups[1].rewards[0], None, plan.groups[1].rewards[2]]})]})
    assert_same(gradient((dropped, cut)), gradient((without, made)))


@pytest.mark.parametrize("name", NAMES)
def test_two_minibatches_in_two_epochs_stay_finite_and_move_the_weights(name):
    plan, made = step(name, minibatches=2, epochs=2)
    trained = learner(critic={} if name == "ppo" else None)
    before = trained.weights()
    for number in range(4):
        metrics = trained.forward_backward(plan, [] if number else made, update=number)
        assert all(map(math.isfinite, {**metrics, **trained.optim_step(1e-2, 1.0)}.values()))
    assert trained.weights() != before
    assert not torch.isnan(torch.stack([tensor.sum() for tensor in trained.models.policy.trained.values()])).any()


@pytest.mark.parametrize("name", NAMES)
def test_a_group_of_one_sample_moves_nothing_where_groups_are_compared(name):
    """Each group keeps one sample; the others were masked. Batch statistics and baselines remain."""
    found = gradient(step(name, [0.0, None, None, 1.0, None, None]))
    assert size(found) == 0 or name in TAUGHT | {"reinforce_pp", "ppo"}


def test_the_presets_at_their_edges_are_all_that_sample():
    assert {builder_of(AlgorithmSpec(preset=name)) for name in NAMES} == {"rollouts", "self_verify"}
    assert len(NAMES) > 20
