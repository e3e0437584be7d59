"""`hone judges` and `hone secrets`: endpoints that graders ask, and the keys that they need."""

import sys
from typing import Annotated, Any, Literal

import typer

from hone.cli import connection, nouns
from hone.cli.output import Commands, Json, one

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Judges: endpoints that graders ask.")
secrets = typer.Typer(cls=Commands, no_args_is_help=True, help="Secrets, such as the keys of judges. Nobody can read "
                      "a stored secret.")

Name = Annotated[str, typer.Argument(help=nouns.DELETIONS["judges"].argument)]
SecretName = Annotated[str, typer.Argument(help=nouns.DELETIONS["secrets"].argument)]


@app.command("set")
def put(
    name: Name,
    url: Annotated[str, typer.Argument(help="Address before /chat/completions, usually with /v1; or before /verify, or "
                                       "/pooling.")],
    model: Annotated[str, typer.Argument(help="Model, as the endpoint names it; none of a verify server.")] = "",
    secret: Annotated[str | None, typer.Option(help="Name of the secret with the endpoint's key.")] = None,
    protocol: Annotated[Literal["chat", "verify", "pooling", "openenv", "mcp"], typer.Option(
        help="Protocol: OpenAI's chat completions, NeMo Gym's /verify, vLLM's /pooling; or a world's protocol.",
        )] = "chat",
    term: Annotated[list[str] | None, typer.Option(
        metavar="NAME=VALUE", help="A limit or a price, such as per_minute=60; repeat it for more.")] = None,
    json: Json = False,
) -> None:
    """Set a judge, or a verify server. docs/judges.md lists the terms."""
    with connection.client() as client:
        terms = {"protocol": protocol, **dict(map(named_value, term or []))}
        one(client.put_judge(name, url, model, secret, **terms), json)


def named_value(text: str) -> tuple[str, Any]:
    """Return a name and its value by NAME=VALUE. Raises BadParameter."""
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"found {text!r}, expected NAME=VALUE")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, float(value) if "." in value or "e" in value else int(value)
    except ValueError:
        return name, value


nouns.add_list(app, "judges")


@app.command()
def show(name: Name, json: Json = False) -> None:
    """Show a judge with its terms."""
    with connection.client() as client:
        one(client.judge(name), json)


nouns.add_delete(app, "judges")


@secrets.command("set")
def put_secret(name: SecretName) -> None:
    """Set a secret, typed or from standard input."""
    value = typer.prompt("Value", hide_input=True) if sys.stdin.isatty() else sys.stdin.read().rstrip("\n")
    with connection.client() as client:
        one(client.put_secret(name, value), as_json=False)


nouns.add_list(secrets, "secrets")
nouns.add_delete(secrets, "secrets")
