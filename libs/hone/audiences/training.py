"""Makes a simulator of logged behaviour: who is held out for what, the policies, both models, and the calibration.

Reconstruction of arXiv 2604.15190, as the package says.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hone.audiences import fitting, fusion
from hone.audiences.behaviour import Behaviour
from hone.audiences.columns import Features, Floats
from hone.audiences.decision_policies import Condition
from hone.audiences.fitting import Kind
from hone.audiences.fusion import SHRINKAGE, Fusion
from hone.audiences.hypotheses import MOST_PAIRS
from hone.audiences.mining import MiningParams, mine
from hone.audiences.models import Model
from hone.audiences.reasoning import ReasonerSpec
from hone.audiences.simulator import Anchor, KnownUser, Simulator, inputs
from hone.spec.parameters import Strict
from hone.spec.problems import Invalid, Problem, one_of

MOST_OPEN = 4
"""Fits of a tenant that have not ended."""
MOST_USERS = 2000
"""Users that a simulator keeps to draw personas from."""


class FitParams(Strict):
    """How a simulator is made of behaviour."""

    mining: MiningParams = MiningParams()
    hypotheses: list[Condition] = Field([], max_length=200, description="Conditions that somebody proposes; their "
                                        "rates come from data.")
    pairs: int = Field(0, ge=0, le=MOST_PAIRS, description="Contrasted pairs of exposures of each step that the "
                       "reasoner reads to propose more conditions; 0: it proposes none.")
    worded: bool = Field(False, description="Whether the reasoner writes the rules' sentences; one that says something "
                         "else than its rule is not used.")
    drivers: list[str] = Field([], max_length=20, description="Numbers whose logistic model stands for the policies' "
                               "rates, so that these go on beyond the strategies of the logs.")
    model: Kind = Field("boosting", description="The fitted branch: boosting, or logistic.")
    held_out: float = Field(0.2, ge=0, lt=1, description="Share of training merchants for early stopping and "
                            "calibration of the model.")
    calibration: float = Field(0.25, ge=0, lt=1, description="Share of merchants that fit the weights of the fusion.")
    calibration_merchants: list[str] = Field([], max_length=10_000, description="These instead of a share.")
    strata: list[str] = Field([], max_length=4, description="Words of the merchant whose combinations get weights of "
                              "their own, such as merchant.category.")
    personas: int = Field(64, ge=1, le=1000, description="Users of a group about whom the reasoner is asked.")
    policies_shown: int = Field(6, ge=0, le=40, description="Policies that the reasoner reads of a persona, at most.")
    kappa: float = Field(50.0, gt=0, description="Support at which evidence and reasoner count the same.")
    reasoner_share: float | None = Field(None, ge=0, le=1, description="A constant weight of the reasoner beside the "
                                         "evidence, instead of one that falls with support.")
    shrinkage: float = Field(SHRINKAGE, ge=0, description="Users whose worth the common weight has in a stratum's.")
    seed: int = Field(0, ge=0, lt=2**31)


def expect_writer(params: FitParams, reasoner: ReasonerSpec | None) -> None:
    """Raise Invalid for parameters that need a reasoner who can write, where there is none."""
    if reasoner is not None and reasoner.judge is not None:
        return
    if wrong := [Problem(f"params.{name}", str(value), f"{none}, or a reasoner that is a judge or a model")
                 for name, value, none in (("pairs", params.pairs, "0"), ("worded", params.worded, "false")) if value]:
        raise Invalid(wrong)


@dataclass(frozen=True)
class CalibrationGroup:
    """A merchant whose rate is known, with what both branches say of it."""

    merchant: str
    stratum: str
    rates: Floats  # [K]
    reasoned: Floats  # [K]
    fitted: Floats  # [K]
    users: int


def parts(behaviour: Behaviour, params: FitParams) -> tuple[Behaviour, Behaviour]:
    """Return the rows of the training merchants, and those of the merchants for the fusion.

    Raises Invalid for a named merchant that has no rows, and where no merchant is left for training.
    """
    known = sorted(set(behaviour.merchants.tolist()))
    if strange := [one for one in params.calibration_merchants if one not in known]:
        raise Invalid([Problem("calibration_merchants", repr(strange[0]), one_of(strange[0], known[:50]))])
    drawn = np.random.default_rng([params.seed, 3]).permutation(len(known))
    count = int(params.calibration * len(known))
    chosen = params.calibration_merchants or [known[place] for place in drawn[:count]]
    held = np.isin(behaviour.merchants, chosen)
    if held.all():
        raise Invalid([Problem("calibration_merchants", "every merchant", "some that are left to be fitted to")])
    return behaviour.of(~held), behaviour.of(held)


def train(behaviour: Behaviour, params: FitParams) -> Simulator:
    """Return both branches of training rows; the reasoner and the fusion come after. Raises Invalid."""
    _expect_fields(behaviour, params)
    policies = mine(behaviour, params.mining, params.hypotheses, params.seed)
    kept = held_out(behaviour, params)
    drivers = _driver_models(behaviour, params)
    made = Simulator(
        behaviour.columns, policies, (), _users(behaviour, params.seed), _ranges(behaviour), drivers,
        Anchor(params.kappa, params.reasoner_share), tuple(one.partition(".")[2] for one in params.strata),
        params.policies_shown)
    rates, _ = made.evidence(behaviour.encoded)
    models = tuple(fitting.fit(rows, behaviour.outcomes[:, place], kept, params.model, params.seed)
                   for place, rows in enumerate(inputs(behaviour.encoded, policies, rates)))
    return Simulator(**{**vars(made), "models": models})


def without_policies(behaviour: Behaviour, params: FitParams) -> tuple[Model, ...]:
    """Return the fitted branch as it is without policies and evidence: a model of the features alone for each step.

    It is what the policies are compared with.
    """
    kept = held_out(behaviour, params)
    return tuple(fitting.fit(behaviour.encoded, outcome, kept, params.model, params.seed)
                 for outcome in behaviour.outcomes.T)


def groups(behaviour: Behaviour) -> list[tuple[str, list[Features], Floats]]:
    """Return the exposures and the rates [K] of each merchant, by its name."""
    return [(name, list(own.rows), own.outcomes.mean(0)) for name in sorted(set(behaviour.merchants.tolist()))
            for own in [behaviour.of(behaviour.merchants == name)]]


def calibrate(found: Sequence[CalibrationGroup], shrinkage: float = SHRINKAGE) -> Fusion | None:
    """Return the weights of the fusion, or None where no group has a reasoned rate."""
    if not found:
        return None
    return fusion.calibrate(
        np.array([one.rates for one in found]), np.array([one.reasoned for one in found]),
        np.array([one.fitted for one in found]), np.array([one.users for one in found], np.float64),
        [one.stratum for one in found], shrinkage)


def _expect_fields(behaviour: Behaviour, params: FitParams) -> None:
    for name, wanted, known in (("drivers", params.drivers, behaviour.columns.numbers), (
            "strata", params.strata, [one for one in behaviour.columns.levels if one.startswith("merchant.")])):
        for place, one in enumerate(wanted):
            if one not in known:
                raise Invalid([Problem(f"{name}[{place}]", repr(one), one_of(one, known))])


def held_out(behaviour: Behaviour, params: FitParams) -> NDArray[np.bool_]:
    """Return which rows [N] belong to the merchants by which a fit stops and is calibrated."""
    known = sorted(set(behaviour.merchants.tolist()))
    drawn = np.random.default_rng([params.seed, 4]).permutation(len(known))
    count = min(int(params.held_out * len(known)), len(known) - 1)
    return np.isin(behaviour.merchants, [known[place] for place in drawn[:count]])


def _driver_models(behaviour: Behaviour, params: FitParams) -> tuple[Model, ...]:
    """Return a logistic model of the drivers for each step, with weights for all columns."""
    if not params.drivers:
        return ()
    places = [behaviour.columns.names.index(name) for name in params.drivers]
    kept, weights = np.zeros(len(behaviour), bool), np.zeros((len(behaviour.steps), behaviour.encoded.shape[1]))
    found = [fitting.fit(behaviour.encoded[:, places], behaviour.outcomes[:, step], kept, "logistic")
             for step in range(len(behaviour.steps))]
    for step, model in enumerate(found):
        weights[step, places] = model.weights
    return tuple(Model(model.intercept, weights[step], ()) for step, model in enumerate(found))


def _users(behaviour: Behaviour, seed: int) -> tuple[KnownUser, ...]:
    first = dict[str, Features]()
    for name, row in zip(behaviour.users, behaviour.rows, strict=True):
        first.setdefault(name, row)
    names = sorted(first)
    drawn = np.random.default_rng([seed, 5]).permutation(len(names))[:MOST_USERS]
    return tuple(KnownUser(names[place], first[names[place]]["user"]) for place in sorted(drawn.tolist()))


def _ranges(behaviour: Behaviour) -> dict[str, tuple[float, float]]:
    return {name: (float(behaviour.encoded[:, place].min()), float(behaviour.encoded[:, place].max()))
            for place, name in enumerate(behaviour.columns.names) if name.startswith("strategy.")}
