"""/admin/tenants: all tenants, for admin keys of the operator: make one, its first key, suspend and delete it."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import ui
from starlette.requests import Request

from hone.client.account_resources import CreatedKey, Tenant
from services.console.pages import administration
from services.console.pages.keys import KeyForm
from services.console.view import PageView
from services.console.widgets import forms, parts, questions, quotas, tables
from services.console.widgets.markup import Markup, html, join, mono, tag
from services.console.widgets.tables import Column

_MOST = 200
Act = Callable[[Tenant], Awaitable[None]]
_COLUMNS = (Column("Tenant"), Column("State"), Column("Quotas", "wide"), Column("Made"))


async def show(view: PageView, request: Request) -> None:
    """Show the form for a new tenant and all tenants, newest first."""
    if administration.head(view, "Tenants", "Each owns runs, models and datasets that no other sees."):
        await _TenantsPage(view, request.query_params.get("after")).load()


class _TenantsPage:
    """The form and the list of tenants."""

    def __init__(self, view: PageView, after: str | None) -> None:
        self._view, self._after = view, after
        with ui.element("section").classes("panel"):
            html(tag("h2", "New tenant"))
            with ui.element("div").classes("filters"):
                self._name = ui.input("Name").props("outlined dense maxlength=100").classes("search")
                self._name.on("keydown.enter", lambda: view.tried(self._make))
                self._button = ui.button("Make tenant", on_click=lambda: view.tried(self._make), color=None).props(
                    "unelevated no-caps").classes("primary")
            self._first_key = ui.element("div").classes("more-fields")
        self._table, self._tenants = tables.LiveTable(_COLUMNS, self._add_actions), dict[str, Tenant]()
        self._pager = html(Markup(""))

    async def load(self) -> None:
        found = await self._view.ask(self._view.hone.tenants, _MOST, self._after)
        self._tenants = {one.model_dump_json(): one for one in found.data}  # a change may bring other buttons
        self._table.show({row: cells(one) for row, one in self._tenants.items()})
        self._pager.set_content(parts.pager("/admin/tenants", "after", self._after, found.next))

    async def _make(self) -> None:
        self._button.disable()
        try:
            made = await self._view.ask(self._view.hone.create_tenant, str(self._name.value or "").strip())
        finally:
            self._button.enable()
        self._name.set_value("")
        self._offer_key(made)
        await self.load()

    def _offer_key(self, tenant: Tenant) -> None:
        """Show a form for a key of a tenant, below the form for a new tenant."""
        async def make(form: KeyForm) -> CreatedKey:
            return await self._view.ask(self._view.hone.create_tenant_key, tenant.id, form.name, form.scopes,
                                        form.expires_at)

        self._first_key.clear()
        with self._first_key:
            html(tag("h3", f"A key of the tenant {tenant.name}"))
            KeyForm(self._view, "admin", make)

    def _add_actions(self, row: str) -> None:
        tenant = self._tenants[row]
        acts: list[tuple[str, Act]] = [("New key", self._open_key), ("Quotas", self._open_quotas)]
        if not tenant.operator:  # an operator cannot be suspended
            acts.append(("Suspend", self._suspend) if tenant.suspended_at is None else ("Resume", self._resume))
            acts.append(("Delete", self._delete))
        for text, act in acts:
            tables.action(text, tenant.name, partial(self._view.tried, partial(act, tenant)))

    async def _open_key(self, tenant: Tenant) -> None:
        self._offer_key(tenant)
        ui.run_javascript("window.scrollTo({top: 0, behavior: 'smooth'})")

    async def _open_quotas(self, tenant: Tenant) -> None:
        ask, hone = self._view.ask, self._view.hone
        shown = await ask(hone.tenant, tenant.id)  # the list may be older
        changes = await quotas.asked(shown)
        if changes:
            forms.expect_unchanged(shown, await ask(hone.tenant, tenant.id), changes)
            await ask(hone.change_tenant, tenant.id, **changes)
        await self.load()

    async def _suspend(self, tenant: Tenant) -> None:
        words = "Its keys are refused and its runs pause, until you resume it."
        if await questions.agreed(f"Suspend the tenant {tenant.name}?", words, act="Suspend it"):
            await self._change(tenant, suspended=True)

    async def _resume(self, tenant: Tenant) -> None:
        await self._change(tenant, suspended=False)

    async def _delete(self, tenant: Tenant) -> None:
        words = "Its keys end for good. Its runs, models and datasets have to be deleted before, with a key of its own."
        if await questions.agreed(f"Delete the tenant {tenant.name}?", words, act="Delete it"):
            await self._view.ask(self._view.hone.delete_tenant, tenant.id)
            await self.load()

    async def _change(self, tenant: Tenant, suspended: bool) -> None:
        await self._view.ask(self._view.hone.change_tenant, tenant.id, suspended=suspended)
        await self.load()


def cells(tenant: Tenant) -> Sequence[object]:
    """Return the cells of a tenant's row."""
    word = "operator " if tenant.operator else ""
    name = join([tag("strong", tenant.name), tag("div", mono(tenant.id), class_="faint")])
    chip = parts.chip(f"{word}in use", "good") if tenant.suspended_at is None else join(
        [parts.chip("suspended", "warn"), " ", parts.moment(tenant.suspended_at)])
    return [name, chip, " · ".join(quotas.words(tenant)) or "none", parts.moment(tenant.created_at)]
