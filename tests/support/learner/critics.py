"""Learners with a critic."""

from hone.models import toy
from services.learner.trainer.learner import Learner
from tests.support.learner.learners import OPTIMIZER

FILES = toy.files(0, hidden=32, heads=2, head_dim=16, ffn=64)
CRITIC = {"optimizer": {"lr": 1e-2}, "clip": 0.2}


def learner(token_budget=10_000, **changes):
    return Learner.create(FILES, OPTIMIZER, token_budget=token_budget, critic=CRITIC, **changes)
