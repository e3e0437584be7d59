"""The head of every page of the place Admin: links to its pages, and why a key sees no more than it does."""

from hone.client.account_resources import Account
from services.console.view import PageView
from services.console.widgets import parts
from services.console.widgets.markup import Markup, html, join, link, tag

PAGES = {"Keys": "/admin", "Quotas": "/admin/quotas", "Prices": "/admin/prices", "Storage": "/admin/storage",
         "Audit log": "/admin/audit", "Tenants": "/admin/tenants"}
"""Title -> path."""

_ADMINS, _OPERATORS = ("Keys", "Audit log"), ("Tenants",)


def head(view: PageView, here: str, note: str) -> bool:
    """Show the head of a page. Return whether the person's key may see the page; if not, the reason is shown."""
    html(parts.heading(here, note))
    html(tag("nav", *(link(name, path, aria_current="page" if name == here else None) for name, path in PAGES.items()),
             class_="tabs", aria_label="Pages of Admin"))
    reason = view.lacks("admin", operator=here in _OPERATORS) if here in (*_ADMINS, *_OPERATORS) else ""
    if reason:
        html(parts.empty("Not with this key", reason))
    return not reason


def whose(account: Account) -> Markup:
    """Say with which key a person is signed in."""
    return join(["You are signed in with the key ", tag("strong", account.key), " of the tenant ",
                 tag("strong", account.tenant), f". It has {', '.join(account.scopes)}."])
