"""`hone route`: names under which one of several models answers, and what they are worth."""

import json as json_text
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from hone.cli import connection, nouns, route_evaluation
from hone.cli.nouns import Limit
from hone.cli.output import Commands, Json, one, say, table
from hone.client import every
from hone.client.routing_resources import Considered, Route

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Routes: hone/NAME answers by the model that suits.")

Name = Annotated[str, typer.Argument(help=nouns.DELETIONS["routes"].argument)]


@app.command("set")
def put(
    name: Name,
    candidates: Annotated[list[str], typer.Argument(metavar="MODEL[=COST]…", help="Models that may answer: registered "
                                                    "models, versions, runs, RUN@STEP; each with its cost, or none.")],
    weight: Annotated[float | None, typer.Option(min=0, max=1, help="Of success; the rest is low cost.")] = None,
    target: Annotated[float | None, typer.Option(min=0, max=1, help="Chance of success that is enough.")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Highest cost of the model that answers.")] = None,
    exploration: Annotated[float | None, typer.Option(min=0, max=1, help="Share of answers drawn at random.")] = None,
    json: Json = False,
) -> None:
    """Make or change a route. Costs have any unit; without any they are the models' parameters in millions."""
    given = {"weight": weight, "target": target, "max_cost": max_cost, "exploration": exploration}
    with connection.client() as client:
        made = client.put_route(name, [candidate(text) for text in candidates],
                                **{key: value for key, value in given.items() if value is not None})
    _show(made, json)


def candidate(text: str) -> dict[str, Any]:
    """Return a candidate by MODEL or MODEL=COST. Raises BadParameter."""
    model, equals, cost = text.rpartition("=")
    if not equals:
        return {"model": text}
    try:
        return {"model": model, "cost": float(cost)}
    except ValueError:
        raise typer.BadParameter(f"{text}: found {cost!r} after the =, expected a number") from None


nouns.add_list(app, "routes")


@app.command()
def show(name: Name, json: Json = False) -> None:
    """Show a route with its candidates and their costs."""
    with connection.client() as client:
        _show(client.route(name), json)


def _show(route: Route, json: bool) -> None:
    if json:
        say(route.model_dump_json())
        return
    (kind, value), *_ = route.objective.items()
    say(f"hone/{route.name}: {kind} {value:g}, {route.exploration:.3g} of the answers drawn at random")
    table(("model", "cost"), ([one.model, f"{one.cost:g}"] for one in route.candidates))


nouns.add_delete(app, "routes")


@app.command()
def decisions(name: Name, limit: Limit = 20, json: Json = False) -> None:
    """List which model answered and why, newest first."""
    with connection.client() as client:
        found = list(islice(every(client.decisions, name=name), limit))
    if json:
        for decision in found:
            say(decision.model_dump_json())
        return
    table(("answer", "model", "score", "reason", "candidates"), (
        [one.id, one.model, "" if one.score is None else f"{one.score:g}", one.reason,
         "; ".join(map(_thought, one.considered))] for one in found))


def _thought(one: Considered) -> str:
    return f"{one.model}: {one.left_out}" if one.left_out else f"{one.model} {one.p or 0.0:.2f}"


@app.command()
def feedback(
    answer: Annotated[str, typer.Argument(help="Id of the chat completion, chatcmpl_….")],
    score: Annotated[float, typer.Argument(min=0, max=1, help="From 0, a failure, to 1.")],
    comment: Annotated[str, typer.Option(help="A word for people.")] = "",
) -> None:
    """Say how good an answer of a route was; the last word counts."""
    with connection.client() as client:
        one(client.feedback(answer, score, comment), as_json=False)


@app.command()
def evaluate(
    name: Name,
    dataset: Annotated[str | None, typer.Option(help="Dataset of which every candidate answers the rows "
                                                "first.")] = None,
    grader: Annotated[Path | None, typer.Option(help="File with the grader's JSON, for a dataset that names none.",
                                                exists=True, dir_okay=False)] = None,
    prompts: Annotated[int, typer.Option(min=20, max=4096, help="Rows of the dataset.")] = 256,
    samples: Annotated[int, typer.Option(min=1, max=64, help="Answers of each candidate to each row.")] = 4,
    max_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of an answer.")] = 256,
    out: Annotated[Path | None, typer.Option(help="File for the curves as a picture, SVG.")] = None,
    json: Json = False,
) -> None:
    """Draw a route's curve of cost and quality over prompts that every candidate has an outcome of.

    With a dataset, each candidate answers its rows in a run of its own, which evaluates it and trains next to nothing.
    """
    with connection.client() as client:
        if dataset is not None:
            wanted = None if grader is None else json_text.loads(grader.read_text())
            route_evaluation.grade(client, client.route(name), dataset, wanted, (prompts, samples, max_tokens))
        found = client.route_evaluation(name)
    if out is not None:
        out.write_text(route_evaluation.picture(found))
    if json:
        say(found.model_dump_json())
    else:
        route_evaluation.show(found)
