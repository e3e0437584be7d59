"""`hone doctor`: this machine, or with a spec the run that it describes."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.output import Json, say
from hone.cli.preflight import preflight
from hone.doctor.findings import Finding

Spec = Annotated[Path | None, typer.Argument(
    metavar="SPEC", help="YAML or JSON file with a run spec; without it, this machine is checked.")]


def doctor(
    spec: Spec = None, json: Json = False,
    samples: Annotated[int, typer.Option(
        min=2, max=64, help="With a spec: answers of the base to the first tasks, an even number.")] = 8,
    deadline: Annotated[float, typer.Option(
        min=5, max=900, help="With a spec: seconds within which these answers are made.")] = 120.0,
    objects: Annotated[str | None, typer.Option(
        metavar="URL", help="Check only this object store: s3s://key:secret@host/bucket.")] = None,
) -> None:
    """Check this machine, or with a spec the run, and say how to mend each fault. An error gives exit code 1."""
    well = preflight(spec, json, samples, deadline) if spec is not None else _healthy(_looked_at(objects), json)
    if not well:
        raise typer.Exit(1)


def _looked_at(objects: str | None) -> Iterable[Finding]:
    from hone.doctor import machine, servers  # the clients of every server, which other commands do not load

    return servers.object_needs_met(objects) if objects else machine.look(connection.state())


def _healthy(findings: Iterable[Finding], as_json: bool) -> bool:
    """Print each finding and return whether none is an error."""
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # what its retries say is in the finding
    healthy = True
    for finding in findings:
        say(finding.model_dump_json() if as_json else line(finding))
        healthy = healthy and finding.level != "error"
    return healthy


def line(finding: Finding) -> str:
    """Return a finding as a line, and how to mend it as a second one."""
    mend = f"\n{'':9}mend: {finding.mend}" if finding.mend else ""
    return f"{finding.level:<9}{finding.check}: {finding.found}{mend}"
