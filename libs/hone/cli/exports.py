"""`hone export`: a run's weights as files that load anywhere."""

import hashlib
import time
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.output import say
from hone.client import Client
from hone.client.resources import Export
from hone.spec.problems import Invalid, Problem

_LOOK_S = 0.3


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")],
    to: Annotated[Path, typer.Option("--to", help="Directory, made where missing.")],
    version: Annotated[str | None, typer.Option(help="A version of the run; default: the newest.")] = None,
) -> None:
    """Export a run's weights: checked against stock transformers, downloaded, digests compared."""
    with connection.client() as client:
        done = wait(client, client.create_export(run, version))
        download(client, done, to)
    say(f"{done.version_id} lies in {to} ({len(done.files)} files, largest log-prob difference "
        f"{done.max_abs_diff or 0.0:.2g})")


def wait(client: Client, asked: Export) -> Export:
    """Return an export once it is done. Raises Invalid with the trainer's reason when it failed."""
    while asked.state == "queued":
        time.sleep(_LOOK_S)
        asked = client.export(asked.id)
    if asked.state == "failed":
        raise Invalid([Problem(asked.version_id, asked.reason or "a failed export", "weights that load elsewhere")])
    return asked


def download(client: Client, done: Export, to: Path) -> None:
    """Write an export's files below `to`. Raises Invalid when one is not what its digest says."""
    to.mkdir(parents=True, exist_ok=True)
    for name, file in sorted(done.files.items()):
        data = client.export_file(done.id, name)
        digest = hashlib.sha256(data).hexdigest()
        if digest != file.sha256:
            raise Invalid([Problem(name, f"sha256 {digest}", file.sha256)])
        (to / name).write_bytes(data)
