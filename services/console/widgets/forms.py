"""A form in a dialog: fields by name, and what the person changed."""

from collections.abc import Iterable, Mapping

from nicegui import ui
from pydantic import BaseModel

from hone.client.errors import Conflict
from services.console.widgets import questions
from services.console.widgets.markup import html, tag

Value = float | str | None


async def changed(title: str, note: str, fields: Mapping[str, tuple[str, Value]], act: str) -> dict[str, Value]:
    """Ask for values and return those that the person changed, by name; nothing if the person left them.

    `fields` has a label and the present value of each. Text has a text field; a number, or None for an empty one, has
    a field of numbers from 0.
    """
    with ui.dialog() as dialog, questions.card(title):
        html(tag("p", note, class_="note"))
        shown = {name: _field(label, value) for name, (label, value) in fields.items()}
        with ui.element("div").classes("actions"):
            ui.button("Leave it", on_click=lambda: dialog.submit(False), color=None).props(
                "outline no-caps").classes("plain")
            ui.button(act, on_click=lambda: dialog.submit(True), color=None).props(
                "unelevated no-caps").classes("primary")
    chosen = bool(await dialog)
    found = {name: field.value for name, field in shown.items() if field.value != fields[name][1]}
    questions.close(dialog)
    return found if chosen else {}


def expect_unchanged(before: BaseModel, now: BaseModel, given: Iterable[str]) -> None:
    """Raise Conflict if another request changed one of these fields while the form was open."""
    moved = [f"{name} is {getattr(now, name)} now" for name in given if getattr(before, name) != getattr(now, name)]
    if moved:
        raise Conflict({"status": 409, "title": "Changed meanwhile", "detail":
                        f"Nothing was set, because another change came first: {', '.join(moved)}. Look again."})


def _field(label: str, value: Value) -> ui.input | ui.number:
    field = ui.input(label, value=value) if isinstance(value, str) else ui.number(label, value=value, min=0)
    return field.props("outlined dense").classes("wide")
