"""`python -m tests.unit.learner.bits THREADS`: the digest of weights after a few steps cut small."""

import hashlib
import sys

import torch

from hone.models import toy
from services.learner.trainer.learner import Learner
from tests.unit.trajectory.samples import random_step


def digest(threads: int) -> str:
    """Train three steps of several micro-batches each and return the sha256 of the weights."""
    files = toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64)
    trained = Learner.create(files, {"lr": 1e-3}, token_budget=40, threads=threads)
    for number in range(3):
        trained.forward_backward(*random_step(seed=number))
        trained.optim_step(1e-3, 1.0)
    return hashlib.sha256(trained.weights()).hexdigest()


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(digest(int(sys.argv[1])))
