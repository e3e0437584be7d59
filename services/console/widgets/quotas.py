"""The quotas of a tenant: in words, as bars, and as a form in a dialog."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from hone.client.account_resources import Limits, Quota, Quotas, Tenant
from hone.spec.money import money
from services.console.widgets import formats, forms
from services.console.widgets.markup import Markup, tag

_GIB = 2**30
_FULL, _NEAR = 1.0, 0.8


class Kind(NamedTuple):
    """A quota: its field, its name, its label in the form, and what happens when it is reached."""

    field: str
    name: str
    label: str
    reached: str


KINDS = (
    Kind("max_runs", "Open runs", "Open runs", "further runs stay queued"),
    Kind("max_running_groups", "Groups sampled at a time", "Groups sampled at a time", "groups wait for others to end"),
    Kind("max_tokens_a_day", "Tokens today", "Tokens a day", "runs pause until the next day of UTC"),
    Kind("max_stored_bytes", "Stored", "Stored, GiB", "models, datasets and uploads are refused"),
    Kind("month_budget", "Money this month", "Money a month", "runs pause until the next month of UTC"),
)


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


def bars(found: Quotas) -> Markup:
    """Return every quota with a bar: how much of it is used, and what happens when it is reached."""
    return tag("div", *(_bar(kind, getattr(found, kind.field), found.currency) for kind in KINDS), class_="quotas")


def _bar(kind: Kind, quota: Quota, currency: str) -> Markup:
    used = amount(kind, quota.used, currency)
    if quota.limit is None:
        return tag("div", tag("div", tag("strong", kind.name), tag("span", used), class_="top"),
                   tag("p", "no limit", class_="note"), class_="quota")
    share = quota.used / quota.limit if quota.limit else float(quota.used > 0)
    tone = "bad" if share >= _FULL else "warn" if share >= _NEAR else ""
    bar = tag("div", tag("i", style=f"width:{min(100.0, 100 * share):.1f}%"), class_=f"bar {tone}".strip(),
              role="meter", aria_valuenow=f"{100 * share:.0f}", aria_valuemin=0, aria_valuemax=100,
              aria_label=kind.name)
    limit = amount(kind, quota.limit, currency)
    return tag("div", tag("div", tag("strong", kind.name), tag("span", f"{used} of {limit}"), class_="top"), bar,
               tag("p", f"When it is reached, {kind.reached}.", class_="note"), class_="quota")


def amount(kind: Kind, value: float, currency: str) -> str:
    """Return an amount of a quota with its unit."""
    if kind.field == "month_budget":
        return money(value, currency)
    return formats.size(value) if kind.field == "max_stored_bytes" else formats.count(value)


async def asked(tenant: Tenant) -> dict[str, Any]:
    """Ask for the quotas of a tenant in a dialog. Return what the person changed, as the gateway takes it."""
    found = await forms.changed(f"Quotas of the tenant {tenant.name}", "An empty field means no limit.", {
        kind.field: (kind.label, shown(tenant, kind.field)) for kind in KINDS}, act="Set quotas")
    return {field: stored(field, value) for field, value in found.items()}


def shown(limits: Limits, field: str) -> float | None:
    """Return a quota in the unit of its label."""
    value: float | None = getattr(limits, field)
    return value / _GIB if value is not None and field == "max_stored_bytes" else value


def stored(field: str, value: forms.Value) -> float | None:
    """Return a person's input in a field in the gateway's unit; whole numbers but for money."""
    if not isinstance(value, int | float):
        return None
    return value if field == "month_budget" else int(value * (_GIB if field == "max_stored_bytes" else 1))
