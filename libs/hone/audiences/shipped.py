"""The simulator that comes with Hone: fitted once to the synthetic world, so that every process loads the same numbers.

    python -m hone.audiences.shipped      fit it again and write synthetic_orders.json
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from hone.audiences import accuracy, stored, world
from hone.audiences.columns import Floats
from hone.audiences.fusion import Fusion
from hone.audiences.reasoning import ask
from hone.audiences.simulator import Simulator
from hone.audiences.training import CalibrationGroup, FitParams, calibrate, groups, train

FILE = "synthetic_orders.json"
SEED, USERS = 0, 200
PARAMS = FitParams(drivers=list(world.DRIVERS), reasoner_share=0.3)


@cache
def synthetic_orders() -> tuple[Simulator, Fusion]:
    """Return the shipped simulator and its fusion."""
    read = json.loads(files("hone.audiences").joinpath(FILE).read_text())
    return stored.of_json(read["simulator"]), stored.fusion_of_json(read["fusion"])


def fitted() -> dict[str, Any]:
    """Return the content of the shipped file: what a fit to the world of SEED finds, with numbers of eight digits."""
    habits = world.Habits.of(SEED)
    made = train(world.behaviour(SEED, "train", 60, (0.0, 0.25), habits), PARAMS)
    found = []
    for name, rows, rates in groups(world.behaviour(SEED, "calibration", 20, (0.15, 0.40), habits)):
        encoded = made.columns.encode(rows)
        found.append(CalibrationGroup(name, "", rates, made.anchored(encoded, _said(made, rows)).mean(0),
                                      made.fitted(encoded).mean(0), len(rows)))
    fusion = calibrate(found)
    assert fusion is not None
    print(f"on calibration groups: {_measured(found, fusion)}")
    kept = Simulator(**{**vars(made), "users": made.users[:USERS]})
    return {"simulator": _short(stored.as_json(kept)), "fusion": _short(stored.fusion_as_json(fusion))}


def _measured(found: Sequence[CalibrationGroup], fusion: Fusion) -> accuracy.Accuracy:
    fused = np.array([fusion.fuse(one.reasoned, one.fitted, one.stratum, False) for one in found])
    users = np.array([float(one.users) for one in found])
    return accuracy.measured(fused, np.array([one.rates for one in found]), users)


def _said(made: Simulator, rows: Any) -> Floats:
    return np.asarray(asyncio.run(ask(world.formula(), made.questions(rows))))


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, Mapping):
        return {name: _short(inner) for name, inner in value.items()}
    return [_short(inner) for inner in value] if isinstance(value, list) else value


if __name__ == "__main__":
    text = json.dumps(fitted(), separators=(",", ":"))
    Path(__file__).with_name(FILE).write_text(text + "\n")
    print(f"written {len(text)} bytes to {FILE}")
