"""/admin/prices: the price list of the stack; the operator changes it."""

from nicegui import ui
from starlette.requests import Request

from hone.client.account_resources import Prices
from services.console.pages import administration
from services.console.view import PageView
from services.console.widgets import formats, forms, parts, tables
from services.console.widgets.markup import Markup, html
from services.console.widgets.tables import RIGHT, Column

_KINDS = {
    "prompt_tokens": ("Tokens read as prompts", "a million"), "completion_tokens": ("Generated tokens", "a million"),
    "scored_tokens": ("Scored tokens", "a million"), "trained_tokens": ("Trained tokens", "a million"),
    "grading_s": ("Grading", "a second"), "trainer_s": ("A trainer", "a second"),
}
"""Field -> what it is the price of, and the amount that costs it."""


async def show(view: PageView, request: Request) -> None:
    """Show the price list, and the operator's button to change it."""
    administration.head(view, "Prices", "Prices of usage. A new price holds from now on; earlier usage keeps its cost.")
    listed = html(Markup(""))

    async def load() -> Prices:
        found = await view.ask(view.hone.prices)
        listed.set_content(listing(found))
        return found

    async def change() -> None:
        found = await load()
        fields = {name: (f"{of}, {per}", getattr(found, name)) for name, (of, per) in _KINDS.items()}
        given = await forms.changed("Prices of the stack", "Another currency is another word: nothing is converted.", {
            **fields, "currency": ("Currency", found.currency)}, act="Set prices")
        if given:
            forms.expect_unchanged(found, await view.ask(view.hone.prices), given)
            await view.ask(lambda: view.hone.set_prices(**given))
            await load()

    await load()
    button = ui.button("Change prices", on_click=lambda: view.tried(change), color=None).props(
        "outline no-caps").classes("plain")
    view.permit(button, "admin", operator=True)


def listing(found: Prices) -> Markup:
    """Return the price list."""
    rows = [[of, f"{formats.number(getattr(found, name))} {found.currency}", per] for name, (of, per) in _KINDS.items()]
    table = tables.table([Column("Of"), Column("Price", RIGHT), Column("For")], rows)
    since = parts.moment(found.since) if found.since else "since the stack began"
    return parts.section("Price list", table, note=since)
