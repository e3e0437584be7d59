"""The `hone` command: every group and every single command."""

from collections.abc import Callable, Mapping

import typer

from hone.cli import (
    api_keys,
    audiences,
    audit,
    backups,
    benchmarks,
    catalogs,
    chat,
    curation,
    deletions,
    demo,
    descriptions,
    desk,
    doctor,
    graders,
    inputs,
    judges,
    knowledge,
    lives,
    memory,
    noise_guidelines,
    packages,
    plan,
    play,
    quotas,
    routes,
    runs,
    services,
    stack,
    tenants,
    value,
    verifiers,
)
from hone.cli.output import Commands

COMMANDS: Mapping[str, list[Callable[..., None]]] = {
    "This machine": [demo.demo, stack.up, stack.down, stack.status, stack.prepare,
                     backups.backup, backups.restore],
    "Training": [runs.train, runs.validate, descriptions.schema, descriptions.describe,
                 runs.export, curation.curate],
    "Looking around": [chat.chat, play.play, doctor.doctor, services.health, services.usage, services.storage,
                       services.retention, quotas.quotas, audit.audit,
                       deletions.deletions],
}
"""Single commands by their panel in `hone --help`."""

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Reinforcement learning for language models, self-hosted.")

for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
runs.app.command()(memory.memory)
runs.app.command()(memory.talks)
app.add_typer(runs.app, name="runs", rich_help_panel="Training")
app.add_typer(inputs.models, name="models", rich_help_panel="Training")
app.add_typer(inputs.data, name="data", rich_help_panel="Training")
app.add_typer(inputs.uploads, name="uploads", rich_help_panel="Training")
app.add_typer(plan.app, name="plan", rich_help_panel="Training")
app.add_typer(value.app, name="value", rich_help_panel="Training")
app.add_typer(audiences.app, name="audience", rich_help_panel="Looking around")
app.add_typer(benchmarks.app, name="benchmark", rich_help_panel="Looking around")
app.add_typer(routes.app, name="route", rich_help_panel="Looking around")
app.add_typer(graders.app, name="graders", rich_help_panel="Looking around")
app.add_typer(judges.app, name="judges", rich_help_panel="Looking around")
app.add_typer(verifiers.app, name="verifier", rich_help_panel="Looking around")
app.add_typer(judges.secrets, name="secrets", rich_help_panel="This machine")
app.add_typer(knowledge.app, name="knowledge", rich_help_panel="Looking around")
app.add_typer(packages.app, name="environments", rich_help_panel="Looking around")
app.add_typer(desk.app, name="desk", rich_help_panel="Looking around")
app.add_typer(lives.app, name="lives", rich_help_panel="Looking around")
app.add_typer(noise_guidelines.app, name="noise", rich_help_panel="Looking around")
app.add_typer(catalogs.algorithms, name="algorithms", rich_help_panel="Looking around")
app.add_typer(api_keys.app, name="keys", rich_help_panel="This machine")
app.add_typer(tenants.app, name="tenants", rich_help_panel="This machine")
app.add_typer(quotas.prices, name="prices", rich_help_panel="Looking around")
