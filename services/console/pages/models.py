"""/models: base models, and the policies that runs trained from them."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from nicegui import ui
from starlette.requests import Request

from hone.client.artifact_resources import Model
from hone.client.resources import RunSummary, StoredFile
from services.console.pages import deletion
from services.console.pages.file_forms import FileForm
from services.console.view import PageView
from services.console.widgets import formats, parts, tables, uploads
from services.console.widgets.markup import Markup, html, join, link, mono
from services.console.widgets.tables import RIGHT, Column

_MOST = 200


async def show(view: PageView, request: Request) -> None:
    """Show registered models and the newest version of each run's policy."""
    after, after_run = (request.query_params.get(name) for name in ("after", "after_run"))
    found = await view.ask(view.hone.models, _MOST, after)
    runs = await view.ask(view.hone.runs, _MOST, after_run)
    html(parts.heading("Models", "The base models of runs, and the policies that runs trained from them."))
    html(parts.section("Base models", _models(found.data), parts.pager("/models", "after", after, found.next)))
    FileForm(view, "New model", "The files of a directory as transformers writes it: config.json, model.safetensors, "
             "tokenizer.json and so on.", partial(_send, view), many=True)
    html(uploads.section((await view.ask(view.hone.uploads)).data, "model"))
    html(parts.section("Policies", _policies(runs.data), parts.pager("/models", "after_run", after_run, runs.next),
                       note="The newest version of each run's policy."))


async def _send(view: PageView, name: str, directory: Path) -> None:
    made = await view.ask(view.hone.upload_model, name, directory)
    ui.navigate.to(f"/models/{made.name}")


def _models(found: Sequence[Model]) -> Markup:
    if not found:
        return parts.empty("No models yet", "A model is a directory in the layout that transformers writes.",
                           "hone models add my-base path/to/directory")
    columns = [Column("Model"), Column("Architecture"), Column("Parameters", RIGHT), Column("Type"),
               Column("Vocabulary", RIGHT), Column("Positions", RIGHT), Column("Size", RIGHT), Column("Added")]
    return tables.table(columns, [[
        link(one.name, f"/models/{one.name}", class_="strong"), one.architecture, formats.count(one.parameters),
        one.dtype, formats.count(one.vocab_size), formats.count(one.max_positions), formats.size(_bytes(one.files)),
        parts.moment(one.created_at)] for one in found])


def _policies(found: Sequence[RunSummary]) -> Markup:
    if not found:
        return parts.empty("No policies yet", "Each run trains a policy. Its newest version appears here.")
    columns = [Column("Run"), Column("State"), Column("Base", "name"), Column("Version", RIGHT),
               Column("Newest version"), Column("Reward", RIGHT)]
    return tables.table(columns, [[
        link(one.name, f"/runs/{one.id}/versions", class_="strong"), parts.run_state(one), one.base or formats.ABSENT,
        one.step if one.version_id else formats.ABSENT, mono(formats.short(one.version_id, 16), one.version_id),
        formats.number(one.reward)] for one in found])


async def show_one(view: PageView, request: Request) -> None:
    """Show one base model: its facts, its files, the runs that start from it."""
    model = await view.ask(view.hone.model, request.path_params["name"])
    after = request.query_params.get("after")
    runs = await view.ask(view.hone.runs, _MOST, after, base=[model.name, model.id])
    with ui.element("div").classes("run-head"):
        html(parts.heading(model.name, join([model.architecture, mono(model.id)], " · "), [("Models", "/models")]))
        words = "No run can start from it any more. Its files stay as long as a run that started from it is stored."
        deletion.button(view, f"the model {model.name}", words, partial(view.hone.delete_model, model.id), "/models")
    html(parts.figures(
        parts.figure("Parameters", formats.count(model.parameters), model.dtype),
        parts.figure("Vocabulary", formats.count(model.vocab_size), "tokens"),
        parts.figure("Positions", formats.count(model.max_positions), "at most"),
        parts.figure("Size", formats.size(_bytes(model.files)), f"{len(model.files)} files")))
    older = parts.pager(request.url.path, "after", after, runs.next)
    html(parts.section("Runs from this model", _policies(runs.data), older))
    html(parts.section("Ends", _ends(model), note=_text_note(model)))
    if model.text.lacks:
        html(parts.section("Messages that it cannot read", _lacks(model),
                           note="Rows that need any of these are left out, with this reason."))
    ignored = f"Not stored, because they are not part of a model: {', '.join(model.ignored)}." if model.ignored else ""
    html(parts.section("Files", tables.files(model.files), note=ignored))


def _ends(model: Model) -> Markup:
    columns = [Column("Token"), Column("Id", RIGHT), Column("Declared in", "wide")]
    return tables.table(columns, [[mono(end.text), formats.count(end.id), ", ".join(end.sources)]
                                  for end in model.text.ends])


def _text_note(model: Model) -> str:
    """Say how prompts begin, and which ids are never sampled."""
    text = model.text
    template = "Conversations go through its chat template" if text.templated else (
        "It has no chat template: the contents of messages are joined")
    begins = f"prompts begin with {text.bos}" if text.bos else "prompts begin with no bos"
    unused = f" {formats.count(text.unused_ids)} ids have no token and are never sampled." if text.unused_ids else ""
    return f"An answer is over at any of these. {template}; {begins}.{unused}"


def _lacks(model: Model) -> Markup:
    return tables.table([Column("Needs"), Column("Reason", "wide")], [
        [mono(need), reason.removeprefix(f"{need}: ")] for need, reason in sorted(model.text.lacks.items())])


def _bytes(found: Mapping[str, StoredFile]) -> int:
    return sum(one.bytes for one in found.values())
