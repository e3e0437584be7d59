"""Every metric that a run records has its words: tiny steps of every preset that runs, and the driver's metrics."""

from random import Random
from typing import Any

import pytest

from hone.algorithms import presets
from hone.algorithms.self_verify import ItemInputs, SelfVerify, build_verification_items
from hone.algorithms.slots import needs
from hone.client.metric_catalog import known
from hone.trajectory.plan import Collected, by_kind
from services.learner.driver.evaluation import accuracies
from services.learner.driver.operations import step_operations
from services.learner.driver.planning import choose, rollout_plan
from services.learner.driver.verification import judged
from tests.support.learner import critics
from tests.support.learner.learners import learner
from tests.support.learner.samples import sample, slots, spec
from tests.unit.trajectory.samples import of_kinds, random_episodes, with_context, with_proposals, with_teacher

RUNNING = sorted(name for name in presets.PRESETS if presets.unmet(name) is None)
BESIDE = {
    "context distillation": {"regularizers": [{"name": "context_distillation"}]},
    "kl and entropy": {"regularizers": [{"name": "kl", "params": {"coefficient": 0.1}}, {"name": "entropy"}]},
    "icepop": {"correction": {"name": "icepop"}}, "masked": {"correction": {"name": "masked"}},
    "bypass": {"correction": {"name": "bypass"}}, "dual clip": {"loss": {"name": "dual_clip"}},
    "running mean": {"advantage": {"name": "reinforce", "params": {"baseline": "running_mean"}}},
    "teacher in the loss": {"preset": "scope", "advantage": {"name": "scope", "params": {"teacher_path": "in_loss"}}},
    "likeliest ids in the loss": {
        "preset": "scope", "advantage": {"name": "scope", "params": {"teacher_path": "in_loss_top_k"}}},
}
"""Methods that no preset has by itself."""


def recorded(algorithm):
    """Return the names of the metrics of a step of two updates, of its data and of its training."""
    step, trajectories = random_episodes(samples=2, algorithm=algorithm)
    step = with_proposals(step).model_copy(update={"minibatches": 2, "teacher": "model"})
    trajectories = of_kinds(step, trajectories)
    trained = critics.learner() if "values" in needs(step.slots, "advantage") else learner()
    trajectories, names = with_context(with_teacher(trajectories)), set()
    for update in range(step.updates):
        names |= trained.forward_backward(step, trajectories, update=update).keys()
        names |= trained.optim_step(step.lr, step.clip_norm).keys()
    return names | {"lr", *(f"trainer/{payload.kind}_s" for _, payload in step_operations("run_a", step))}


def unnamed(names):
    return sorted(name for name in names if known(name) is None)


@pytest.mark.parametrize("preset", RUNNING)
def test_what_a_preset_records_has_words(preset):
    assert unnamed(recorded({"preset": preset})) == []


@pytest.mark.parametrize("name", sorted(BESIDE))
def test_what_other_methods_record_has_words(name):
    assert unnamed(recorded(BESIDE[name])) == []


@pytest.mark.parametrize("kind", ["generate", "verify"])
@pytest.mark.parametrize("algorithm", [{}, {"filter": {"name": "length_band"}}, {"preset": "dapo"}])
def test_metrics_of_a_steps_data_have_words(algorithm, kind):
    rows = [sample(101 + group, index, float(index)) for group in range(2) for index in range(2)]
    chosen = slots(**algorithm)
    _, metrics = rollout_plan(spec(), chosen, 2, choose(rows, chosen, 2, {}), lambda _: {})
    assert unnamed(by_kind(kind, metrics)) == []
    assert len(metrics) > 8


def test_metrics_of_judgements_have_words():
    step, _ = random_episodes()
    _, of_verdicts = judged(step, {}, Collected(name="verification", version=1, items=[]), [])
    _, _, of_items = build_verification_items(ItemInputs([], Random(0)), SelfVerify(), {})
    names = by_kind("verify", {**of_verdicts, **of_items, "buffered_items": 0.0})
    assert unnamed(names) == []
    assert {"verify/verdict_accuracy", "verify/items"} <= names.keys()


def test_metrics_of_an_evaluation_have_words():
    rows: list[dict[str, Any]] = [{"series": "greedy", "task_hash": "a", "source": "s", "score": 1.0},
                                  {"series": "sampled", "task_hash": "a", "source": "s", "score": None}]
    assert unnamed(accuracies(rows, [], ["s"])) == []


def test_metrics_of_sources_have_words():
    rows = [sample(101 + group, index, float(index), source="ab"[group]) for group in range(2) for index in range(2)]
    made = spec(task={"mixture": [{"name": name, "weight": 1, "environment": "sort_digits"} for name in "ab"]})
    _, metrics = rollout_plan(made, slots(), 2, choose(rows, slots(), 2, {}), lambda _: {})
    assert unnamed(metrics) == []
    assert "source/a/reward/pass_rate" in metrics


STEP = {"loss", "entropy", "grad_norm", "trained_tokens", "trained/mask_share", "advantage/zero_share",
        "loss/ratio_p05", "loss/ratio_p50", "loss/ratio_p95"}
"""Metrics of every step that samples answers."""


@pytest.mark.parametrize(("algorithm", "expected"), [
    ({"preset": "dapo"}, {"loss/clip_fraction", "advantage/zero_variance_groups", "correction/truncated_fraction"}),
    ({"preset": "sapo"}, {"loss/gate_mean"}),
    ({"preset": "ppo"}, {"critic/loss", "critic/value_mean", "critic/explained_variance", "critic/grad_norm"}),
    ({"preset": "dynamo"}, {"modulation/compensation_mean", "modulation/stabilisation_mean"}),
    ({"preset": "scope"}, {"loss/teacher_path/clip_fraction"}),
    (BESIDE["teacher in the loss"], {"loss/teacher_path/teacher_distance", "loss/teacher_path/stopped_fraction"}),
    ({"preset": "sdar"}, {"regularizers/kl.0/mean", "regularizers/sdar.1/gate"}),
    (BESIDE["kl and entropy"], {"regularizers/kl.0/mean", "regularizers/entropy.1/mean"}),
])
def test_every_term_has_metrics_of_its_own(algorithm, expected):
    assert recorded(algorithm) >= STEP | expected
