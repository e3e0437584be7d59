"""`python -m tests.unit.learner.bits policy|critic THREADS…`: digests of weights after a few steps cut small."""

import hashlib
import sys

import numpy as np
import torch

from hone.models import toy
from hone.models.checkpoint import weights_bytes
from hone.models.ranks import ALONE
from hone.trajectory.packing import pack
from services.learner.trainer.critic import CriticTargets, TrainedCritic
from services.learner.trainer.forward import Forward
from services.learner.trainer.learner import Learner
from services.learner.trainer.metric_sums import MetricSums
from services.learner.trainer.snapshot import Start
from tests.unit.trajectory.samples import random_step


def digest(threads: int) -> str:
    """Train three steps of several micro-batches each and return the sha256 of the weights."""
    files = toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64)
    trained = Learner.create(files, {"lr": 1e-3}, token_budget=40, threads=threads)
    for number in range(3):
        trained.forward_backward(*random_step(seed=number))
        trained.optim_step(1e-3, 1.0)
    return hashlib.sha256(trained.weights()).hexdigest()


def critic_digest(threads: int) -> str:
    """Let a critic learn the rewards of three steps and return the sha256 of its weights."""
    start = Start.first(toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64), critic=True).snapshot
    assert start.critic is not None
    critic = TrainedCritic(start.critic, start.architecture, {"optimizer": {"lr": 1e-3}}, Forward(40, threads, ALONE))
    for number in range(3):
        batch = pack(*random_step(seed=number))
        targets = CriticTargets(np.repeat(batch.reward, batch.tokens), critic.values(batch))
        scale = torch.ones(int(batch.tokens.sum()))
        critic.learn(batch, np.ones(len(batch.rows), np.bool_), targets, scale, MetricSums())
        critic.clip()
        critic.step()
    return hashlib.sha256(weights_bytes(critic.trained().weights)).hexdigest()


if __name__ == "__main__":
    torch.set_num_threads(1)
    kind, *counts = sys.argv[1:]
    for count in counts:
        print({"policy": digest, "critic": critic_digest}[kind](int(count)))
