"""Chains of four positions whose policy is tabular: which of its own skills may teach a policy? SIRI.

Six task types, five actions, six turns; a wrong action stays where it is. A skill adds 3 to the logit of the action
that it hints at each position; one in 2.86 is garbage and hints wrong ones. Skills are drawn, not written, so that
types without a success have some too; KL to a reference is left out. The spec gives no rate: of 1, 3, 10, 20, 30 and 60
it is the one at which GiGPO alone ends near the spec's figure; below 10 nothing is learned in time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from benchmarks.methods.internalization import (
    InternalizationParams,
    SkillTestParams,
    Utility,
    accepted,
    best,
    coefficient,
    internalization,
    omega,
    utility,
)
from hone.algorithms.catalogue import ADVANTAGES
from hone.algorithms.inputs import AdvantageInputs, Flags, Floats, Ints
from hone.trajectory.turns import Turns

TYPES, POSITIONS, ACTIONS, HORIZON = 6, 4, 5, 6
WARMUP, UPDATES, GROUP, HALF, TASKS, RATE = 15, 25, 8, 4, 16, 30.0
HARD, BONUS, GARBAGE, CANDIDATES, TESTED = -1.2, 3.0, 0.35, 4, 8
TEST, ABSORBED = SkillTestParams(), InternalizationParams()
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Episodes:
    """B episodes, and their T turns in order."""

    reward: Floats  # [B], 1 where the end of the chain was reached
    group: Ints  # [B]
    guided: Flags  # [B], a skill was in the prompt
    owner: Ints  # [T], place of the turn's episode
    cell: Ints  # [T], what the policy saw: type * POSITIONS + position
    action: Ints  # [T]

    def only(self, kept: Flags) -> "Episodes":
        """Return the episodes that are kept."""
        turns = kept[self.owner]
        owner = (np.cumsum(kept) - 1)[self.owner[turns]]
        return Episodes(self.reward[kept], self.group[kept], self.guided[kept], owner,
                        self.cell[turns], self.action[turns])

    def advantage(self, estimator: str = "gigpo", params: Mapping[str, Any] = NOTHING) -> Floats:
        """Return an estimator's advantage of each turn, one token each."""
        ones, counts = np.ones(len(self.owner), np.int64), np.bincount(self.owner, minlength=len(self.reward))
        turns = Turns(self.owner, ones, np.zeros(len(ones)), self.cell, ("policy",) * len(ones))
        inputs = AdvantageInputs(self.reward, self.group, counts, np.full(len(counts), np.nan), turns=turns)
        values, _, _ = ADVANTAGES[estimator](inputs, params, {})
        return np.asarray(values)


