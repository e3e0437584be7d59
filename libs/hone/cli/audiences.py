"""`hone audience`: simulators of users, made of logged behaviour, and how a group reacts to a merchant's strategy."""

import json as json_text
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from hone.cli import connection, nouns
from hone.cli.output import Commands, Json, cell, say, table
from hone.client import every
from hone.client.audience_resources import AudienceErrors, AudienceFit, AudienceReaction

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Audiences: how users react to a merchant's strategy.")

Fit = Annotated[str, typer.Argument(help=nouns.DELETIONS["audience fits"].argument)]
_LOOK_S = 1.0


@app.command()
def fit(
    dataset: Annotated[str, typer.Argument(help="Dataset with rows of behaviour (docs/audiences.md).")],
    judge: Annotated[str | None, typer.Option(help="Judge or model that answers in the role simulator.")] = None,
    params: Annotated[Path | None, typer.Option(help="File, JSON or YAML, with parameters of the fit, and perhaps a "
                                                "reasoner.")] = None,
    json: Json = False,
) -> None:
    """Make a simulator of the users in a dataset, and wait until it is done. The last line is its id."""
    given = _file(params) if params else {}
    reasoner = given.pop("reasoner", None)
    with connection.client() as client:
        made = client.fit_audience(dataset, given, {"judge": judge} if judge else reasoner)
        while not made.ended:
            time.sleep(_LOOK_S)
            made = client.audience_fit(made.id)
    _show(made, json)
    raise typer.Exit(made.state == "failed")


nouns.add_list(app, "audience fits")


@app.command()
def show(fit: Fit, json: Json = False) -> None:
    """Show a fit with its decision policies."""
    with connection.client() as client:
        found = client.audience_fit(fit)
        _show(found, json)
        if not json:
            for policy in client.audience_policies(fit).data:
                say(f"{policy.id}: {policy.text}")


@app.command()
def merchants(fit: Fit, json: Json = False) -> None:
    """Compare measured and predicted rates of the merchants by which a fit was calibrated."""
    with connection.client() as client:
        steps, found = client.audience_fit(fit).report.get("steps", []), list(
            every(partial(client.audience_merchants, fit)))
    if json:
        say(json_text.dumps([one.model_dump() for one in found]))
        return
    table(("merchant", "stratum", "users", "step", "measured", "fused", "reasoned", "fitted"), [
        (one.merchant, one.stratum, str(one.users), step, cell(one.rates[place]), _rate(one.fused, place),
         _rate(one.reasoned, place), cell(one.fitted[place])) for one in found for place, step in enumerate(steps)])


nouns.add_delete(app, "audience fits")


@app.command()
def simulate(
    fit: Fit,
    merchant: Annotated[str, typer.Option(help="Features of the merchant, as JSON.")],
    strategy: Annotated[str, typer.Option(help="Features of the strategy, as JSON.")],
    segment: Annotated[str, typer.Option(help="Conditions on users: a JSON list of column, comparison, bound.")] =
    "[]",
    seed: Annotated[int, typer.Option(min=0, help="Of the personas.")] = 0,
    json: Json = False,
) -> None:
    """Say how users react to a merchant's strategy."""
    with connection.client() as client:
        found = client.simulate_audience(fit, _json(merchant, "--merchant", dict), _json(strategy, "--strategy", dict),
                                         _json(segment, "--segment", list), seed)
    _show_reaction(found, json)


@app.command()
def evaluate(
    fit: Fit,
    groups: Annotated[Path, typer.Argument(help="File of JSON lines: merchant, strategy, rates, users, and perhaps "
                                           "segment and seed.")],
    json: Json = False,
) -> None:
    """Compare simulated rates with measured rates."""
    wanted = [json_text.loads(line) for line in groups.read_text().splitlines() if line.strip()]
    with connection.client() as client:
        found = client.evaluate_audience(fit, wanted)
    if json:
        say(found.model_dump_json())
        return
    table(("stratum", "GSE %", "MAE", "groups"), [
        _errors("all", found.all), *(_errors(name, errors) for name, errors in found.by_stratum.items() if name)])
    say(f"right directions between strategies: {cell(found.sign_accuracy)}")


@app.command()
def calibrate(
    fit: Fit, shrinkage: Annotated[float, typer.Option(min=0, help="Number of users to which the common weight is "
                                                       "equal in a stratum's weight.")] = 200.0,
    json: Json = False,
) -> None:
    """Weigh reasoner and fitted model anew. No model is asked."""
    with connection.client() as client:
        _show(client.calibrate_audience(fit, shrinkage), json)


def _show(found: AudienceFit, json: bool) -> None:
    if json:
        say(found.model_dump_json())
        return
    if found.state == "failed":
        say(f"the fit failed: {found.reason}")
    report = {name: value for name, value in found.report.items() if name not in ("errors", "fields")}
    table(("figure", ""), [(name, cell(value)) for name, value in report.items()])
    if errors := found.report.get("errors"):
        table(("error on merchants left out", "GSE %", "MAE"), [
            (name.replace("_", " "), cell(one["gse"]), cell(one["mae"])) for name, one in errors.items()])
    say(f"{found.id} {found.state}")


def _show_reaction(found: AudienceReaction, json: bool) -> None:
    if json:
        say(found.model_dump_json())
        return
    table(("step", "rate", "reasoned", "fitted", "weight"), [
        (one.step, cell(one.rate), cell(one.reasoned), cell(one.fitted), cell(one.weight)) for one in found.steps])
    say(f"{found.users} users, {found.personas} personas; gap {cell(found.gap)}, running mean {cell(found.mean_gap)}"
        + ("; the alarm rings: reasoner and fitted model part" if found.alarm else ""))
    for flag in found.flags:
        say(f"note: {flag}")


def _errors(name: str, found: AudienceErrors) -> tuple[str, ...]:
    return name, cell(found.gse), cell(found.mae), str(found.groups)


def _rate(values: list[float] | None, place: int) -> str:
    return cell(None if values is None else values[place])


def _json(text: str, option: str, kind: type[Any]) -> Any:
    try:
        found = json_text.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from None
    if not isinstance(found, kind):
        raise typer.BadParameter(f"{option}: found {text!r}, expected a JSON {'object' if kind is dict else 'list'}")
    return found


def _file(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text())
    if not isinstance(found, dict):
        raise typer.BadParameter(f"{path}: expected an object")
    return found
