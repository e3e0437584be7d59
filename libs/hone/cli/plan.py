"""`hone plan`: values for a spec from the results of pilot runs, and sizes of a cluster. It needs no server."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, TypeAdapter, ValidationError

from hone.algorithms.schedules.batch_size import SizeStage
from hone.algorithms.schedules.switch_planner import Pilot, SwitchPlan, SwitchPlanner
from hone.cli import cluster
from hone.cli.output import Commands, Json, say
from hone.spec.problems import Invalid, Problem, from_validation

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Plan values of a spec from pilot runs, or a cluster.")
app.command("cluster")(cluster.cluster)


class PlannedBatches(BaseModel):
    """The planned switch with its band in consumed rows, the stages, and warnings about the plan."""

    switch: float
    low: float
    high: float
    gamma: float
    stages: list[SizeStage]
    flags: list[str]


@app.command("batch-size")
def batch_size(
    pilots: Annotated[Path, typer.Argument(
        metavar="PILOTS", help="JSON: [{budget, fraction, loss}, ...]; at least 3 budgets with 3 fractions each.")],
    budget: Annotated[int, typer.Option(help="Rows that the planned run consumes.")],
    small: Annotated[int, typer.Option(help="Rows per batch before the switch.")],
    large: Annotated[int, typer.Option(help="Rows per batch after the switch; more than --small.")],
    json: Json = False,
) -> None:
    """Plan the late switch from small to large batches."""
    _refuse(budget, small, large)
    planner = SwitchPlanner.fit(read_pilots(pilots))
    plan = planner.plan(budget)
    planned = PlannedBatches(switch=plan.switch, low=plan.low, high=plan.high, gamma=planner.gamma,
                      stages=plan.stages(small, large), flags=list(plan.flags))
    say(planned.model_dump_json() if json else "\n".join(_lines(plan, planned)))


def read_pilots(file: Path) -> list[Pilot]:
    """Return the pilots in a JSON file. Raises Invalid with every problem."""
    try:
        raw = json_text.loads(file.read_bytes())
    except OSError as error:
        raise Invalid([Problem(str(file), error.strerror or "nothing", "a file that can be read")]) from None
    except (ValueError, RecursionError) as error:
        raise Invalid([Problem(str(file), str(error), "JSON: a list of {budget, fraction, loss}")]) from None
    try:
        return TypeAdapter(list[Pilot]).validate_python(raw)
    except ValidationError as error:
        raise Invalid(from_validation(error, Pilot, "pilots")) from None


def _refuse(budget: int, small: int, large: int) -> None:
    checks = [("--budget", budget, budget >= 1, "at least 1"), ("--small", small, small >= 1, "at least 1"),
              ("--large", large, large > small, f"more than --small ({small})")]
    problems = [Problem(option, str(value), expected) for option, value, fits, expected in checks if not fits]
    if problems:
        raise Invalid(problems)


def _lines(plan: SwitchPlan, planned: PlannedBatches) -> list[str]:
    share = plan.switch / plan.budget
    begins = [0, *(stage.until for stage in planned.stages)]
    return [
        f"switch  {plan.switch:.0f} ({share:.1%} of {plan.budget} rows), band {plan.low:.0f} to {plan.high:.0f}",
        f"gamma   {planned.gamma:.4f}",
        *(f"stage   rows {begin} to {stage.until}: batches of {stage.rows}"
          for begin, stage in zip(begins, planned.stages, strict=False)),
        *(f"flag    {flag}" for flag in plan.flags),
    ]
