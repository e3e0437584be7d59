"""`python -m hone.audiences.job`: make a simulator in a process of its own, so that no episode waits for arithmetic.

It reads FitParams as one line of JSON and then rows of behaviour, a line each. It writes one object: the `simulator`
and the `groups` by which its fusion is calibrated, or the `problems` of the input. With the argument `pairs` it writes
the contrasted pairs of exposures from which a model proposes hypotheses.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from hone.audiences import stored
from hone.audiences.behaviour import read
from hone.audiences.hypotheses import contrasted
from hone.audiences.models import Model
from hone.audiences.simulator import Simulator
from hone.audiences.training import FitParams, groups, parts, train, without_policies
from hone.spec.problems import Invalid

NICENESS = 10


def made(lines: Iterable[str | bytes], work: str = "fit") -> dict[str, Any]:
    """Return the result of a fit, or the `pairs` from which a model proposes hypotheses; or problems of the input."""
    first, *rest = (line for line in lines if line.strip())
    params, rows = FitParams.model_validate_json(first), [json.loads(row) for row in rest]
    try:
        return _paired(rows, params) if work == "pairs" else _fitted(rows, params)
    except Invalid as refused:
        return {"problems": [one.as_json() for one in refused.problems]}


def _paired(rows: list[dict[str, Any]], params: FitParams) -> dict[str, Any]:
    taught, _ = parts(read(rows), params)
    return {"pairs": [one.as_json() for one in contrasted(taught, params.pairs, params.seed)]}


def _fitted(rows: list[dict[str, Any]], params: FitParams) -> dict[str, Any]:
    behaviour = read(rows)
    taught, kept = parts(behaviour, params)
    simulator, plain = train(taught, params), without_policies(taught, params) if len(kept) else ()
    return {
        "simulator": stored.as_json(simulator), "rows": len(behaviour), "fields": behaviour.fields,
        "merchants": [len(set(taught.merchants.tolist())), len(set(kept.merchants.tolist()))],
        "groups": [_group(simulator, plain, name, exposures, rates.tolist(), [
            user for user, merchant in zip(kept.users, kept.merchants, strict=True) if merchant == name])
            for name, exposures, rates in groups(kept)] if len(kept) else []}


def _group(
    simulator: Simulator, plain: Sequence[Model], name: str, exposures: list[Any], rates: list[float], users: list[str],
) -> dict[str, Any]:
    encoded = simulator.columns.encode(exposures)
    return {"merchant": name, "stratum": simulator.stratum(exposures[0]["merchant"]), "rates": rates,
            "fitted": simulator.fitted(encoded).mean(0).tolist(), "rows": exposures, "users": users,
            "plain": [float(model.predict(encoded).mean()) for model in plain]}


if __name__ == "__main__":
    os.nice(NICENESS)
    json.dump(made(sys.stdin, *sys.argv[1:]), sys.stdout)
