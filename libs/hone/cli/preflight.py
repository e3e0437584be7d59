"""`hone doctor SPEC`: what a run of the spec would do, before it starts."""

import json
from pathlib import Path

from hone.cli import connection
from hone.cli.output import say
from hone.spec.files import read


def preflight(spec: Path, as_json: bool) -> None:
    """Check the spec, its models and its datasets at the gateway. Raises Invalid and HoneError with every problem."""
    with connection.client() as client:
        resolved = client.resolve(read(spec))
    say(json.dumps(resolved) if as_json else f"{spec}: valid, and the gateway knows its models and datasets")
