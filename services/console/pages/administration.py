"""The head of every page of the place Admin: links to its pages, and why a key sees no more than it does."""

from hone.client.account_resources import Account
from services.console.view import PageView
from services.console.widgets import parts
from services.console.widgets.markup import Markup, html, join, link, tag

PAGES = {"Keys": "/admin", "Tenants": "/admin/tenants"}
"""Title -> path."""

_OPERATORS = ("Tenants",)


def head(view: PageView, here: str, note: str) -> bool:
    """Show the head of a page. Return whether the person's key may see the page; if not, the reason is shown."""
    account = view.session.account
    html(parts.heading(here, note))
    html(tag("nav", *(link(name, path, aria_current="page" if name == here else None) for name, path in PAGES.items()),
             class_="tabs", aria_label="Pages of Admin"))
    reason = view.lacks("admin") or (_no_operator(account) if here in _OPERATORS else "")
    if reason:
        html(parts.empty("Not with this key", reason))
    return not reason


def _no_operator(account: Account) -> str:
    if account.operator:
        return ""
    return f"This needs an admin key of the operator; your key {account.key} belongs to the tenant {account.tenant}."


def whose(account: Account) -> Markup:
    """Say with which key a person is signed in."""
    return join(["You are signed in with the key ", tag("strong", account.key), " of the tenant ",
                 tag("strong", account.tenant), f". It has {', '.join(account.scopes)}."])
