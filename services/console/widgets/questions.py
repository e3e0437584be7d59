"""Questions before an act: they name the thing, say what will happen, and wait for the person."""

from typing import Literal

from nicegui import ui

from services.console.widgets.markup import Markup, html, tag


async def agreed(
    title: str, content: Markup | str, act: str, leave: str = "Leave it", tone: Literal["danger", "primary"] = "danger",
) -> bool:
    """Ask in a dialog and return whether the person chose `act`. Escape and a click beside the dialog are no."""
    with ui.dialog() as dialog, ui.card().classes("dialog").props(f'role=dialog aria-label="{_quoted(title)}"'):
        html(tag("h2", title))
        html(tag("div", content))
        with ui.element("div").classes("actions"):
            ui.button(leave, on_click=lambda: dialog.submit(False), color=None).props(
                "outline no-caps autofocus").classes("plain")
            ui.button(act, on_click=lambda: dialog.submit(True), color=None).props(
                "unelevated no-caps").classes(tone)
    chosen = bool(await dialog)
    dialog.delete()
    return chosen


def _quoted(text: str) -> str:
    """Return a text for a property between double quotes."""
    return text.replace("\\", "").replace('"', "'")
