"""`hone verifier`: a rubric of another package, or a stored grader, as a verify server on this machine."""

import ipaddress
import os
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.output import Commands, say
from hone.spec.files import read
from hone.verifiers import environments
from hone.verifiers.contract import Unservable, Verifier
from hone.verifiers.openenv_rubrics import OpenEnvVerifier
from hone.verifiers.stored import StoredVerifier

KEY = "HONE_VERIFIER_KEY"

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Rubrics of other packages as verify servers.")


@app.callback()
def group() -> None:
    """Keep `serve` a command of its own."""


@app.command()
def serve(
    verifiers: Annotated[str | None, typer.Option(
        metavar="ID", help="An environment or a taskset of the package verifiers, by its id.")] = None,
    openenv: Annotated[str | None, typer.Option(metavar="MODULE:NAME", help="A rubric of OpenEnv.")] = None,
    stored: Annotated[str | None, typer.Option(
        metavar="NAME", help="A stored grader, for clients that send no key, as NeMo Gym's.")] = None,
    config: Annotated[Path | None, typer.Option(
        help="YAML or JSON file with the settings of the taskset, or the arguments of load_environment.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")] = 8480,
) -> None:
    """Serve a rubric over NeMo Gym's /verify until it is stopped. docs/verifiers.md says how runs ask it.

    The rubric's package has to be installed beside Hone: its code runs in this process, and in no service.
    HONE_VERIFIER_KEY is the key that requests have to show; without it only this machine is served.
    """
    key = os.environ.get(KEY, "")
    if not key and not _is_here(host):
        raise typer.BadParameter(f"found {host}, expected an address of this machine alone, or a key in {KEY}")
    try:
        verifier = _chosen(verifiers, openenv, stored, config)
    except Unservable as error:
        raise typer.BadParameter(str(error)) from error
    from hone.verifiers import server  # loads a web server, which no other command needs

    say(f"serving {verifiers or openenv or stored} at http://{host}:{port}/verify")
    server.serve(verifier, host, port, key)


def _chosen(verifiers: str | None, openenv: str | None, stored: str | None, config: Path | None) -> Verifier:
    given = [name for name in (verifiers, openenv, stored) if name]
    if len(given) != 1:
        raise typer.BadParameter(f"found {len(given)} of --verifiers, --openenv and --stored, expected exactly one of "
                                 "them")
    if config is not None and not verifiers:
        raise typer.BadParameter("--config is for --verifiers")
    if verifiers:
        return environments.loaded(verifiers, read(config) if config else {})
    return OpenEnvVerifier(openenv) if openenv else StoredVerifier(connection.client(), str(stored))


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
