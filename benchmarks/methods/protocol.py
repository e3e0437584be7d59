"""A four-phase protocol as three choices: explore a database, propose its schema, write the query.

The spec leaves four things open. Here the questions share one policy, an exploration that saw too `few` tables makes
any proposal wrong, a query is paid 0.2 where it is not right but the proposal is not wrong, and the rate of 0.3 is
that of one choice, whose share in a row's mean is a third: of 0.3, 0.9, 1.5 and 2.4 the one that fits the spec best;
the directions hold at all four. Figures are exact.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.algorithms.aggregations import AggregationInputs
from hone.algorithms.catalogue import ADVANTAGES, AGGREGATIONS
from hone.algorithms.inputs import AdvantageInputs, Floats, Ints, Track

GROUPS, SIZE, STEPS, EARLY = 8, 8, 150, 40
ROWS, CHOICES, BEFORE_PROPOSED = GROUPS * SIZE, 3, 2
RATE = 0.3 * CHOICES
GROUP = np.repeat(np.arange(GROUPS), SIZE)
START = (np.zeros(3), np.array([-1.0, 1.0, 0.0]), np.zeros(6))  # few, right, dump; exact, superset, wrong; six queries
SUCCESS = 0.9 * np.array([1.0, 0.7, 0.0])
FEW, EXACT, WRONG, RIGHT = 0, 0, 2, 0
FORMAT, RUNS, MIXED = 0.1, 0.2, 0.25
WEIGHTS = {"single track": 0.0, "dual 0.25": 0.25, "dual 0.5": 0.5, "dual 1": 1.0}  # lambda


@dataclass(frozen=True)
class Rewards:
    """What each row was paid for its query and its proposal."""

    executed: Floats
    schema: Floats


@cache
def run(variant: str, seed: int) -> Outcome:
    """Train on-policy; success and P(exact) at the end, P(exact) after 40 steps."""
    generator, logits, curve = np.random.default_rng(seed), list(START), []
    for _ in range(STEPS):
        chances = [_softmax(phase) for phase in logits]
        chosen = np.column_stack([generator.choice(len(p), size=ROWS, p=p) for p in chances])
        pull = _pull(_tracks(variant, _paid(chosen, generator)))
        logits = [phase + RATE * (pull[:, k] @ (np.eye(len(phase))[chosen[:, k]] - chances[k]))
                  for k, phase in enumerate(logits)]
        curve.append(float(_softmax(logits[1])[EXACT]))
    return Outcome({"success": _success(logits), "exact": curve[-1], "exact at 40": curve[EARLY - 1]}, curve)


def _paid(chosen: Ints, generator: np.random.Generator) -> Rewards:
    explored, proposed, query = chosen.T
    seen = np.where(explored == FEW, WRONG, proposed)
    succeeded = (query == RIGHT) & (generator.random(ROWS) < SUCCESS[seen])
    executed = np.where(succeeded, 1.0, np.where(seen == WRONG, 0.0, RUNS))
    return Rewards(executed, (seen == EXACT).astype(np.float64))


def _tracks(variant: str, paid: Rewards) -> list[Track]:
    """Return the parts of the loss; `mixed` is GRPO on one sum of all three rewards."""
    before = np.tile(np.arange(CHOICES) < BEFORE_PROPOSED, ROWS)
    mixed = paid.executed + FORMAT + MIXED * np.where(paid.executed == 1, paid.schema, 0.0)
    parts = {"exec": paid.executed, "fmt": np.full(ROWS, FORMAT), "schema": paid.schema}
    inputs = AdvantageInputs(mixed, GROUP, np.full(ROWS, CHOICES), np.full(ROWS, np.nan),
                             components=parts, spans={"schema": before})
    if variant == "mixed scalar":
        values, _, _ = ADVANTAGES["grpo"](inputs, {"std_ddof": 0}, {})
        return [Track("full", np.asarray(values), np.ones_like(before))]
    found, _, _ = ADVANTAGES["dual_track"](inputs, {"schema_weight": WEIGHTS[variant]}, {})
    return [track for track in found if isinstance(track, Track)]


def _pull(tracks: list[Track]) -> Floats:
    """Return what each choice's log-probability is pulled with, [ROWS, CHOICES]: every track over its own tokens."""
    pull = np.zeros((ROWS, CHOICES))
    for track in tracks:
        counted = track.counts.reshape(ROWS, CHOICES)
        weights, _, _ = AGGREGATIONS["seq-mean-token-mean"](AggregationInputs(counted.sum(axis=1), CHOICES), {}, {})
        pull += track.weight * weights[:, None] * counted * track.advantage.reshape(ROWS, CHOICES)
    return pull


def _success(logits: list[Floats]) -> float:
    explore, propose, query = (_softmax(phase) for phase in logits)
    return float((1 - explore[FEW]) * (propose @ SUCCESS) * query[RIGHT])


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max())
    chances: Floats = weights / weights.sum()
    return chances


DUAL_TRACK = Experiment(
    "trust-sql.md (b) (i)", "Does a track of its own teach the policy to propose the exact schema?", "P(exact)",
    ("single track", "mixed scalar", "dual 0.25", "dual 0.5", "dual 1"), run,
    (Expectation("dual > single in success", lambda m: m["dual 0.25"]["success"] > m["single track"]["success"]),
     Expectation("dual > single in P(exact)", lambda m: m["dual 0.25"]["exact"] > m["single track"]["exact"])),
    seeds=20)
