"""Sign-in with an API key: the gateway is asked whether it is in use; it stays on the server."""

import asyncio
from urllib.parse import quote

from nicegui import ui
from starlette.requests import Request

from hone import keys
from hone.client import HoneError
from hone.client.errors import Unauthenticated
from services.console import parts
from services.console.layout import PRIMARY, mark
from services.console.markup import Markup, tag
from services.console.sessions import Sessions
from services.console.view import html

PATH = "/sign-in"


def place(request: Request) -> str:
    """Return where somebody who is not signed in is sent, and from there back."""
    path, query = request.scope["raw_path"].decode("latin-1"), request.url.query
    return f"{PATH}?to={quote(f'{path}?{query}' if query else path)}"


def _back(request: Request) -> str:
    """Return the page to show next: one of the console's, whatever the address says."""
    wanted = request.query_params.get("to", "")
    return wanted if wanted.startswith("/") and not wanted.startswith(("//", "/\\")) else "/runs"


def show(request: Request, sessions: Sessions) -> None:
    """Ask for a key."""
    ui.page_title("Sign in · Hone")
    ui.dark_mode(None)
    ui.colors(primary=PRIMARY)
    browser, to = request.session["id"], _back(request)
    with ui.element("main").classes("gate"):
        html(tag("div", mark(), tag("h1", "Hone"), class_="brand"))
        html(tag("p", "Sign in with an API key. It is kept in the console's memory, never in this browser.",
                 class_="lead"))
        field = ui.input("API key", password=True, password_toggle_button=True).props(
            f'outlined autofocus autocomplete=current-password placeholder="{keys.PREFIX}…"').classes("wide")
        said = html(Markup(""))

        async def enter() -> None:
            refusal = await _entered(sessions, browser, field.value.strip())
            said.set_content(refusal)
            if not refusal:
                ui.navigate.to(to)

        field.on("keydown.enter", enter)
        ui.button("Sign in", on_click=enter, color=None).props("unelevated no-caps").classes("wide primary")
        html(tag("p", tag("code", "hone keys create"), " makes a key; ", tag("code", "hone up"),
                 " writes the first one to stack.json.", class_="note"))


async def _entered(sessions: Sessions, browser: str, key: str) -> Markup:
    """Sign a browser in, or return why not."""
    if not key:
        return _said("Enter a key.")
    try:
        client = sessions.client(key)
        await asyncio.to_thread(client.runs, 1)
    except Unauthenticated as error:
        found = error.problems[0].found if error.problems else "a key"
        return _said(f"This key is not in use: found {found}, expected a key that `hone keys list` shows.")
    except HoneError as error:
        return parts.problem(error)
    except UnicodeEncodeError:
        return _said("This is no key: found characters that no header may have.")
    sessions.open(browser, client, key)
    return Markup("")


def _said(words: str) -> Markup:
    return tag("p", words, class_="refused", role="alert")
