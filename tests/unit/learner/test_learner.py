"""A step in numbers: gradients, skipped trajectories, cuts, snapshots that resume exactly."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from hone.models import toy
from hone.models.adapter import Lora
from hone.models.checkpoint import read_weights, weights_bytes
from hone.models.checkpoint_header import BadCheckpoint
from hone.trajectory.microbatches import cut
from hone.trajectory.packing import pack, sequences
from services.learner.trainer.learner import Learner
from services.learner.trainer.training_step import Diverged, RejectedPlan
from tests.support.learner.learners import (
    KL,
    OPTIMIZER,
    RUNNING_MEAN,
    assert_equal_gradients,
    digests,
    gradient,
    learner,
    train,
)
from tests.unit.trajectory.samples import call, plan, random_step, trajectory

ALGORITHMS = {
    "grpo": {"preset": "grpo"}, "dr_grpo": {"preset": "dr_grpo"}, "rloo": {"preset": "rloo"},
    "reinforce_pp": {"preset": "reinforce_pp"}, "baseline": {"preset": "reinforce_pp_baseline"},
    "dapo": {"preset": "dapo"}, "kl": KL, "sequence": {"correction": {"name": "tis", "params": {"level": "sequence"}}},
    "dual": {"loss": {"name": "dual_clip"}, "advantage": {"name": "reinforce"}, "correction": {"name": "icepop"}},
    "token kl": {"preset": "reinforce_pp", "advantage": {"name": "reinforce_pp", "params": {"beta": 0.1}}},
    "entropy": {"regularizers": [{"name": "entropy", "params": {"coefficient": 0.01}}]},
}


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_micro_batches_side_by_side_give_the_same_gradient(name):
    step, gradients = random_step(seed=2, algorithm=ALGORITHMS[name]), []
    for threads in (1, 3):
        files = toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64)
        trained = Learner.create(files, OPTIMIZER, token_budget=40, threads=threads)
        trained.forward_backward(*step)
        gradients.append({name: tensor.grad for name, tensor in trained.models.policy.trained.items()})
    assert_equal_gradients(*gradients)


def test_micro_batches_side_by_side_change_no_bit():
    found = digests("policy")
    assert (len(found), len(set(found))) == (3, 1)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_the_cut_into_micro_batches_changes_no_loss_and_no_gradient(name):
    step = random_step(seed=2, algorithm=ALGORITHMS[name])
    whole, whole_gradient = gradient(step)
    parts, part_gradient = gradient(step, token_budget=40)
    assert parts["loss"] == pytest.approx(whole["loss"], abs=1e-6)
    assert parts["entropy"] == pytest.approx(whole["entropy"], rel=1e-5)
    assert_equal_gradients(whole_gradient, part_gradient)
    assert any(tensor.abs().max() > 0 for tensor in whole_gradient.values())


@pytest.mark.parametrize("completions", [
    [[3, 4], [5], [6, 7, 8]],
    [[6, 7, 8], [3, 4], [6, 7, 8]],
    [[6, 7, 8], [6, 7, 9], [6, 7]],
], ids=["all different", "two equal", "equal but for their ends"])
def test_the_gradient_is_that_of_the_formula(completions):
    """GRPO, ddof 1, one group, no correction: d/dw of -(1/B) sum_i A_i mean_t logp, by plain autograd."""
    algorithm = {"preset": "grpo", "correction": {"name": "none"}}
    rewards = [1.0, 0.0, 0.0]
    samples = [trajectory(0, index, call([1, 2], ids)) for index, ids in enumerate(completions)]
    _, found = gradient((plan({0: rewards}, algorithm), samples))
    values = np.array(rewards)
    advantage = (values - values.mean()) / (values.std(ddof=1) + 1e-6)
    reference = learner()
    batch = sequences([[1, 2, *ids] for ids in completions])
    [micro] = cut(batch, np.ones(3, np.bool_), 1000)
    logp, _ = reference.models.policy(micro)
    total = sum(-advantage[row] * logp[torch.from_numpy(micro.trajectory) == row][1:].mean() / 3 for row in range(3))
    total.backward()
    assert_equal_gradients(found, {name: tensor.grad for name, tensor in reference.models.policy.trained.items()})


def half_without_variance(algorithm):
    made, samples = random_step(seed=5, algorithm=algorithm)
    flat = {"rewards": [1.0] * 4}
    groups = [group.model_copy(update=flat if group.request_no % 2 else {}) for group in made.groups]
    return made.model_copy(update={"groups": groups}), samples


def test_skipping_groups_without_gradient_changes_nothing_but_the_work():
    skipped, skipped_gradient = gradient(half_without_variance({}))
    computed, computed_gradient = gradient(half_without_variance({"skip_zero_advantage": False}))
    assert (skipped["skipped_groups"], computed["skipped_groups"]) == (3, 0)
    assert skipped["advantage/zero_variance_groups"] == 3
    assert skipped["forward_tokens"] < computed["forward_tokens"]
    assert skipped["trained_tokens"] == computed["trained_tokens"]
    assert_equal_gradients(skipped_gradient, computed_gradient)


def test_a_regularizer_keeps_every_group():
    assert gradient(half_without_variance(KL))[0]["skipped_groups"] == 0


def test_groups_that_are_all_wrong_move_nothing():
    trained, (made, samples) = learner(weight_decay=0.0), random_step()
    before = trained.weights()
    groups = [group.model_copy(update={"rewards": [0.0] * 4}) for group in made.groups]
    metrics = trained.forward_backward(made.model_copy(update={"groups": groups}), samples)
    assert metrics["skipped_groups"] == 6
    assert metrics["forward_tokens"] == 0
    assert trained.optim_step(1e-3, 1.0) == {"grad_norm": 0}
    assert trained.weights() == before


def test_masked_samples_enter_neither_statistics_nor_loss():
    made, samples = random_step(seed=7, groups=1, samples=4)
    [group] = made.groups
    masked = made.model_copy(update={"groups": [group.model_copy(update={"rewards": [1.0, None, 0.0, 0.5]})]})
    alone = made.model_copy(update={"groups": [
        group.model_copy(update={"rewards": [1.0, 0.0, 0.5], "grade_ids": [1, 1, 1]})]})
    left = [samples[0], *(trajectory(0, place, samples[place + 1].calls[0]) for place in (1, 2))]
    metrics, found = gradient((masked, samples))
    _, expected = gradient((alone, left))
    assert metrics["masked_samples"] == 1
    assert_equal_gradients(found, expected)


def test_a_step_with_nothing_valid_is_a_step_without_gradient():
    made, samples = random_step(groups=2)
    groups = [group.model_copy(update={"rewards": [None] * 4}) for group in made.groups]
    trained = learner()
    metrics = trained.forward_backward(made.model_copy(update={"groups": groups}), samples)
    assert metrics == {"masked_samples": 8, "rejected_rows": 0, "trained_tokens": 0}
    assert trained.optim_step(1e-3, 1.0) == {"grad_norm": 0}


def test_the_gap_is_zero_where_the_sampler_is_the_trainer():
    made, samples = random_step(seed=1)
    trained = learner()
    logp: dict[Any, Any] = {}
    batch = pack(made, samples)
    for micro in cut(batch, np.ones(len(batch.rows), np.bool_), 10_000):
        values, _ = trained.models.policy(micro)
        for place, value in zip(micro.trajectory, values.tolist(), strict=True):
            logp.setdefault(int(place), []).append(value)
    exact = [trajectory(each.group_id, each.index, call(each.calls[0].prompt_ids, each.calls[0].completion_ids,
                                                        logp_sample=logp[place])) for place, each in enumerate(samples)]
    metrics = trained.forward_backward(made, exact)
    assert metrics["gap/max"] < 1e-5
    assert metrics["correction/weight_mean"] == pytest.approx(1, abs=1e-5)
    assert metrics["loss/ratio_mean"] == 1
    assert metrics["loss/clip_fraction"] == 0


def test_the_gap_counts_only_samples_of_the_version_in_training():
    step = random_step(seed=1)
    assert "gap/mean" in learner().forward_backward(*step, "ver_0")
    assert "gap/mean" not in learner().forward_backward(*step, "ver_1")


@pytest.mark.parametrize("algorithm", [None, KL, RUNNING_MEAN])
def test_an_interrupt_is_no_interrupt(algorithm):
    straight = train(learner(), 5, algorithm)
    stopped = train(learner(), 2, algorithm)
    stopped.forward_backward(*random_step(seed=2, algorithm=algorithm))
    resumed = Learner.restore(stopped.snapshot(), OPTIMIZER, token_budget=10_000)
    resumed.optim_step(1e-3, 1.0)
    resumed = Learner.restore(resumed.snapshot(), OPTIMIZER, token_budget=10_000)
    train(resumed, 2, algorithm, first=3)
    assert resumed.weights() == straight.weights()
    assert resumed.snapshot() == straight.snapshot()


def test_the_same_steps_give_the_same_bytes_and_others_others():
    assert train(learner(), 3).weights() == train(learner(), 3).weights()
    assert train(learner(), 3).weights() != train(learner(), 3, first=1).weights()


def test_supervised_steps_learn_a_demonstration():
    trained, losses = learner(), []
    samples = [trajectory(0, 0, call([4, 5], [6, 7, 2], logp_sample=[])) for _ in range(2)]
    for _ in range(30):
        losses.append(trained.forward_backward(plan({}, {"preset": "sft"}), samples)["loss"])
        trained.optim_step(1e-2, 1.0)
    assert losses[0] == pytest.approx(math.log(32), abs=0.3)
    assert losses[-1] < 0.05


def test_adamw_is_the_one_of_torch_with_decay_on_matrices_only():
    trained = learner()
    before = {name: tensor.detach().clone() for name, tensor in trained.models.policy.trained.items()}
    trained.optim_step(0.1, 1.0)
    after = trained.models.policy.trained
    embedding = "model.embed_tokens.weight"
    torch.testing.assert_close(after[embedding], before[embedding] * (1 - 0.1 * 0.01))
    assert torch.equal(after["model.norm.weight"], before["model.norm.weight"])


def test_the_gradient_is_clipped_to_its_norm():
    trained = learner()
    trained.forward_backward(*random_step())
    norm = trained.optim_step(1e-3, 1e9)["grad_norm"]
    parts = [float(tensor.norm()) ** 2 for tensor in gradient(random_step())[1].values()]
    assert norm == pytest.approx(math.sqrt(sum(parts)), rel=1e-5)


def test_a_plan_that_does_not_fit_is_rejected():
    made, samples = random_step()
    with pytest.raises(RejectedPlan, match="found samples"):
        learner().forward_backward(made, samples[1:])


def test_a_reference_cannot_be_had_after_the_first_update():
    with pytest.raises(RejectedPlan, match="logp_ref"):
        train(train(learner(), 1), 1, KL)


def test_a_gradient_that_is_not_finite_is_rejected_before_it_reaches_the_weights():
    trained = learner()
    trained.models.policy.trained["model.norm.weight"].grad = torch.full((32,), math.nan)
    before = trained.weights()
    with pytest.raises(Diverged, match="gradient norm"):
        trained.optim_step(1e-3, 1.0)
    assert trained.weights() == before


@pytest.mark.parametrize("name", ["optimizer.safetensors", "learner.json", "model.safetensors"])
def test_an_incomplete_snapshot_is_refused_by_name(name):
    files = train(learner(), 1).snapshot()
    del files[name]
    with pytest.raises(BadCheckpoint, match=name):
        Learner.restore(files, OPTIMIZER, token_budget=100)


LORA = Lora(2, 4.0, ("q_proj", "down_proj"))
FILES = toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64)


def adapted(threads=1, token_budget=10_000):
    return Learner.create(FILES, OPTIMIZER, token_budget=token_budget, threads=threads, lora=LORA, seed=3)


def base_of(trained):
    return {name: tensor for name, tensor in trained.models.policy.named_parameters() if ".lora_" not in name}


def test_an_adapter_is_trained_and_its_base_stays():
    trained = adapted()
    before = {name: tensor.clone() for name, tensor in base_of(trained).items()}
    losses = set()
    for number in range(3):
        train(trained, 1, first=number)
        losses.add(trained.forward_backward(*random_step(seed=0))["loss"])
    assert len(losses) == 3
    assert all(torch.equal(tensor, before[name]) for name, tensor in base_of(trained).items())
    assert set(read_weights(trained.weights())) == set(LORA.shapes(trained.architecture))


@pytest.mark.parametrize("algorithm", [None, KL])
def test_an_adapter_goes_on_from_its_snapshot_exactly(algorithm):
    straight = train(adapted(), 6, algorithm)
    stopped = train(adapted(), 3, algorithm)
    resumed = Learner.restore(stopped.snapshot(), OPTIMIZER, token_budget=10_000, base=FILES)
    assert "reference.safetensors" not in stopped.snapshot()
    assert train(resumed, 3, algorithm, first=3).weights() == straight.weights()


def test_an_adapters_reference_is_its_base_at_any_time():
    late = train(adapted(), 2)
    metrics = late.forward_backward(*random_step(seed=2, algorithm=KL))
    assert metrics["kl"] > 0 if "kl" in metrics else any("kl" in name for name in metrics)


def test_a_snapshot_whose_adapter_does_not_fit_is_refused():
    files = adapted().snapshot()
    files["adapter_model.safetensors"] = weights_bytes({"strange": torch.zeros(1)})
    with pytest.raises(BadCheckpoint, match="adapter_model"):
        Learner.restore(files, OPTIMIZER, token_budget=10_000, base=FILES)


def test_a_step_that_throws_the_weights_away_is_noticed_at_once():
    trained = learner()
    trained.forward_backward(*random_step(seed=0))
    trained.optim_step(1e10, 1.0)
    assert math.isnan(trained.probe()["logp"][0][0])
    trained.forward_backward(*random_step(seed=1))
    with pytest.raises(Diverged, match="gradient norm: found grad_norm nan, expected a finite number"):
        trained.optim_step(1e10, 1.0)
