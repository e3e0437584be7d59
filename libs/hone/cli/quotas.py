"""`hone quotas`, `hone prices`: what a tenant may use, what it uses, and what that costs."""

from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.output import Commands, Json, cell, one, say, table
from hone.client.account_resources import Quota

prices = typer.Typer(cls=Commands, help="The price list of the stack.", invoke_without_command=True)


def quotas(
    tenant: Annotated[str | None, typer.Option(help="Another tenant, by name or id; for the operator.")] = None,
    json: Json = False,
) -> None:
    """Show the quotas of the tenant, and its present usage of each."""
    with connection.client() as client:
        found = client.quotas() if tenant is None else client.tenant_quotas(tenant)
    if json:
        say(found.model_dump_json())
        return
    lines = [(name, _figure(quota.used), "none" if quota.limit is None else _figure(quota.limit))
             for name, quota in found if isinstance(quota, Quota)]
    table(("quota", "used", "limit"), lines)
    say(f"money in {found.currency}; days and months of UTC")


def _figure(value: float) -> str:
    return str(int(value)) if value == int(value) else cell(value)


@prices.callback()
def show(context: typer.Context, json: Json = False) -> None:
    """Show the prices: of a million tokens, and of a second of grading and of a trainer."""
    if context.invoked_subcommand is None:
        with connection.client() as client:
            one(client.prices(), json)


@prices.command("set")
def change(
    currency: Annotated[str | None, typer.Option(help="Word after amounts, such as EUR.")] = None,
    prompt_tokens: Annotated[float | None, typer.Option(min=0, help="Of a million tokens of prompts.")] = None,
    completion_tokens: Annotated[float | None, typer.Option(min=0, help="Of a million generated tokens.")] = None,
    scored_tokens: Annotated[float | None, typer.Option(min=0, help="Of a million scored tokens.")] = None,
    trained_tokens: Annotated[float | None, typer.Option(min=0, help="Of a million trained tokens.")] = None,
    grading_s: Annotated[float | None, typer.Option(min=0, help="Of a second of grading.")] = None,
    trainer_s: Annotated[float | None, typer.Option(min=0, help="Of a second of a trainer.")] = None,
) -> None:
    """Set prices, for the operator; prices that are not given stay. Earlier usage keeps its cost."""
    given = {"currency": currency, "prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens,
             "scored_tokens": scored_tokens, "trained_tokens": trained_tokens, "grading_s": grading_s,
             "trainer_s": trainer_s}
    with connection.client() as client:
        one(client.set_prices(**{name: value for name, value in given.items() if value is not None}), as_json=False)
