"""`hone tenants`: all tenants of a stack. These commands need an admin key of the operator."""

from typing import Annotated, Any

import typer

from hone.cli import connection, nouns
from hone.cli.amounts import amount
from hone.cli.output import Commands, Json, one, say

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Tenants and their quotas, for the operator.")

Tenant = Annotated[str, typer.Argument(metavar="TENANT", help="Name or id of the tenant.")]


nouns.add_list(app, "tenants")


@app.command()
def create(name: Annotated[str, typer.Argument(help="Name of the tenant.")], json: Json = False) -> None:
    """Make a tenant and its first admin key, which is shown once."""
    with connection.client() as client:
        tenant = client.create_tenant(name)
        key = client.create_tenant_key(tenant.id, "first")
    say(key.model_dump_json() if json else key.secret)


@app.command()
def rename(tenant: Tenant, name: Annotated[str, typer.Argument(help="The new name.")]) -> None:
    """Give a tenant another name."""
    _change(tenant, name=name)


@app.command()
def suspend(tenant: Tenant) -> None:
    """Accept none of a tenant's keys from now on, and pause its runs."""
    _change(tenant, suspended=True)


@app.command()
def resume(tenant: Tenant) -> None:
    """Let a suspended tenant go on."""
    _change(tenant, suspended=False)


@app.command()
def delete(tenant: Tenant) -> None:
    """Delete a tenant and revoke its keys. Its runs, models, datasets and uploads have to be deleted before."""
    with connection.client() as client:
        say(f"the tenant {client.delete_tenant(tenant).name} is deleted")


@app.command()
def quota(
    tenant: Tenant,
    runs: Annotated[str | None, typer.Option(help="Runs that have begun and not ended.")] = None,
    running_groups: Annotated[int | None, typer.Option(help="Groups that are sampled at a time.")] = None,
    tokens_a_day: Annotated[str | None, typer.Option(help="Tokens generated and trained in a day of UTC.")] = None,
    stored_bytes: Annotated[str | None, typer.Option(help="Bytes in the object store.")] = None,
    month_budget: Annotated[str | None, typer.Option(help="Money for a month of UTC.")] = None,
) -> None:
    """Set quotas of a tenant: `hone tenants quota lab --runs 2`. Omitted quotas stay; `none` means no limit."""
    given = {"max_runs": runs, "max_tokens_a_day": tokens_a_day, "max_stored_bytes": stored_bytes,
             "month_budget": month_budget}
    changes = {name: amount(name, text) for name, text in given.items() if text is not None}
    if running_groups is not None:
        changes["max_running_groups"] = running_groups
    _change(tenant, **changes)


def _change(tenant: str, **changes: Any) -> None:
    with connection.client() as client:
        one(client.change_tenant(tenant, **changes), as_json=False)
