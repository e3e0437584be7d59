"""SelSkill's steps: their plan and warnings, and the gradient of each update through the trainer."""

import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from hone.algorithms import presets
from hone.algorithms.selskill import Pair, Played, Round
from hone.spec.run import AlgorithmSpec
from hone.trajectory import parts
from hone.trajectory.microbatches import cut
from hone.trajectory.packing import pack
from hone.trajectory.plan import GroupPlan, StepPlan
from services.learner.driver.budgets import Granted
from services.learner.driver.decisions import GroupRequest, PlanStep, RequestGroups
from services.learner.driver.planning import Choice
from services.learner.driver.preferences import Preferences, over_pairs, warning
from tests.support.algorithms.branches import both
from tests.support.learner.learners import assert_equal_gradients, learner
from tests.unit.trajectory.samples import call, trajectory

BETA, ALPHA, NLL = 0.5, 0.7, 0.1


def plan(**changes):
    filled = presets.filled(AlgorithmSpec(preset="selskill"))
    modulation = {"name": "selskill", "params": {"beta": BETA, "alpha": ALPHA, "c_nll": NLL, "length_norm": False}}
    slots = {**filled, "modulation": modulation, "skip_zero_advantage": True, "truncated": "keep"}
    fields = {"n": 3, "builder": "selskill", "parts": ["p"], "groups": [], "slots": slots, "lr": 1e-3,
              "clip_norm": 1.0, "temperature": 1.0, "max_tokens": 16, **changes}
    return StepPlan(**fields)


def pairs(count=5, seed=0):
    """Sides of pairs, of which every other one is a step pair."""
    draw = torch.Generator().manual_seed(seed)

    def ids(most):
        return torch.randint(32, (int(torch.randint(1, most, (1,), generator=draw)),), generator=draw).tolist()

    kinds = [("invoke", "skip") if place % 2 else ("answer", "answer") for place in range(count)]
    return [trajectory(0, index, call(prompt, ids(9), kind=kinds[place][index]), request_no=place)
            for place, prompt in enumerate(ids(6) for _ in range(count)) for index in (0, 1)]


def objective(policy, reference, samples, plan):
    """L of the pairs of a minibatch, written as the paper's note has it."""
    batch = pack(plan, samples)
    [micro] = cut(batch, np.ones(len(samples), np.bool_), 10_000)
    logp, place = policy(micro)[0], torch.from_numpy(micro.trajectory)
    with torch.no_grad():
        before = reference(micro)[0]
    sums = torch.zeros(len(samples)).index_add(0, place, logp - before)
    losses = -torch.nn.functional.logsigmoid(BETA * (sums[0::2] - sums[1::2]))
    total = logp.sum() * 0
    for weight, kinds in ((1.0, ("answer",)), (ALPHA, ("invoke", "skip"))):
        own = torch.tensor([one.calls[0].kind in kinds for one in samples[0::2]])
        if own.any():
            winners = torch.zeros(len(samples), dtype=torch.bool)
            winners[0::2] = own
            total = total + weight * (losses[own].mean() - NLL * logp[winners[place]].mean())
    return total


@pytest.mark.parametrize("budget", [10_000, 20])
def test_every_update_takes_the_gradient_of_the_joint_objective_of_its_minibatch(budget):
    samples, step = pairs(), plan(minibatches=2, epochs=2)
    trained, start = learner(budget), learner().models.policy
    for update in range(4):
        part = samples[:6] if update % 2 == 0 else samples[6:]
        loss = objective(trained.models.policy, start, part, step)
        parameters = trained.models.policy.trained
        expected = dict(zip(parameters, torch.autograd.grad(loss, parameters.values()), strict=True))
        trained.forward_backward(step, samples if update == 0 else [], update=update)
        assert_equal_gradients({name: tensor.grad for name, tensor in parameters.items()}, expected)
        trained.optim_step(1e-2, 1.0)


def test_a_step_of_pairs_measures_the_gap_of_its_samples_and_how_it_separates_them():
    groups = [GroupPlan(group_id=0, request_no=0, task_hash="", grade_ids=[], rewards=[])]
    metrics = learner().forward_backward(plan(groups=groups), pairs(), version_id="ver_0")
    assert metrics["modulation/episode_pairs"] == 3
    assert metrics["modulation/step_loss"] == pytest.approx(np.log(2))
    assert metrics["gap/mean"] > 0


