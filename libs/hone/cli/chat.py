"""`hone chat`: a conversation with a model in the terminal."""

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from hone.cli import connection
from hone.client import Client

Conversation = list[dict[str, str]]


def chat(
    model: Annotated[str, typer.Argument(help="A registered model, a version, a run, RUN@latest or RUN@STEP.")],
    message: Annotated[str | None, typer.Argument(help="Ask this alone; without it each line that you write.")] = None,
    system: Annotated[str | None, typer.Option(help="System message.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, max=2, help="0 takes the likeliest tokens.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Most tokens of an answer.")] = None,
    seed: Annotated[int | None, typer.Option(help="Equal seeds draw equal answers.")] = None,
) -> None:
    """Talk with a model. A line is a message, /new begins another conversation, and the end of input ends it."""
    sampling = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
    opening: Conversation = [{"role": "system", "content": system}] if system else []
    said = [*opening]
    with connection.client() as client:
        for line in [message] if message is not None else lines():
            if line == "/new":
                said = [*opening]
                continue
            said.append({"role": "user", "content": line})
            said.append({"role": "assistant", "content": _answer(client, model, said, sampling)})


def _answer(client: Client, model: str, said: Conversation, sampling: dict[str, Any]) -> str:
    """Print an answer as it is made, and return it."""
    pieces = list[str]()
    for piece in client.chat(model, said, **sampling):
        pieces.append(piece.text)
        sys.stdout.write(piece.text)
        sys.stdout.flush()
    sys.stdout.write("\n")
    return "".join(pieces)


def lines() -> Iterator[str]:
    """Yield each line that a person writes, with a prompt if it is a person."""
    while True:
        if sys.stdin.isatty():
            sys.stdout.write("> ")
            sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()
