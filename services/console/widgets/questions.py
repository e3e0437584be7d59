"""Questions before an act: they name the thing, say what will happen, and wait for the person."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from nicegui import ui

from services.console.widgets.markup import Markup, html, quoted, tag


async def agreed(
    title: str, content: Markup | str, act: str, leave: str = "Leave it", tone: Literal["danger", "primary"] = "danger",
) -> bool:
    """Ask in a dialog and return whether the person chose `act`. Escape and a click beside the dialog are no."""
    with ui.dialog() as dialog, card(title):
        html(tag("div", content))
        with ui.element("div").classes("actions"):
            ui.button(leave, on_click=lambda: dialog.submit(False), color=None).props(
                "outline no-caps autofocus").classes("plain")
            ui.button(act, on_click=lambda: dialog.submit(True), color=None).props(
                "unelevated no-caps").classes(tone)
    chosen = bool(await dialog)
    close(dialog)
    return chosen


def close(dialog: ui.dialog) -> None:
    """Take a dialog off its page, unless the page itself is gone."""
    if not dialog.is_deleted:
        dialog.delete()


@contextmanager
def card(title: str) -> Iterator[None]:
    """Make the card of a dialog with its title. Elements that are made in the context become its content."""
    with ui.card().classes("dialog").props(f'role=dialog aria-label="{quoted(title)}"'):
        html(tag("h2", title))
        yield

