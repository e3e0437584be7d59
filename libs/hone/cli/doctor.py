"""`hone doctor`: this machine, or with a spec the run that it describes."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.output import Json, say
from hone.cli.preflight import preflight
from hone.doctor import machine
from hone.doctor.findings import Finding

Spec = Annotated[Path | None, typer.Argument(
    metavar="SPEC", help="YAML or JSON file with a run spec; without it, this machine is checked.")]


def doctor(
    spec: Spec = None, json: Json = False,
    samples: Annotated[int, typer.Option(
        min=2, max=64, help="With a spec: answers of the base to the first tasks, an even number.")] = 8,
    deadline: Annotated[float, typer.Option(
        min=5, max=900, help="With a spec: seconds within which these answers are made.")] = 120.0,
) -> None:
    """Check this machine, or with a spec the run, and say how to mend what is wrong. An error gives exit code 1."""
    if not (_healthy(json) if spec is None else preflight(spec, json, samples, deadline)):
        raise typer.Exit(1)


def _healthy(as_json: bool) -> bool:
    """Print each finding about this machine and return whether none is an error."""
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # what its retries say is in the finding
    healthy = True
    for finding in machine.look(connection.state()):
        say(finding.model_dump_json() if as_json else line(finding))
        healthy = healthy and finding.level != "error"
    return healthy


def line(finding: Finding) -> str:
    """Return a finding as a line, and how to mend it as a second one."""
    mend = f"\n{'':9}mend: {finding.mend}" if finding.mend else ""
    return f"{finding.level:<9}{finding.check}: {finding.found}{mend}"
