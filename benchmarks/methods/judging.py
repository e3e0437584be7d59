"""A bilinear world of questions and answers: does judging one's answers teach to find them? Self-verify.

A question q has 8 dimensions and 6 answers e_a; the right one is argmax q W* e_a. One policy, two tasks with the same
W: answers ~ softmax(1.5 q W e_a), and P(Yes) = sigmoid(k (q W e_a + q u) - b), whose k, u and b only judging reads.
"""

from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from benchmarks.methods.verdicts import VerdictInputs, VerdictRewardParams, verdict_reward
from hone.algorithms.catalogue import ADVANTAGES, LOSSES
from hone.algorithms.inputs import AdvantageInputs, LossInputs
from hone.algorithms.method import State
from hone.algorithms.self_verify import (
    GenerationGroup,
    ItemInputs,
    ItemParams,
    PhaseInputs,
    PhaseParams,
    build_verification_items,
    phases,
)
from hone.environments.verdict_form import Label

DIMENSIONS, ANSWERS, PROMPTS, ROLLOUTS, STEPS, EVERY = 8, 6, 16, 8, 300, 10
SHARPNESS, ANSWER_RATE, VERDICT_RATE, TESTS, START = 1.5, 0.15, 1.0, 2000, 0.1
CLIP = {"low": 0.2, "high": 0.28, "floor": 10.0}
TEXTS = ("\\boxed{No}", "\\boxed{Yes}")

Item: TypeAlias = tuple[int, int, Label, float]
"""Question, answer, what the verdict should be, pass rate."""


@dataclass
class World:
    """Questions of all steps, then those of the test; and the policy."""

    generator: torch.Generator
    questions: Tensor = field(init=False)  # [N, DIMENSIONS]
    answers: Tensor = field(init=False)  # [DIMENSIONS, ANSWERS]
    right: Tensor = field(init=False)  # [N]
    policy: dict[str, Tensor] = field(init=False)

    def __post_init__(self) -> None:
        """Draw the world and a policy that knows next to nothing."""
        self.questions = self._normal(STEPS * PROMPTS + TESTS, DIMENSIONS)
        self.answers = self._normal(DIMENSIONS, ANSWERS) / DIMENSIONS ** 0.5
        self.right = (self.questions @ self._normal(DIMENSIONS, DIMENSIONS) @ self.answers).argmax(1)
        self.policy = {"w": START * self._normal(DIMENSIONS, DIMENSIONS), "k": torch.ones(()),
                       "u": START * self._normal(DIMENSIONS), "b": torch.zeros(())}
        for values in self.policy.values():
            values.requires_grad_()

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator)

    def said(self, asked: Tensor) -> Tensor:
        """Return log-probabilities of the answers, [n, ANSWERS], to the questions of these numbers."""
        return (SHARPNESS * self.questions[asked] @ self.policy["w"] @ self.answers).log_softmax(1)

    def judged(self, asked: Tensor) -> Tensor:
        """Return the logit of Yes for each answer, [n, ANSWERS]."""
        q, policy = self.questions[asked], self.policy
        return policy["k"] * (q @ policy["w"] @ self.answers + (q @ policy["u"])[:, None]) - policy["b"]

    def descend(self, logp: Tensor, reward: list[float], rate: float) -> None:
        """Take one step on groups of samples, [groups, ROLLOUTS], with GRPO's advantage."""
        scores, group = np.array(reward), np.repeat(np.arange(len(logp)), ROLLOUTS)
        inputs = AdvantageInputs(scores, group, np.ones(len(group), np.int64), np.full(len(group), np.nan))
        advantage = torch.from_numpy(np.asarray(ADVANTAGES["grpo"](inputs, {}, {})[0])).float()
        flat = logp.flatten()
        loss = LOSSES["dual_clip"](LossInputs(flat, flat.detach(), advantage), CLIP, {})[0].mean()
        gradients = torch.autograd.grad(loss, list(self.policy.values()), allow_unused=True)
        with torch.no_grad():
            for values, gradient in zip(self.policy.values(), gradients, strict=True):
                if gradient is not None:
                    values.sub_(rate * gradient)


