"""/sign-in: sign in with an API key. The gateway confirms the key; the console keeps it in memory."""

import asyncio
from urllib.parse import quote

from nicegui import ui
from starlette.requests import Request

from hone import keys
from hone.client import HoneError
from hone.client.errors import Unauthenticated
from services.console.layout import PRIMARY, logo
from services.console.sessions import BrowserSessions
from services.console.widgets import parts
from services.console.widgets.markup import Markup, html, tag

PATH = "/sign-in"


def path_for(request: Request, ended: bool = False) -> str:
    """Return the path of the sign-in page that leads back to the requested page. `ended`: it says why it is there."""
    path, query = request.scope["raw_path"].decode("latin-1"), request.url.query
    to = quote(f"{path}?{query}" if query else path)
    return f"{PATH}?to={to}{'&ended=1' if ended else ''}"


def _back(request: Request) -> str:
    """Return the path to open after sign-in; only a path of the console is accepted."""
    wanted = request.query_params.get("to", "")
    return wanted if wanted.startswith("/") and not wanted.startswith(("//", "/\\")) else "/runs"


def show(request: Request, sessions: BrowserSessions) -> None:
    """Show the form for the key."""
    ui.page_title("Sign in · Hone")
    ui.dark_mode(None)
    ui.colors(primary=PRIMARY)
    browser, to = request.session["id"], _back(request)
    with ui.element("main").classes("gate"):
        html(tag("div", logo(), tag("h1", "Hone"), class_="brand"))
        html(tag("p", "Sign in with an API key. The console keeps it in memory; this browser never stores it.",
                 class_="lead"))
        if "ended" in request.query_params:
            html(tag("p", "You were signed out: the key is not accepted any more, the session was not used for "
                     "long, or you signed out on another page.", class_="banner warning", role="status"))
        field = ui.input("API key", password=True, password_toggle_button=True).props(
            f'outlined autofocus autocomplete=current-password placeholder="{keys.PREFIX}…"').classes("wide")
        message = html(Markup(""))

        async def enter() -> None:
            refusal = await _signed_in(sessions, browser, field.value.strip())
            message.set_content(refusal)
            if not refusal:
                ui.navigate.to(to)

        field.on("keydown.enter", enter)
        ui.button("Sign in", on_click=enter, color=None).props("unelevated no-caps").classes("wide primary")
        html(tag("p", tag("code", "hone keys create"), " makes a key; ", tag("code", "hone up"),
                 " writes the first key to stack.json.", class_="note"))


async def _signed_in(sessions: BrowserSessions, browser: str, key: str) -> Markup:
    """Sign a browser in. Returns the message of a refusal, or nothing."""
    if not key:
        return _refused("Enter a key.")
    try:
        client = sessions.client(key)
        account = await asyncio.to_thread(client.account)
    except Unauthenticated as error:
        found = error.problems[0].found if error.problems else "a key"
        return _refused(f"This key is not in use: found {found}, expected a key that `hone keys list` shows.")
    except HoneError as error:
        return parts.problem(error)
    except UnicodeEncodeError:
        return _refused("This is not a key: it contains characters that a key cannot have.")
    sessions.open(browser, client, account)
    return Markup("")


def _refused(words: str) -> Markup:
    return tag("p", words, class_="refused", role="alert")
