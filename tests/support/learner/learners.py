"""Learners of a small model, and their gradients."""

import os
import subprocess
import sys

import torch

from hone.models import toy
from services.learner.trainer.learner import Learner
from tests.unit.trajectory.samples import random_step

OPTIMIZER = {"lr": 1e-3, "weight_decay": 0.01}
RUNNING_MEAN = {"advantage": {"name": "reinforce", "params": {"baseline": "running_mean"}}}
KL = {"regularizers": [{"name": "kl", "params": {"coefficient": 0.1}}]}


def learner(token_budget=10_000, critic=None, threads=1, **changes):
    files = toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64)
    return Learner.create(files, {**OPTIMIZER, **changes}, token_budget=token_budget, critic=critic, threads=threads)


def gradient(step, token_budget=10_000, critic=None):
    trained = learner(token_budget, critic)
    metrics = trained.forward_backward(*step)
    return metrics, {name: tensor.grad for name, tensor in trained.models.policy.trained.items()}


def train(trained, steps, algorithm=None, first=0):
    for number in range(first, first + steps):
        trained.forward_backward(*random_step(seed=number, algorithm=algorithm))
        trained.optim_step(1e-3, 1.0)
    return trained


def assert_equal_gradients(left, right):
    for name, tensor in left.items():
        torch.testing.assert_close(tensor, right[name], atol=1e-7, rtol=1e-4, msg=name)


def digests(kind):
    """Digests of what is trained with 1, 2 and 5 threads.

    In a process of its own: the variable that keeps sums from depending on addresses is read at import.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_CBWR": "AUTO,STRICT"}
    ended = subprocess.run([sys.executable, "-m", "tests.unit.learner.bits", kind, "1", "2", "5"], env=environment,
                           text=True, capture_output=True, check=True)
    return ended.stdout.split()