def test_a_step_without_a_pair_moves_no_weight():
    trained, step = learner(), plan()
    trained.forward_backward(step, pairs())
    trained.optim_step(step.lr, step.clip_norm)
    before = {name: tensor.detach().clone() for name, tensor in trained.models.policy.trained.items()}
    empty = over_pairs(step.model_copy(update={"epochs": 3, "minibatches": 4}), [], 0)
    trained.forward_backward(empty, [])
    trained.optim_step(empty.lr, empty.clip_norm)
    assert empty.updates == 1
    assert all(torch.equal(before[name], tensor) for name, tensor in trained.models.policy.trained.items())


@pytest.mark.parametrize(("asked", "count", "minibatches"), [(1, 9, 1), (4, 9, 4), (4, 3, 3)])
def test_pairs_are_cut_into_no_more_minibatches_than_there_are(asked, count, minibatches):
    planned = over_pairs(plan(builder="rollouts", parts=["a", "b"], minibatches=asked, epochs=2), ["pairs"], count)
    assert (planned.builder, planned.parts, planned.minibatches, planned.epochs) == (
        "selskill", ["pairs"], minibatches, 2)
    assert StepPlan.model_validate_json(planned.model_dump_json()) == planned


def made(count, discarded, step):
    lone = Played(trajectory(0, 0), [])
    return Round([Pair("step", lone, lone, "outcome")] * count, Counter(discarded), {"pairs/step": float(step)})


@pytest.mark.parametrize(("round_", "kind", "words"), [
    (made(0, {"both_failed": 2}, 0), "no_pairs", "trains nothing: .*2 both_failed"),
    (made(0, {}, 0), "no_pairs", "no turn was branched"),
    (made(3, {"unbalanced": 4}, 0), "no_step_pairs", "no branch of the step gives a pair: 4 unbalanced"),
])
def test_a_step_that_lacks_pairs_warns(round_, kind, words):
    event = warning(round_)
    assert event is not None
    assert event.kind == kind
    assert re.search(words, event.message)


def test_a_step_with_pairs_or_without_branches_warns_of_nothing():
    assert warning(made(3, {"quota": 1}, 2)) is None
    assert warning(made(3, {}, 0)) is None


def source(stored: dict[str, bytes]) -> Preferences:
    slots = presets.filled(AlgorithmSpec.model_validate({
        "preset": "selskill", "builder": {"name": "selskill", "params": {"branches": 2}}}))
    planned = plan(n=4, builder="rollouts", parts=["all"], minibatches=2)
    rollouts: Any = SimpleNamespace(
        stage=None, group_request=lambda _: GroupRequest([], [Granted(4)]), warnings=lambda *_: [],
        plan_over=lambda *_: (planned, {"reward/mean": 0.5}))
    lease: Any = SimpleNamespace(run_id="run_a", spec=SimpleNamespace(seed=1))
    objects: Any = SimpleNamespace(get=stored.__getitem__, put=stored.__setitem__)
    return Preferences(rollouts, slots, objects, lease)


def test_groups_that_are_trained_on_branch_as_the_builder_says():
    request = source({}).group_request(RequestGroups(1, 0, 1, None))
    assert (request.harness_params, request.granted) == ({"branches": 2, "repeats": 1}, [Granted(4)])


def test_a_step_is_planned_over_the_stored_pairs_of_its_graded_samples():
    group = both(group=5)
    masked = replace(group[0], index=2)
    stored = {"all": parts.encode([*group, masked])}
    scores: list[Any] = [1.0, 1.0, None]
    rows = [{"part": "all", "group_id": 5, "index": index, "score": score} for index, score in enumerate(scores)]
    planned = source(stored).plan(PlanStep(4, Choice([rows], [], {})))
    assert (planned.plan.n, planned.plan.builder, planned.plan.minibatches) == (4, "selskill", 2)
    [key] = planned.plan.parts
    batch = pack(planned.plan, parts.decode(stored[key]))
    assert batch.reward.tolist() == [1, 0, 1, 0]
    version = planned.version
    assert version is not None
    assert (version.name, version.number, len(version.items), version.warning) == ("pairs", 4, 2, None)
    assert {item[side]["index"] for item in version.items for side in ("chosen", "rejected")} == {0, 1}
    assert (version.metrics["pairs/step"], planned.metrics["reward/mean"]) == (2, 0.5)
