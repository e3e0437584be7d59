"""A synthetic world of merchants, `hone.audiences.world`: 60 merchants of 150 users, discounts of 0 to 25 %, to learn
from, 20 with 15 to 40 % to calibrate on, 21 with 25 to 45 % to predict. Errors are GSE in percent, against the true
rates. `drivers` has the spec's evidence: a logistic model of the four observable drivers, reasoner's share 0.3. `rules`
has the defaults: mined rules, and a share that falls with their support. Rules do not go on beyond the discounts of the
logs. The reasoner is a formula, not a model.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.audiences import accuracy, fitting, world
from hone.audiences.behaviour import Behaviour
from hone.audiences.columns import Floats
from hone.audiences.training import CalibrationGroup, FitParams, calibrate, groups, held_out, train

PARAMS = {"drivers": FitParams(drivers=list(world.DRIVERS), reasoner_share=0.3), "rules": FitParams()}


@dataclass(frozen=True)
class Rates:
    """True rates of the test groups, and those of each branch, [G, 1]."""

    true: Floats
    reasoned: Floats
    anchored: Floats
    fitted: Floats
    fused: Floats
    weight: float


def by_merchant(behaviour: Behaviour, values: Floats) -> Floats:
    """Return the mean [G, K] of values [N, K] for each merchant, by name."""
    return np.array([values[behaviour.merchants == one].mean(0) for one in sorted(set(behaviour.merchants.tolist()))])


@cache
def parts(seed: int) -> tuple[Behaviour, Behaviour, Behaviour]:
    """Return the world's merchants to learn from, to calibrate on and to predict."""
    habits = world.Habits.of(seed)
    return (world.behaviour(seed, "train", 60, (0.0, 0.25), habits),
            world.behaviour(seed, "calibration", 20, (0.15, 0.40), habits),
            world.behaviour(seed, "test", 21, (0.25, 0.45), habits))


@cache
def rates(evidence: str, seed: int) -> Rates:
    """Return what both branches and their fusion say of the test groups of a seed."""
    taught, known, asked = parts(seed)
    params = PARAMS[evidence].model_copy(update={"seed": seed})
    made = train(taught, params)

    def said(one: Behaviour) -> tuple[Floats, Floats]:
        q = world.reasoned(one.rows)[:, None]
        return by_merchant(one, made.anchored(one.encoded, q)), by_merchant(one, made.fitted(one.encoded))

    anchored, fitted = said(known)
    fusion = calibrate([CalibrationGroup(name, "", true, anchored[place], fitted[place], len(rows))
                        for place, (name, rows, true) in enumerate(groups(known))])
    assert fusion is not None
    anchored, fitted = said(asked)
    share = fusion.weights[0]
    true = world.probability(asked.rows, world.Habits.of(seed))[:, None]
    return Rates(by_merchant(asked, true), by_merchant(asked, world.reasoned(asked.rows)[:, None]), anchored, fitted,
                 share * anchored + (1 - share) * fitted, share)


@cache
def raw_boosting(seed: int) -> Floats:
    """Return what boosted trees without policies say of the test groups, [G, 1]."""
    taught, _, asked = parts(seed)
    params = FitParams(seed=seed)
    model = fitting.fit(taught.encoded, taught.outcomes[:, 0], held_out(taught, params), "boosting", seed)
    return by_merchant(asked, model.predict(asked.encoded)[:, None])


def _outcome(predicted: Floats, true: Floats, **more: Any) -> Outcome:
    errors = 100 * np.abs(predicted - true)[:, 0] / true[:, 0]
    return Outcome({"GSE %": accuracy.group_error(predicted, true), "MAE": float(np.abs(predicted - true).mean()),
                    **more}, sorted(errors.tolist()))


def run(variant: str, seed: int) -> Outcome:
    """Return the errors of a branch on the test groups."""
    if variant == "boosting":
        return _outcome(raw_boosting(seed), rates("drivers", seed).true)
    branch, _, evidence = variant.partition(", ")
    found = rates(evidence or "drivers", seed)
    predicted = {"reasoner": found.reasoned, "anchored": found.anchored, "boosting": found.fitted,
                 "fused": found.fused}[branch]
    return _outcome(predicted, found.true)


VARIANTS = ("reasoner", "boosting", "anchored, drivers", "boosting, drivers", "fused, drivers", "anchored, rules",
            "boosting, rules", "fused, rules")

AUDIENCES = Experiment(
    "pghs.md (b)", "How far are simulated rates of a group from its true rates, at discounts that nobody has tried?",
    "error of a group, %", VARIANTS, run,
    (Expectation("anchoring cuts the reasoner's error by at least 40 %",
                 lambda m: m["anchored, drivers"]["GSE %"] <= 0.6 * m["reasoner"]["GSE %"]),
     Expectation("policies at least halve the error of boosted trees",
                 lambda m: m["boosting, drivers"]["GSE %"] <= 0.5 * m["boosting"]["GSE %"]),
     Expectation("the fusion errs at most as much as either branch", lambda m: m["fused, drivers"]["GSE %"] <= min(
         m["anchored, drivers"]["GSE %"], m["boosting, drivers"]["GSE %"])),
     Expectation("the same for the fusion with mined rules", lambda m: m["fused, rules"]["GSE %"] <= min(
         m["anchored, rules"]["GSE %"], m["boosting, rules"]["GSE %"]))),
    seeds=5, across="group, by its error")
