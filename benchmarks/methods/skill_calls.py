"""Four decisions to call a skill or not, by a policy that calls what looks relevant: which pairs teach it? SelSkill.

Features x ~ N(0, 1) in R^4; a skill is useful where x_1 > 0, but the first policy looks at x_0. A step succeeds with
.80 without a skill, .97 with a useful one and .55 with a harmful one; all four must, and a call costs one more step.
Over 16 seeds the variants' shares of harmful calls differ by no more than their spread: the order is weak evidence.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.algorithms.inputs import Flags, Floats, Ints, ModulationInputs
from hone.algorithms.modulations.selskill import SelskillParams, selskill
from hone.algorithms.preferences import WINDOW, Continuation, Verdict, balanced, episode_pairs, repeats, verdict
from hone.harnesses.branching import Candidate, branches

TURNS, FEATURES, TASKS, ROLLOUTS, BRANCHES = 4, 4, 150, 4, 2
ROUNDS, UPDATES, RATE, TESTS = 3, 60, 0.5, 20000
PARAMS = SelskillParams(beta=1.0)
PLAIN, USEFUL, HARMFUL = 0.80, 0.97, 0.55


@dataclass
class Pairs:
    """Decisions of a round's pairs, in the order in which the loss reads them."""

    features: list[Floats] = field(default_factory=list)  # [FEATURES] each
    called: list[bool] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)  # decisions of each side, the winner's first
    kind: list[str] = field(default_factory=list)  # of each side

    def add(self, features: Floats, won: Flags, lost: Flags, trained: Flags, local: bool) -> None:
        """Add a pair over the trained ones of an episode's turns; `won` and `lost` are the calls of either side."""
        for calls in (won, lost):
            self.features.extend(features[trained])
            self.called.extend(calls[trained].tolist())
            self.tokens.append(int(trained.sum()))
            self.kind.append("skip" if local else "answer")

    def weighed(self, logp: Floats, reference: Floats) -> Floats:
        """Return the weight of each decision's log-probability in the joint objective."""
        tokens: Ints = np.array(self.tokens)
        sides = np.arange(len(tokens))
        given = ModulationInputs(np.repeat(np.where(sides % 2 == 0, 1.0, -1.0), tokens), tokens, logp, reference,
                                 group=sides // 2, kind=self.kind)
        return selskill(given, PARAMS, {})[0]


@dataclass
class Caller:
    """A logistic policy, and the world in which it calls."""

    random: np.random.Generator
    weights: Floats = field(init=False)  # [FEATURES + 1], the last is the bias

    def __post_init__(self) -> None:
        """Start with a policy that calls what is relevant, useful or not."""
        self.weights = np.array([1.0] + [0.0] * (FEATURES - 1) + [0.7])

    def calls(self, features: Floats) -> Floats:
        """Return the probability of a call at each turn."""
        p: Floats = 1 / (1 + np.exp(-features @ self.weights[:-1] - self.weights[-1]))
        return p

    def play(self, features: Floats) -> tuple[Flags, Flags]:
        """Return which turns call and which succeed; `features` [..., TURNS, FEATURES]."""
        called = self.random.random(features.shape[:-1]) < self.calls(features)
        return called, self.succeeds(features, called)

    def succeeds(self, features: Floats, called: Flags) -> Flags:
        """Draw whether steps succeed."""
        drawn: Flags = self.random.random(called.shape) < chance(features, called)
        return drawn

    def descend(self, pairs: Pairs) -> None:
        """Take the round's steps on all of its pairs; the reference is the policy before them."""
        decided = np.column_stack([np.array(pairs.features), np.ones(len(pairs.called))])
        decided *= np.where(pairs.called, 1.0, -1.0)[:, None]
        reference = -np.logaddexp(0.0, -decided @ self.weights)
        for _ in range(UPDATES):
            logp = -np.logaddexp(0.0, -decided @ self.weights)
            slope = (1 - np.exp(logp))[:, None] * decided
            self.weights = self.weights + RATE * pairs.weighed(logp, reference) @ slope


def chance(features: Floats, called: Flags) -> Floats:
    """Return the chance that each step succeeds."""
    p: Floats = np.where(called, np.where(features[..., 1] > 0, USEFUL, HARMFUL), PLAIN)
    return p


@cache
def run(variant: str, seed: int) -> Outcome:
    """Train for three rounds on pairs of the variant's kinds; "start" stays untrained."""
    caller = Caller(np.random.default_rng(seed))
    curve = [_measured(caller)["success"]]
    for turn in range(ROUNDS if variant != "start" else 0):
        caller.descend(_pairs(caller, variant, seed * ROUNDS + turn))
        curve.append(_measured(caller)["success"])
    return Outcome(_measured(caller), curve)


def _measured(caller: Caller) -> dict[str, float]:
    """Return success, calls of an episode and the harmful share of calls, exact but for the features drawn."""
    features = np.random.default_rng(0).standard_normal((TESTS, FEATURES))
    p, every = caller.calls(features), np.ones(TESTS, np.bool_)
    step = p * chance(features, every) + (1 - p) * PLAIN
    harmful = float(p[features[:, 1] <= 0].sum() / p.sum())
    return {"success": float(step.mean()) ** TURNS, "calls": TURNS * float(p.mean()), "harmful share": harmful}


def _pairs(caller: Caller, variant: str, seed: int) -> Pairs:
    """Roll out a round's tasks and return the pairs of the variant's kinds."""
    pairs, steps = Pairs(), []
    for _ in range(TASKS):
        features = caller.random.standard_normal((TURNS, FEATURES))
        called, good = caller.play(np.broadcast_to(features, (ROLLOUTS, TURNS, FEATURES)))
        if variant != "local":
            _add_episodes(pairs, features, called, good)
        if variant != "global":
            steps += _branched(caller, features, called, good)
    kept = [steps[place] for place in balanced([step[0] for step in steps], seed)]
    for _, branch, features, won, lost in kept * repeats(len(pairs.kind) // 2, len(kept)):
        turn = np.arange(TURNS)
        pairs.add(features, won, lost, (turn >= branch) & (turn < branch + WINDOW), local=True)
    return pairs


def _add_episodes(pairs: Pairs, features: Floats, called: Flags, good: Flags) -> None:
    ended = [_ended(*episode) for episode in zip(called, good, strict=True)]
    for won, lost in episode_pairs(ended):
        pairs.add(features, called[won], called[lost], np.ones(TURNS, np.bool_), local=False)


def _ended(called: Flags, good: Flags) -> Continuation:
    return Continuation(bool(good.all()), len(called) + int(called.sum()))


def _branched(
    caller: Caller, features: Floats, called: Flags, good: Flags
) -> list[tuple[Verdict, int, Floats, Flags, Flags]]:
    """Return verdict, turn, features, winner's and loser's calls of a task's branches that have a winner."""
    p = caller.calls(features)
    entropy = (-p * np.log(p) - (1 - p) * np.log1p(-p)).tolist()
    candidates = [Candidate(episode, turn, entropy[turn], bool(called[episode, turn]))
                  for episode in range(ROLLOUTS) for turn in range(TURNS)]
    found: list[tuple[Verdict, int, Floats, Flags, Flags]] = []
    for chosen in branches(candidates, BRANCHES):
        before, at = good[chosen.episode, :chosen.turn], chosen.turn
        sides = [_continued(caller, features, at, invoked) for invoked in (True, False)]
        ends = [_ended(calls[at:], np.append(won[at:], before.all())) for calls, won in sides]
        decision, (invoke, skip) = verdict(*ends), (calls for calls, _ in sides)
        if decision != "discard":
            winner, loser = (invoke, skip) if decision == "invoke" else (skip, invoke)
            found.append((decision, at, features, winner, loser))
    return found


def _continued(caller: Caller, features: Floats, turn: int, invoked: bool) -> tuple[Flags, Flags]:
    """Play on from a turn that calls, or does not; what comes before it is not read."""
    called, _ = caller.play(features)
    called[turn] = invoked
    return called, caller.succeeds(features, called)


SELSKILL = Experiment(
    "selskill.md (b)", "Which pairs teach to call a skill only where it helps?", "success",
    ("start", "global", "local", "mixed"), run,
    (Expectation("mixed cuts the harmful share by more than global does",
                 lambda m: m["mixed"]["harmful share"] < m["global"]["harmful share"]),
     Expectation("local cuts the harmful share by more than global does",
                 lambda m: m["local"]["harmful share"] < m["global"]["harmful share"]),
     Expectation("mixed success >= each single one - .01",
                 lambda m: m["mixed"]["success"] >= max(m["global"]["success"], m["local"]["success"]) - 0.01),
     Expectation("every variant beats the start by .04",
                 lambda m: min(m[name]["success"] for name in ("global", "local", "mixed"))
                 >= m["start"]["success"] + 0.04)),
    seeds=5)
