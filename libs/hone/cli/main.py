"""The `hone` command: every group and every single command by its panel, imported when it is called."""

from collections.abc import Mapping
from typing import ClassVar

import typer

from hone.cli.loading import Listing


class Root(Listing):
    """Every command: panel in `hone --help` -> name -> `module:attribute` of a function or a group."""

    table: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "This machine": {
            "demo": "hone.cli.demo:demo",
            "up": "hone.cli.stack:up",
            "down": "hone.cli.stack:down",
            "status": "hone.cli.stack:status",
            "prepare": "hone.cli.stack:prepare",
            "backup": "hone.cli.backups:backup",
            "restore": "hone.cli.backups:restore",
            "secrets": "hone.cli.judges:secrets",
            "keys": "hone.cli.api_keys:app",
            "tenants": "hone.cli.tenants:app",
        },
        "Training": {
            "train": "hone.cli.runs:train",
            "validate": "hone.cli.runs:validate",
            "schema": "hone.cli.descriptions:schema",
            "describe": "hone.cli.descriptions:describe",
            "export": "hone.cli.runs:export",
            "curate": "hone.cli.curation:curate",
            "runs": "hone.cli.memory:app",  # the group of hone.cli.runs, with the commands about memory
            "models": "hone.cli.inputs:models",
            "data": "hone.cli.inputs:data",
            "uploads": "hone.cli.inputs:uploads",
            "plan": "hone.cli.plan:app",
            "value": "hone.cli.value:app",
        },
        "Looking around": {
            "chat": "hone.cli.chat:chat",
            "play": "hone.cli.play:play",
            "doctor": "hone.cli.doctor:doctor",
            "health": "hone.cli.services:health",
            "usage": "hone.cli.services:usage",
            "storage": "hone.cli.services:storage",
            "retention": "hone.cli.services:retention",
            "quotas": "hone.cli.quotas:quotas",
            "audit": "hone.cli.audit:audit",
            "deletions": "hone.cli.deletions:deletions",
            "audience": "hone.cli.audiences:app",
            "benchmark": "hone.cli.benchmarks:app",
            "route": "hone.cli.routes:app",
            "graders": "hone.cli.graders:app",
            "judges": "hone.cli.judges:app",
            "verifier": "hone.cli.verifiers:app",
            "knowledge": "hone.cli.knowledge:app",
            "environments": "hone.cli.packages:app",
            "desk": "hone.cli.desk:app",
            "lives": "hone.cli.lives:app",
            "noise": "hone.cli.noise_guidelines:app",
            "algorithms": "hone.cli.catalogs:algorithms",
            "prices": "hone.cli.quotas:prices",
        },
    }


app = typer.Typer(cls=Root, no_args_is_help=True)


@app.callback()
def hone() -> None:
    """Reinforcement learning for language models, self-hosted."""
