"""`hone environments`: the environments that a spec may name, and packages of one's own."""

import time
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection, nouns
from hone.cli.catalogs import environments
from hone.cli.output import Commands, Json, note, one, say
from hone.client import Client
from hone.client.package_resources import PackageJob
from hone.environments.packages.package import WrongPackage

app = typer.Typer(cls=Commands, invoke_without_command=True, help="Environments, and packages of your own.")

_LOOK_S = 0.5

Name = Annotated[str, typer.Argument(help=nouns.DELETIONS["packages"].argument)]
Version = Annotated[int | None, typer.Option("--number", help="Number of a version.",
                                                 show_default="the current version")]


@app.callback()
def known(context: typer.Context, json: Json = False) -> None:
    """List the environments with their parameters."""
    if context.invoked_subcommand is None:
        environments(json)


@app.command()
def add(
    name: Name, package: Annotated[Path, typer.Argument(
        exists=True, help="Directory or ZIP archive of the package, or of a domain in the format of tau2-bench.")],
    code: Annotated[Path | None, typer.Option(
        exists=True, file_okay=False, help="Directory of a domain's Python files, where they lie elsewhere.")] = None,
    json: Json = False,
) -> None:
    """Add a package as the newest version of a name. Its tasks are proven first."""
    try:
        with connection.client() as client:
            one(client.add_package(name, package, code), json)
    except WrongPackage as wrong:
        raise typer.BadParameter(str(wrong)) from wrong


@app.command()
def make(
    name: Name, hint: Annotated[str, typer.Argument(help="Subject of the world, for instance: a library.")],
    seed: Annotated[int, typer.Option(help="Equal hints and seeds give equal packages.")] = 0,
    tasks: Annotated[int, typer.Option(help="Tasks that are wanted.")] = 64,
    author: Annotated[str | None, typer.Option(
        help="Endpoint (`hone judges list`) or model of yours that writes it.",
        show_default="the seeded generator")] = None,
    trial: Annotated[str | None, typer.Option(
        help="Endpoint or model that tries each task, with all tools and with half of them.",
        show_default="none")] = None,
    within_s: Annotated[int, typer.Option(help="Seconds that the making may take.")] = 3600, json: Json = False,
) -> None:
    """Have a package made from a hint, with tools that passed tests and tasks that were proven, and wait for it."""
    with connection.client() as client:
        job = client.make_package(name, hint, seed, tasks, asked(author), asked(trial), within_s)
        job = ended(client, job)
    one(job, json)
    if job.state != "done":
        raise typer.Exit(1)


def asked(name: str | None) -> dict[str, str] | None:
    """Return who is asked under a name, as REST has it."""
    return None if name is None else {"endpoint": name}


def ended(client: Client, job: PackageJob) -> PackageJob:
    """Return a job that has ended. While it works, say how far it is."""
    note(f"job {job.id}")
    said = ""
    while job.state in ("waiting", "taken"):
        time.sleep(_LOOK_S)
        job = client.package_job(job.id)
        now = " ".join(filter(None, [job.stage, job.reason])) or job.state
        if now != said:
            note(said := now)
    return job


nouns.add_list(app, "package jobs", "jobs")


@app.command()
def job(job_id: Annotated[str, typer.Argument(help="Id of the job.")]) -> None:
    """Show the progress of a package that is made from a hint, its tries, and the usage of models."""
    with connection.client() as client:
        one(client.package_job(job_id), as_json=True)


@app.command()
def cancel(job_id: Annotated[str, typer.Argument(help="Id of the job.")], json: Json = False) -> None:
    """End the making of a package."""
    with connection.client() as client:
        one(client.cancel_package_job(job_id), json)


nouns.add_list(app, "packages")


@app.command()
def show(name: Name, version: Version = None) -> None:
    """Show the package that a name means."""
    with connection.client() as client:
        one(client.package(name, version), as_json=True)


@app.command()
def export(
    name: Name, file: Annotated[Path, typer.Argument(help="ZIP archive that is written.")], version: Version = None,
) -> None:
    """Write a package to a file."""
    with connection.client() as client:
        file.write_bytes(client.package_archive(name, version))
    say(f"wrote {file}")


nouns.add_delete(app, "packages")