@dataclass
class Agent:
    """The chain's right actions, and a policy over them."""

    random: np.random.Generator
    right: Ints = field(init=False)  # [TYPES, POSITIONS]
    logits: Floats = field(init=False)  # [TYPES, POSITIONS, ACTIONS]

    def __post_init__(self) -> None:
        """Draw the right actions; those of half the types are unlikely."""
        self.right = self.random.integers(ACTIONS, size=(TYPES, POSITIONS))
        self.logits = np.zeros((TYPES, POSITIONS, ACTIONS))
        hard = self.right[:TYPES // 2, :, None]
        np.put_along_axis(self.logits[:TYPES // 2], hard, HARD, axis=2)

    def play(self, kind: Ints, group: Ints, hints: Ints) -> Episodes:
        """Run episodes of these types, [B]; `hints` [B, POSITIONS] are the skills', -1 where there is none."""
        place, seen = np.zeros(len(kind), np.int64), []
        for _ in range(HORIZON):
            rows = np.flatnonzero(place < POSITIONS)
            action = self._act(kind[rows], place[rows], hints[rows, place[rows]])
            seen.append(np.stack([rows, kind[rows] * POSITIONS + place[rows], action]))
            place[rows] += action == self.right[kind[rows], place[rows]]
        turns = np.concatenate(seen, axis=1)
        owner, cell, action = turns[:, np.argsort(turns[0], kind="stable")]
        return Episodes((place == POSITIONS).astype(float), group, hints[:, 0] >= 0, owner, cell, action)

    def _act(self, kind: Ints, place: Ints, hint: Ints) -> Ints:
        logits = self.logits[kind, place] + BONUS * (np.arange(ACTIONS) == hint[:, None])
        noise = self.random.gumbel(size=logits.shape)
        chosen: Ints = (logits + noise).argmax(1)
        return chosen

    def descend(self, cell: Ints, action: Ints, weight: Floats, rate: float = RATE) -> None:
        """Take one step on -sum weight logp under the plain context; on a fresh batch no ratio is clipped."""
        flat = self.logits.reshape(-1, ACTIONS)
        p = _softmax(flat)[cell]
        gradient = np.zeros_like(flat)
        np.add.at(gradient, cell, weight[:, None] * (p - np.eye(ACTIONS)[action]))
        flat -= rate * gradient

    def success(self) -> float:
        """Return the exact success of the plain policy, averaged over types."""
        p = np.take_along_axis(_softmax(self.logits), self.right[..., None], axis=2)[..., 0]
        at = np.zeros((TYPES, POSITIONS + 1))
        at[:, 0] = 1
        for _ in range(HORIZON):
            moved = at[:, :-1] * p
            at[:, :-1] -= moved
            at[:, 1:] += moved
        return float(at[:, -1].mean())


@cache
def run(variant: str, seed: int) -> Outcome:
    """Warm up with GiGPO, then go on with it on as many episodes as the others, or distil what skills do."""
    agent = Agent(np.random.default_rng(seed))
    curve = [_practise(agent, GROUP) for _ in range(WARMUP)]
    warm = agent.success()
    if variant == "gigpo":
        curve += [_practise(agent, HALF) for _ in range(2 * UPDATES)]
        return Outcome({"success": agent.success(), "after warm-up": warm}, curve)
    hints, garbage = _candidates(agent)
    found = [{skill: _utility(agent, kind, hint) for skill, hint in enumerate(hints[kind])} for kind in range(TYPES)]
    kept = np.array([[accepted(one, TEST) for one in each.values()] for each in found])
    filtered = variant == "siri"
    skills = [hints[kind][best(found[kind], TEST)] if filtered else hints[kind] for kind in range(TYPES)]
    curve += [_internalize(agent, skills, filtered, update) for update in range(UPDATES)]
    return Outcome({"success": agent.success(), "after warm-up": warm, "good kept": float(kept[~garbage].mean()),
                    "garbage kept": float(kept[garbage].mean())}, curve)


def _softmax(logits: Floats) -> Floats:
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    normal: Floats = p / p.sum(axis=-1, keepdims=True)
    return normal


def _practise(agent: Agent, size: int) -> float:
    """Make an update of GiGPO on plain episodes; return the plain success."""
    kind = np.repeat(agent.random.integers(TYPES, size=TASKS), size)
    plain = agent.play(kind, np.repeat(np.arange(TASKS), size), np.full((len(kind), POSITIONS), -1))
    agent.descend(plain.cell, plain.action, plain.advantage() / len(plain.cell))
    return agent.success()


def _candidates(agent: Agent) -> tuple[Ints, Flags]:
    """Return the hints of every type's skills, [TYPES, CANDIDATES, POSITIONS], and which of them are garbage."""
    garbage = agent.random.random((TYPES, CANDIDATES)) < GARBAGE
    off = agent.random.integers(1, ACTIONS, size=(TYPES, CANDIDATES, POSITIONS))
    return (agent.right[:, None] + off * garbage[..., None]) % ACTIONS, garbage


def _utility(agent: Agent, kind: int, hint: Ints) -> Utility:
    """Run tasks of a type with the skill and without it."""
    tasks = np.arange(2 * TESTED) % TESTED
    hints = np.where((np.arange(2 * TESTED) < TESTED)[:, None], hint, -1)
    reward = agent.play(np.full(2 * TESTED, kind), tasks, hints).reward
    return utility(reward[:TESTED], reward[TESTED:])


def _internalize(agent: Agent, skills: list[Ints], filtered: bool, update: int) -> float:
    """Make an update of GiGPO on plain episodes and of L_int on guided ones; return the plain success."""
    kinds = agent.random.integers(TYPES, size=TASKS)
    hints = np.full((TASKS, GROUP, POSITIONS), -1)
    for task, kind in enumerate(kinds):
        if len(skills[kind]):
            hints[task, HALF:] = agent.random.choice(skills[kind], GROUP - HALF)
    both = agent.play(np.repeat(kinds, GROUP), np.repeat(np.arange(TASKS), GROUP), hints.reshape(-1, POSITIONS))
    plain = both.only(~both.guided)
    taught = _taught(both, filtered, coefficient(update, UPDATES, ABSORBED))
    agent.descend(np.concatenate([plain.cell, both.cell]), np.concatenate([plain.action, both.action]),
                  np.concatenate([plain.advantage() / len(plain.cell), taught]))
    return agent.success()


def _taught(both: Episodes, filtered: bool, factor: float) -> Floats:
    """Return the weight of -logp in L_int of each turn; unfiltered, every turn of a guided episode counts."""
    weight = omega(both.reward, both.group, both.guided, ABSORBED) if filtered else both.guided.astype(float)
    advantage = both.advantage() if filtered else np.ones(len(both.owner))
    track = internalization(weight, advantage, np.bincount(both.owner), factor, ABSORBED)
    taught: Floats = track.weight * track.advantage / max(1, track.counts.sum())
    return taught


SIRI = Experiment(
    "siri.md (b)", "Which of its own skills may teach a policy that is to do without them?", "success",
    ("gigpo", "unfiltered", "siri"), run,
    (Expectation("SIRI > GiGPO + .2", lambda m: m["siri"]["success"] > m["gigpo"]["success"] + 0.2),
     Expectation("SIRI >= unfiltered", lambda m: m["siri"]["success"] >= m["unfiltered"]["success"]),
     Expectation("garbage acceptance < 10 %", lambda m: m["siri"]["garbage kept"] < 0.1)),
    seeds=12)
