import pytest
import torch

from benchmarks import step_parts
from benchmarks.step_parts import PARTS, PRESETS, Workload, summary
from hone.models import toy
from hone.models.checkpoint import Checkpoint
from hone.models.policy import Policy
from services.learner.trainer.learner import Learner


@pytest.mark.parametrize("preset", PRESETS)
def test_the_parts_together_are_the_step_that_a_learner_takes(preset: str) -> None:
    files, workload = toy.files(), Workload.drawn(groups=3)
    checkpoint, plan = Checkpoint.from_files(files), workload.plan(preset)
    policy = Policy(checkpoint.architecture, checkpoint.tensors)
    seconds = step_parts.step(policy, plan, workload.trajectories)
    learner = Learner.create(files, {"lr": 1e-3}, token_budget=4096)
    learner.forward_backward(plan, workload.trajectories)
    for name, parameter in policy.trained.items():
        torch.testing.assert_close(parameter.grad, learner.models.policy.trained[name].grad, rtol=1e-4, atol=1e-7)
    assert seconds.keys() == set(PARTS)
    assert all(seconds[part] > 0 for part in ("step_weights", "loss", "model"))


def test_medians_and_the_share_of_the_model() -> None:
    steps = [{"forwards": 0.0, "step_weights": 0.1, "loss": 0.3, "model": model} for model in (9.0, 4.0, 5.0)]
    assert summary(steps) == {
        "forwards_s": 0.0, "step_weights_s": 0.1, "loss_s": 0.3, "model_s": 5.0, "share": pytest.approx(0.08)}
