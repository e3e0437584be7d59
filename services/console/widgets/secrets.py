"""A secret that is shown once, with a button that copies it."""

from nicegui import ui

from services.console.widgets.markup import html, tag

_COPY = """
(async () => {
  const field = document.querySelector('.secret input');
  field.select();
  try { await navigator.clipboard.writeText(field.value); } catch { document.execCommand('copy'); }
})()
"""


def show(title: str, secret: str) -> None:
    """Put a secret on the page. Nobody can read it again."""
    with ui.element("div").classes("secret").props("role=status"):
        html(tag("p", tag("strong", title), " Copy it now: it is shown this once, and nobody can read it again."))
        with ui.element("div").classes("filters"):
            ui.input(value=secret).props('outlined dense readonly aria-label="The new key"').classes("mono grows")
            button = ui.button("Copy", color=None).props("unelevated no-caps").classes("primary")
        # The browser lets a page write to the clipboard only while it handles the press itself.
        button.on("click", js_handler=f"() => {_COPY.strip()}")
        button.on_click(lambda: button.set_text("Copied"))
