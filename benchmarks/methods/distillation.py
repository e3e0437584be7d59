"""16 contexts of 32 tokens and a teacher for each: does a student that likes what the teacher dislikes find it?

Everything is tabular. A run starts once from a weak and once from a strong student; the curve is the weak one's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.algorithms.catalogue import ADVANTAGES, LOSSES, REGULARIZERS
from hone.algorithms.inputs import AdvantageInputs, LossInputs, RegularizerInputs, Support

CONTEXTS, TOKENS, SAMPLES, STEPS, RATE, KEPT = 16, 32, 4, 300, 4.0, 4


@dataclass(frozen=True)
class Filling:
    """An advantage, and the terms beside the loss."""

    advantage: str
    regularizers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


FILLINGS: Mapping[str, Filling] = {
    "opd": Filling("opd"),
    "aopd": Filling("aopd", {"local_divergence": {}}),
    "positive only": Filling("aopd"),
}


@cache
def run(variant: str, seed: int) -> Outcome:
    """Train both students; figures are their distance to the teacher and their entropy, nats."""
    generator = torch.Generator().manual_seed(seed)
    teacher = (3 * _normal(generator)).log_softmax(1)
    weak, curve = _train(-0.5 * teacher + 0.5 * _normal(generator), teacher, FILLINGS[variant], generator)
    strong, _ = _train(teacher + _normal(generator), teacher, FILLINGS[variant], generator)
    return Outcome({
        "weak kl": _distance(teacher, weak), "weak favourite": _favourite(teacher, weak),
        "strong kl": _distance(teacher, strong), "strong entropy": -float((strong.exp() * strong).sum(1).mean()),
    }, curve)


def _normal(generator: torch.Generator) -> Tensor:
    return torch.randn(CONTEXTS, TOKENS, generator=generator, dtype=torch.float64)


def _train(start: Tensor, teacher: Tensor, filling: Filling, generator: torch.Generator) -> tuple[Tensor, list[float]]:
    """Return the student's log-probabilities after the last step, and its distance before each."""
    logits, curve = start.clone().requires_grad_(), []
    for _ in range(STEPS):
        student = logits.detach().log_softmax(1)
        curve.append(_distance(teacher, student))
        tokens = torch.multinomial(student.exp(), SAMPLES, replacement=True, generator=generator)
        gradient, = torch.autograd.grad(_loss(logits.log_softmax(1), tokens, teacher, filling), logits)
        with torch.no_grad():
            logits -= RATE * gradient
    return logits.detach().log_softmax(1), curve


def _loss(student: Tensor, tokens: Tensor, teacher: Tensor, filling: Filling) -> Tensor:
    """Return the token-mean of the policy loss and of what is beside it, on tokens [CONTEXTS, SAMPLES]."""
    logp, word = student.gather(1, tokens).flatten(), teacher.gather(1, tokens).flatten()
    old = logp.detach()
    loss, _, _ = LOSSES["ppo_clip"](LossInputs(logp, old, _advantage(filling.advantage, old, word)), {}, {})
    support = _support(student, teacher) if filling.regularizers else None
    read = RegularizerInputs(logp, logp_old=old, logp_teacher=word, support=support)
    for name, params in filling.regularizers.items():
        loss = loss + REGULARIZERS[name](read, params, {})[0]
    return loss.mean()


def _advantage(name: str, old: Tensor, word: Tensor) -> Tensor:
    nothing, each = np.zeros(len(old)), np.ones(len(old), np.int64)
    values, _, _ = ADVANTAGES[name](AdvantageInputs(
        nothing, np.arange(len(old)), each, nothing, logp_old=old.numpy(), logp_teacher=word.numpy()), {}, {})
    return torch.from_numpy(np.asarray(values))


def _support(student: Tensor, teacher: Tensor) -> Support:
    """Return both distributions on the teacher's likeliest tokens, once for each sample."""
    order = teacher.argsort(dim=1, descending=True)
    inside, outside = order[:, :KEPT], order[:, KEPT:]
    parts = teacher.gather(1, inside), student.gather(1, inside), student.gather(1, outside).logsumexp(1)
    return Support(*(part.repeat_interleave(SAMPLES, dim=0) for part in parts))


def _distance(teacher: Tensor, student: Tensor) -> float:
    return float((teacher.exp() * (teacher - student)).sum(1).mean())


def _favourite(teacher: Tensor, student: Tensor) -> float:
    return float(student.exp().gather(1, teacher.argmax(1, keepdim=True)).mean())


AOPD = Experiment(
    "aopd.md (b)", "Does imitation where the teacher disagrees free a weak student?", "weak student's KL, nats",
    ("opd", "aopd", "positive only"), run,
    (Expectation("weak-start KL of aopd < 0.25 x opd", lambda m: m["aopd"]["weak kl"] < 0.25 * m["opd"]["weak kl"]),
     Expectation("strong-start KL within 0.05 nats",
                 lambda m: abs(m["aopd"]["strong kl"] - m["opd"]["strong kl"]) < 0.05),
     Expectation("entropy of aopd >= opd at strong start",
                 lambda m: m["aopd"]["strong entropy"] >= m["opd"]["strong entropy"])),
    seeds=5)
