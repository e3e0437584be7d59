"""The frame around every page: navigation, theme, help, sign-out."""

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import ui

from services.console.sessions import BrowserSession
from services.console.view import PageView, Shortcuts
from services.console.widgets.markup import Markup, html, join, link, tag

PLACES = {
    "r": ("Runs", "/runs"), "m": ("Models", "/models"), "d": ("Datasets", "/datasets"),
    "p": ("Playground", "/playground"), "o": ("Routes", "/routes"), "a": ("Graders", "/graders"),
    "l": ("Leaderboard", "/benchmarks"), "s": ("Services", "/services"), "u": ("Usage", "/usage"),
    "k": ("Admin", "/admin"),
}
"""Key after `g` -> title and path."""

_INSIDE = {"/judges": "/graders", "/packages": "/datasets", "/audiences": "/datasets", "/play": "/playground"}
"""Beginning of a path -> the place that it belongs to, where that has another path."""

PRIMARY = "#4f7cff"
"""Colour of the elements that Quasar draws."""

SCRIPT = """<script>
new MutationObserver((_, observer) => {
  const place = document.querySelector('.menu nav [aria-current]');
  if (!place) return;
  observer.disconnect();
  place.parentElement.scrollLeft = place.offsetLeft - place.parentElement.offsetLeft - 40;
}).observe(document, {childList: true, subtree: true});
</script>"""
"""On a narrow screen the places are a row that scrolls: show the one that is open."""

_THEMES: dict[bool | None, tuple[str, str, bool | None]] = {
    None: ("brightness_auto", "Theme: the system's", True), True: ("dark_mode", "Theme: dark", False),
    False: ("light_mode", "Theme: light", None),
}
"""Choice -> icon, label, next choice."""


@contextmanager
def frame(title: str, path: str, session: BrowserSession, again: str) -> Iterator[PageView]:
    """Open the page of a signed-in browser. Elements that are made in the context become its content.

    `again` is the path of the sign-in page for a session that ends while the page is open.
    """
    ui.page_title(f"{title} · Hone")
    ui.colors(primary=PRIMARY)
    dark = ui.dark_mode(session.dark)
    shortcuts = Shortcuts()
    html(link("Skip to content", "#content", class_="skip"))
    with ui.element("div").classes("shell"):
        with ui.element("header").classes("side"):
            html(_navigation(path))
            with ui.element("div").classes("tools"):
                _theme_button(dark, session)
                _help_button(shortcuts)
                html(_sign_out(session))
        with ui.element("main").classes("page"):
            html(tag("a", id="content", tabindex="-1"))
            yield PageView(session, shortcuts, html(Markup("")), again)


def _navigation(path: str) -> Markup:
    first = f"/{path.split('/')[1]}"
    here = _INSIDE.get(first, first)
    links = [link(name, to, aria_current="page" if to == here else None) for name, to in PLACES.values()]
    return tag("div", link(join([logo(), tag("span", "Hone")]), "/runs", class_="brand"),
               tag("nav", *links, aria_label="Pages"), class_="menu")


def _sign_out(session: BrowserSession) -> Markup:
    who = f"Signed in with the key {session.account.key} of the tenant {session.account.tenant}"
    return tag("form", tag("button", "Sign out", type="submit", class_="plain", title=who), method="post",
               action="/sign-out")


def logo() -> Markup:
    """Return the logo."""
    return Markup('<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="M4 17 9 9l4 5 7-10" '
                  'fill="none" stroke="currentColor" stroke-width="2.6" stroke-linecap="round" '
                  'stroke-linejoin="round"/></svg>')


def _theme_button(dark: ui.dark_mode, session: BrowserSession) -> None:
    def turn() -> None:
        session.dark = _THEMES[session.dark][2]
        dark.set_value(session.dark)
        show()

    def show() -> None:
        icon, label, _ = _THEMES[session.dark]
        button.props(f'icon={icon} aria-label="{label}" title="{label}"')

    button = ui.button(on_click=turn, color=None).props("flat dense round").classes("tool")
    show()


def _help_button(shortcuts: Shortcuts) -> None:
    with ui.dialog() as dialog, ui.card().classes("dialog"):
        html(tag("h2", "Keys"))
        keys = html(Markup(""))
        ui.button("Close", on_click=dialog.close, color=None).props("flat no-caps").classes("plain")

    def show() -> None:
        keys.set_content(shortcuts.listed())
        dialog.open()

    shortcuts.pages(PLACES)
    shortcuts.add("?", "These keys", show)
    ui.button(icon="keyboard", on_click=show, color=None).props(
        'flat dense round aria-label="Keys" title="Keys (?)"').classes("tool")
