"""The quotas of a tenant: in words, and as a form in a dialog."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from nicegui import ui

from hone.client.account_resources import Limits, Tenant
from services.console.widgets import formats, questions
from services.console.widgets.markup import html, tag

_GIB = 2**30


class Quota(NamedTuple):
    """A quota: its field, its label in the form, and how many of the field's units are one of the label's."""

    field: str
    label: str
    unit: int = 1


QUOTAS = (Quota("max_runs", "Open runs"), Quota("max_running_groups", "Groups sampled at a time"),
          Quota("max_tokens_a_day", "Tokens a day"), Quota("max_stored_bytes", "Stored, GiB", _GIB),
          Quota("month_budget", "Money a month"))


def words(limits: Limits) -> Iterator[str]:
    """Yield the quotas that limit something, in words."""
    if limits.max_runs is not None:
        yield f"{limits.max_runs} open runs"
    yield f"{formats.count(limits.max_running_groups)} groups at a time"
    if limits.max_tokens_a_day is not None:
        yield f"{formats.count(limits.max_tokens_a_day)} tokens a day"
    if limits.max_stored_bytes is not None:
        yield f"{formats.size(limits.max_stored_bytes)} stored"
    if limits.month_budget is not None:
        yield f"{formats.number(limits.month_budget)} a month"


async def asked(tenant: Tenant) -> dict[str, Any]:
    """Ask for the quotas of a tenant in a dialog. Return the fields that the person changed."""
    with ui.dialog() as dialog, questions.card(f"Quotas of the tenant {tenant.name}"):
        html(tag("p", "An empty field is no limit.", class_="note"))
        fields = {one: ui.number(one.label, value=shown(tenant, one), min=0).props("outlined dense").classes("wide")
                  for one in QUOTAS}
        with ui.element("div").classes("actions"):
            ui.button("Leave them", on_click=lambda: dialog.submit(False), color=None).props(
                "outline no-caps").classes("plain")
            ui.button("Set quotas", on_click=lambda: dialog.submit(True), color=None).props(
                "unelevated no-caps").classes("primary")
    chosen = bool(await dialog)
    changes = {one.field: stored(one, field.value) for one, field in fields.items()
               if field.value != shown(tenant, one)}
    dialog.delete()
    return changes if chosen else {}


def shown(limits: Limits, quota: Quota) -> float | None:
    """Return a quota in the unit of its label."""
    value = getattr(limits, quota.field)
    return None if value is None else value / quota.unit if quota.unit != 1 else value


def stored(quota: Quota, value: float | None) -> float | None:
    """Return what a person wrote into a field as the gateway takes it; whole numbers but for money."""
    if value is None:
        return None
    return value * quota.unit if quota.field == "month_budget" else int(value * quota.unit)