@cache
def run(mode: str, seed: int) -> Outcome:
    """Train for 300 steps in a mode of the schedule; measure on fresh questions."""
    world, random, curve = World(torch.Generator().manual_seed(seed)), Random(seed), []
    state: State = {}
    start = _measured(world)
    for step in range(1, STEPS + 1):
        state = _step(world, mode, step, random, state)
        if step % EVERY == 0:
            curve.append(_measured(world)[0])
    answers, verdicts = _measured(world)
    return Outcome({"generation accuracy": answers, "verdict accuracy": verdicts,
                    "generation at start": start[0], "verdicts at start": start[1]}, curve)


def _step(world: World, mode: str, step: int, random: Random, state: State) -> State:
    asked = torch.arange((step - 1) * PROMPTS, step * PROMPTS)
    logp = world.said(asked)
    drawn = torch.multinomial(logp.detach().exp(), ROLLOUTS, replacement=True, generator=world.generator)
    outcomes = (drawn == world.right[asked, None]).float()
    inputs = PhaseInputs(step, PROMPTS, _items(asked, drawn, outcomes, random), random)
    updates, state, _ = phases(inputs, PhaseParams.model_validate({"mode": mode}), state)
    for update in updates:
        if update.generation:
            world.descend(logp.gather(1, drawn), outcomes.flatten().tolist(), ANSWER_RATE)
        if update.items:
            _judge(world, update.items)
    return state


def _items(asked: Tensor, drawn: Tensor, outcomes: Tensor, random: Random) -> list[Item]:
    valid = [True] * ROLLOUTS
    groups = [GenerationGroup(place, f"question {number}", [str(answer) for answer in drawn[place].tolist()],
                              outcomes[place].tolist(), valid) for place, number in enumerate(asked.tolist())]
    items, _, _ = build_verification_items(ItemInputs(groups, random), ItemParams(), {})
    return [(int(asked[group]), int(drawn[group, place]), item.label, item.rho)
            for item in items for group, place in [item.source]]


def _judge(world: World, items: list[Item]) -> None:
    """Roll out eight verdicts on each item, and take one step."""
    asked, answer = torch.tensor([item[0] for item in items]), torch.tensor([item[1] for item in items])
    logit = world.judged(asked).gather(1, answer[:, None]).expand(-1, ROLLOUTS)
    yes = torch.rand(logit.shape, generator=world.generator) < logit.detach().sigmoid()
    texts = [TEXTS[said] for said in yes.flatten().tolist()]
    repeated = [item for item in items for _ in range(ROLLOUTS)]
    verdicts = VerdictInputs(texts, [item[2] for item in repeated], [item[3] for item in repeated], [1] * len(texts))
    reward, _, _ = verdict_reward(verdicts, VerdictRewardParams(), {})
    world.descend(torch.nn.functional.logsigmoid(logit.where(yes, -logit)), [float(each or 0) for each in reward],
                  VERDICT_RATE)


@torch.no_grad()
def _measured(world: World) -> tuple[float, float]:
    """Return the expected accuracy of answers, and of verdicts on own answers, right and wrong ones counting half."""
    asked = torch.arange(STEPS * PROMPTS, STEPS * PROMPTS + TESTS)
    p, yes = world.said(asked).exp(), world.judged(asked).sigmoid()
    right = torch.nn.functional.one_hot(world.right[asked], ANSWERS)
    kept, caught = (p * right * yes).sum() / (p * right).sum(), (p * (1 - right) * (1 - yes)).sum()
    return float((p * right).sum(1).mean()), float((kept + caught / (p * (1 - right)).sum()) / 2)


SELF_VERIFY = Experiment(
    "self-verify.md (b)", "Does judging one's own answers teach to find them?", "generation accuracy",
    ("generate", "self_verify", "verify_alter"), run,
    (Expectation("generate-only verdict accuracy < .62", lambda m: m["generate"]["verdict accuracy"] < 0.62),
     Expectation("verify-only generation > .6", lambda m: m["self_verify"]["generation accuracy"] > 0.6),
     Expectation("alternating >= generate-only in generation",
                 lambda m: m["verify_alter"]["generation accuracy"] >= m["generate"]["generation accuracy"]),
     Expectation("alternating >= generate-only in verdicts",
                 lambda m: m["verify_alter"]["verdict accuracy"] >= m["generate"]["verdict accuracy"])),
    seeds=8)
