"""`hone noise`: guidelines for the noise that a model writes, rewritten until an agent deviates."""

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from hone.cli import connection
from hone.cli.desk import lines
from hone.cli.judges import named_value
from hone.cli.output import Commands, Json, note, one, say
from hone.cli.packages import asked, ended
from hone.client import Client
from hone.client.package_resources import PackageJob
from hone.spec.noise import Lure

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Guidelines for noise under which an agent deviates.")


@app.command()
def evolve(
    hint: Annotated[str, typer.Argument(help="Subject of the agent, for instance: questions about a shop's stock.")],
    agent: Annotated[str, typer.Option(help="Endpoint (`hone judges list`) or model of yours that should deviate.")],
    optimiser: Annotated[str, typer.Option(help="Endpoint or model that rewrites the guideline.")],
    kind: Annotated[Lure, typer.Option("--type", help="Type of the noise.")] = "misleading",
    noiser: Annotated[str | None, typer.Option(help="Endpoint or model that writes the noise.",
                                               show_default="the optimiser")] = None,
    judge: Annotated[str | None, typer.Option(help="Endpoint or model that says whether the target deviates.",
                                              show_default="the optimiser")] = None,
    environment: Annotated[str, typer.Option(help="Environment in which the target acts: sqlite, desk.")] = "sqlite",
    param: Annotated[list[str] | None, typer.Option(
        metavar="NAME=VALUE", help="A parameter of the environment; repeat it for more.")] = None,
    scenes: Annotated[int, typer.Option(help="Results of tools in which a guideline is tried.")] = 1,
    rounds: Annotated[int, typer.Option(help="Most guidelines that are tried.")] = 8,
    seed: Annotated[int, typer.Option(help="Another seed has other tasks, and asks anew.")] = 0,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="File for the guideline with its history.",
                                             show_default="none")] = None,
    within_s: Annotated[int, typer.Option(help="Seconds that the search may take.")] = 3600, json: Json = False,
) -> None:
    """Have a guideline rewritten until the target deviates, and wait for the first under which it does."""
    search = {"type": kind, "target": asked(agent), "noiser": asked(noiser), "judge": asked(judge),
              "environment": environment, "params": dict(map(named_value, param or [])), "rounds": rounds}
    with connection.client() as client:
        job = ended(client, client.evolve_noise(f"{kind}-noise", hint, {"endpoint": optimiser}, search, seed, scenes,
                                                within_s))
        if json or job.state != "done":
            one(job, json)
        if job.state != "done":
            raise typer.Exit(1)
        _keep(client, job, out, json)


@app.command()
def guideline(job_id: Annotated[str, typer.Argument(help="Id of the job.")]) -> None:
    """Write the guideline that a job found, as a run's spec has it."""
    with connection.client() as client:
        say(_spec(client.made_rows(job_id)[0]).rstrip("\n"))


def _keep(client: Client, job: PackageJob, out: Path | None, json: bool) -> None:
    [row] = client.made_rows(job.id)
    if out is not None:
        out.write_text(lines([row]))
        note(f"wrote {out}")
    if not json:
        note(f"{row['target']} deviates under guideline {row['round']}, in scenes of {len(row['deviated'])} tasks")
        say(_spec(row).rstrip("\n"))


def _spec(row: dict[str, Any]) -> str:
    """Return the noise of a run's spec that has a found guideline, as YAML."""
    noise = {"types": [row["type"]], "writer": "model", "guidelines": {row["type"]: row["guideline"]}}
    return yaml.safe_dump({"noise": noise}, sort_keys=False, allow_unicode=True, width=110)
