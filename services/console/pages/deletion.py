"""Deleting: a question with the thing's name, the request, and the way to what is left."""

from collections.abc import Callable

from nicegui import ui

from services.console.view import PageView
from services.console.widgets import questions


async def asked(view: PageView, what: str, words: str, delete: Callable[[], object]) -> bool:
    """Ask whether to delete `what`, such as "the dataset sums", and delete it. Return whether it was.

    Raises HoneError; Conflict names what uses it.
    """
    if not await questions.agreed(f"Delete {what}?", words, act="Delete it", leave="Keep it"):
        return False
    await view.ask(delete)
    return True


def button(view: PageView, what: str, words: str, delete: Callable[[], object], then: str) -> None:
    """Put a button on the page that deletes what the page shows, and then opens the page `then`."""
    async def act() -> None:
        if await asked(view, what, words, delete):
            ui.navigate.to(then)

    view.permit(ui.button("Delete", on_click=lambda: view.tried(act), color=None).props(
        "outline no-caps").classes("plain grave"), "run")
