"""/admin/quotas: what the tenant may use, and what it uses now."""

from nicegui import ui
from starlette.requests import Request

from services.console.pages import administration
from services.console.view import PageView
from services.console.widgets import quotas
from services.console.widgets.markup import Markup, html, link, tag

_REFRESH_S = 5.0


async def show(view: PageView, request: Request) -> None:
    """Show each quota with what is used of it, and keep it current."""
    administration.head(view, "Quotas", f"Limits and present usage of the tenant {view.session.account.tenant}.")
    with ui.element("section").classes("panel"):
        bars = html(Markup(""))
    operator = view.session.account.operator
    html(tag("p", link("Set quotas on the page Tenants", "/admin/tenants") if operator else
             "An admin key of the operator sets them.", class_="note"))

    async def load() -> None:
        bars.set_content(quotas.bars(await view.ask(view.hone.quotas)))

    await load()
    view.live(load, _REFRESH_S)
