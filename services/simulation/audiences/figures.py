"""Figures of a fit: its weights, and the errors of both branches, of their fusion and of plainer predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hone.audiences import accuracy
from hone.audiences.columns import Floats
from hone.audiences.fusion import Fusion
from hone.audiences.simulator import Simulator
from hone.audiences.training import CalibrationGroup, calibrate

_PARTS = 20
"""Parts of the calibration groups that are predicted in turn by weights of the others."""


@dataclass(frozen=True)
class MeasuredMerchant:
    """A merchant that nothing was fitted to: its rates [K], and what is said of them."""

    rates: Floats
    users: int
    fitted: Floats
    plain: Floats  # of a model that sees no policies
    raw: Floats | None  # what the reasoner said, not drawn to any evidence; None: it was not asked, or not understood
    group: CalibrationGroup | None  # None without a reasoned rate


def report(found: Mapping[str, Any], simulator: Simulator, measured: Sequence[MeasuredMerchant],
           fusion: Fusion | None, shrinkage: float) -> dict[str, Any]:
    """Return all that a fit reports."""
    warnings = [] if simulator.policies.policies else ["no policy was kept: evidence is the rate of all exposures"]
    base = {"steps": list(simulator.steps), "base_rates": list(simulator.policies.base_rates),
            "policies": len(simulator.policies.policies), "rows": found["rows"],
            "training_merchants": found["merchants"][0], "calibration_merchants": found["merchants"][1],
            "ranges": {name: list(bounds) for name, bounds in simulator.ranges.items()}, "fields": found["fields"],
            "warnings": warnings, "errors": _of_merchants(measured, np.array(simulator.policies.base_rates))}
    return weighed(base, [one.group for one in measured if one.group is not None], fusion, shrinkage)


def weighed(
    report: Mapping[str, Any], groups: Sequence[CalibrationGroup], fusion: Fusion | None, shrinkage: float,
) -> dict[str, Any]:
    """Return a report with the weights of a fusion and its errors on the groups that made it.

    `left_out` has the fusion's errors where each group was predicted by weights that it did not take part in.
    """
    if fusion is None:
        return {**report, "calibration_groups": 0, "weights": None, "strata": {}}
    fused = np.array([_fused(fusion, one) for one in groups])
    errors = {"fused": fused, "left_out": _left_out(groups, shrinkage)}
    return {**report, "calibration_groups": len(groups), "weights": list(fusion.weights),
            "strata": {name: list(own) for name, own in fusion.strata.items()}, "errors": {
                **report.get("errors", {}), **{
                    name: _errors(one, groups) for name, one in errors.items() if one is not None}}}


def _of_merchants(measured: Sequence[MeasuredMerchant], base_rates: Floats) -> dict[str, Any]:
    """Return the errors of each prediction that is not fused: of merchants with a reasoned rate, where there are such.
    """
    known = [one for one in measured if one.group is not None] or list(measured)
    if not known:
        return {}
    said: dict[str, list[Floats | None]] = {
        "base_rate": [base_rates] * len(known), "raw_reasoner": [one.raw for one in known],
        "reasoned": [one.group.reasoned if one.group else None for one in known],
        "raw_model": [one.plain for one in known], "fitted": [one.fitted for one in known]}
    return {name: _errors(np.array(values), known) for name, values in said.items()
            if all(one is not None for one in values)}


def _errors(predicted: Floats, groups: Sequence[MeasuredMerchant] | Sequence[CalibrationGroup]) -> dict[str, Any]:
    found = accuracy.measured(predicted, np.array([one.rates for one in groups]),
                              np.array([one.users for one in groups], np.float64))
    return {"gse": found.gse, "mae": found.mae}


def _left_out(groups: Sequence[CalibrationGroup], shrinkage: float) -> Floats | None:
    if len(groups) < 2:
        return None
    predicted = np.zeros((len(groups), len(groups[0].rates)))
    parts = np.arange(len(groups)) % _PARTS
    for part in range(min(_PARTS, len(groups))):
        fusion = calibrate([one for one, own in zip(groups, parts, strict=True) if own != part], shrinkage)
        if fusion is not None:
            for place in np.flatnonzero(parts == part).tolist():
                predicted[place] = _fused(fusion, groups[place])
    return predicted


def _fused(fusion: Fusion, one: CalibrationGroup) -> Floats:
    return fusion.fuse(one.reasoned, one.fitted, one.stratum, False)
