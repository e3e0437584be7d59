"""What is kept of the comparisons: one JSON, in which each comparison says when, how and on what it was measured."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import provenance
from benchmarks.results import RESULTS, load
from benchmarks.through_services.comparison import Spec
from benchmarks.through_services.curves import Curve, Point

RESULT = RESULTS / "through_services.json"


def measured(arms: Mapping[str, Spec], runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return what is kept of one comparison: each arm's spec, and its runs with their curves."""
    return {**provenance(), "arms": {arm: {"spec": spec, "raw": list(runs[arm])} for arm, spec in arms.items()}}


def keep(path: Path, comparisons: Mapping[str, Any], starts: Mapping[str, Any]) -> None:
    """Write what was measured into a file beside what it holds of other comparisons and starts."""
    kept = load(path) if path.exists() else {"starts": {}, "comparisons": {}}
    kept = {"starts": {**kept["starts"], **starts}, "comparisons": {**kept["comparisons"], **comparisons}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=1) + "\n")
    print(f"{', '.join(comparisons)}: written to {path}", flush=True)


def curves(comparison: Mapping[str, Any]) -> dict[str, list[Curve]]:
    """Return the curves of a kept comparison by arm, one a seed."""
    return {arm: [[Point(**point) for point in run["points"]] for run in kept["raw"]]
            for arm, kept in comparison["arms"].items()}
