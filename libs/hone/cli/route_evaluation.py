"""`hone route evaluate`: every candidate answers a dataset, and the curve of cost and quality that follows."""

import io
from collections.abc import Mapping
from typing import Any

import typer

from hone.cli import progress
from hone.cli.output import say, table
from hone.client import Client
from hone.client.routing_resources import Route, RouteEvaluation

_NAMES = {"router": "the router", "random": "models mixed at random", "length": "by the length of prompts",
          "oracle": "an oracle, who knows the outcomes"}
Amounts = tuple[int, int, int]
"""Prompts, answers to each, and most tokens of an answer."""


def grade(
    client: Client, route: Route, dataset: str, grader: Mapping[str, Any] | None, amounts: Amounts
) -> None:
    """Have each candidate answer the rows of a dataset in a run of its own. Raises Exit where one fails."""
    for candidate in route.candidates:
        run = client.create_run(spec(route.name, candidate.model, dataset, grader, amounts))
        say(f"{candidate.model} answers, run {run.id}")
        ended = progress.follow(client, run.id)
        if ended.state != "succeeded":
            say(f"the run of {candidate.model} {ended.state}: {ended.reason}")
            raise typer.Exit(1)


def spec(
    route: str, model: str, dataset: str, grader: Mapping[str, Any] | None, amounts: Amounts
) -> dict[str, Any]:
    """Return the spec of a run that evaluates a model and trains nothing, so that its task is never drawn."""
    prompts, samples, max_tokens = amounts
    source = {"name": "held-out", "dataset": dataset, **({} if grader is None else {"grader": dict(grader)})}
    return {"name": f"route-{route}", "model": {"base": model}, "task": {"environment": "sort_digits"},
            "steps": 0, "sampling": {"max_tokens": max_tokens},
            "eval": {"prompts": prompts, "samples": samples, "sources": [source]}}


def show(found: RouteEvaluation) -> None:
    """Print the candidates, and the quality at half the cost."""
    say(f"hone/{found.route} over {found.prompts} prompts, each predicted from the rest by {found.head_version}")
    table(("model", "cost", "outcomes", "quality", "predicted", "AUC", "calibration error"), (
        [one.model, f"{one.cost:g}", str(one.rows), f"{one.quality:.3f}", f"{one.predicted:.3f}",
         "" if one.auc is None else f"{one.auc:.3f}", f"{one.calibration_error:.3f}"] for one in found.candidates))
    say(f"always the most expensive: quality {found.largest:.3f}; at half its cost:")
    table(("who chooses", "quality"), ([_NAMES[kind], "more than half" if value is None else f"{value:.3f}"]
                                       for kind, value in found.half.items()))


def picture(found: RouteEvaluation) -> str:
    """Return the curves as SVG. Raises BadParameter where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise typer.BadParameter("--out: matplotlib is not installed: pip install 'hone-rl[train]'") from error
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    for kind, points in found.curves.items():
        if kind == "length":
            axes.plot([one.cost for one in points], [one.quality for one in points], ".", label=_NAMES[kind], alpha=0.6)
        else:
            axes.plot([one.cost for one in points], [one.quality for one in points], ".-", label=_NAMES[kind])
    axes.set_xlabel("mean cost, as a share of the most expensive model's")
    axes.set_ylabel("mean outcome")
    axes.legend()
    axes.grid(alpha=0.3)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg")
    return drawn.getvalue()
