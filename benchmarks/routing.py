"""What a route over three of our own models of different size is worth, beside random mixing and the length of prompts.

    python -m benchmarks.routing [--seeds 3]

Each seed makes and teaches three models through the services, on the same demonstrations of twelve families of
questions, and has each answer held-out questions of all families, eight times. Their costs are their parameters.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from benchmarks.through_services.session import lines
from benchmarks.value_model import questions
from benchmarks.value_model.policies import Taught, evaluation
from hone.algorithms.routing.curve import Point, hull, quality_at
from hone.client import Client
from hone.client.routing_resources import RouteEvaluation
from hone.models import toy

matplotlib.use("svg")
from matplotlib import pyplot  # after the backend is chosen

OUT, PICTURE = RESULTS / "routing.json", Path("docs") / "images" / "routing.svg"
STEPS, PROMPTS, SAMPLES = 600, 32, 8
SIZES: Mapping[str, Mapping[str, Any]] = {
    "small": {"hidden": 48, "layers": 2, "heads": 2, "head_dim": 24, "ffn": 96},
    "mid": {"hidden": 96, "layers": 2, "heads": 4, "head_dim": 24, "ffn": 192},
    "large": {"hidden": 160, "layers": 3, "heads": 5, "head_dim": 32, "ffn": 384},
}
"""Models of a route, from the cheapest on."""
COSTS = (0.1, 0.25, 0.5)
LABELS = {"router": "route", "random": "mixed at random", "length": "by length", "oracle": "oracle"}


def main() -> None:
    """Measure each seed and store what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    with stack_run.scratch() as scratch, stack_run.embedded(
            scratch / "state", {"value_embedder": "hashed"}, {"trainer": 1}) as (_, client):
        for family in questions.ROWS:
            client.upload_dataset(f"held-{family}", lines(questions.held_out(family, PROMPTS)))
        client.upload_dataset("shown-all", lines(Taught(careless=0.0).rows()))
        found = {seed: _measured(client, scratch, seed) for seed in seeds}
    _draw(list(found.values()))
    store(OUT, {**provenance(), "quality": _summary(list(found.values())),
                "seeds": {str(seed): _kept(one) for seed, one in found.items()}})


def _measured(client: Client, scratch: Path, seed: int) -> RouteEvaluation:
    runs = {name: _taught(client, scratch, f"{name}-{seed}", sizes, seed) for name, sizes in SIZES.items()}
    route = client.put_route(f"sizes-{seed}", [f"{run}@{STEPS}" for run in runs.values()], weight=0.5)
    found = client.route_evaluation(route.name)
    print(f"seed {seed}: {found.prompts} prompts")
    for one in found.candidates:
        print(f"  {one.cost:.3f}M quality {one.quality:.3f}, AUC {one.auc or 0.0:.3f}")
    print("  half:", {kind: None if value is None else round(value, 3) for kind, value in found.half.items()},
          "largest", round(found.largest, 3), flush=True)
    return found


def _taught(client: Client, scratch: Path, name: str, sizes: Mapping[str, Any], seed: int) -> str:
    made = toy.write(scratch / name, seed, vocab_size=128, symbols=questions.SYMBOLS, **sizes)
    base = client.upload_model(f"untrained-{name}", made).name
    spec = {**Taught().spec(name, base), "seed": seed, "task": {"dataset": "shown-all"}, "steps": STEPS,
            "snapshot_every": STEPS, "eval": {**evaluation(STEPS), "samples": SAMPLES, "prompts": PROMPTS}}
    return stack_run.wait_for_end(client, client.create_run(spec).id).id


def _kept(found: RouteEvaluation) -> dict[str, Any]:
    """Return what is stored of a seed: of each curve the points that no mixture of others exceeds."""
    return {**found.model_dump(exclude={"curves"}), "curves": {
        kind: [asdict(one) for one in hull(points)] for kind, points in _curves(found).items()}}


def _curves(found: RouteEvaluation) -> dict[str, list[Point]]:
    return {kind: [Point(one.setting, one.cost, one.quality) for one in points]
            for kind, points in found.curves.items()}


def _summary(found: Sequence[RouteEvaluation]) -> dict[str, dict[str, list[float]]]:
    """Return each seed's quality at some costs, as shares of the largest model's, by who chooses."""
    at = {f"{cost:g}": {kind: [quality_at(_curves(one)[kind], cost) for one in found] for kind in found[0].curves}
          for cost in COSTS}
    return {**at, "1": {"largest": [one.largest for one in found]}}


def _draw(found: Sequence[RouteEvaluation]) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "routing"
    figure, axes = pyplot.subplots(figsize=(6, 3.8))
    for number, (kind, label) in enumerate(LABELS.items()):
        for one in found:
            points = hull(_curves(one)[kind])
            axes.plot([point.cost for point in points], [point.quality for point in points], color=f"C{number}",
                      label=label if one is found[0] else None, linewidth=1.2, alpha=0.8)
    axes.set(xlabel="mean cost, as a share of the largest model's", ylabel="mean outcome", xscale="log")
    axes.legend()
    figure.savefig(PICTURE, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    main()
