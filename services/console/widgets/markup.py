"""HTML as values. Any text that is not Markup is escaped, because pages show texts that models and users wrote."""

from collections.abc import Iterable

from markupsafe import Markup, escape
from nicegui import ui

__all__ = ["Markup", "code", "details", "escape", "html", "join", "link", "mono", "quoted", "tag"]


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element. `class_` is the attribute class, `data_label` is data-label; None leaves an attribute out."""
    given = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items() if value is not None)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), given, join(content))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Return the parts one after the other, with `between` between them."""
    return Markup(escape(between)).join(escape(part) for part in parts)


def link(text: object, to: str, **attributes: object) -> Markup:
    """Return a link inside the console."""
    return tag("a", text, href=to, **attributes)


def code(text: object) -> Markup:
    """Return preformatted text in a box of its own that scrolls."""
    return tag("pre", text, tabindex="0")


def details(summary: object, content: object, opened: bool = False) -> Markup:
    """Return content that a click or Enter on the summary opens and closes."""
    return tag("details", tag("summary", summary), content, open="" if opened else None)


def mono(text: object, title: str | None = None) -> Markup:
    """Return an id, a digest or a name in the typeface of code."""
    return tag("span", text, class_="mono", title=title)


def quoted(text: str) -> str:
    """Return a text for a property of an element, between double quotes."""
    return text.replace("\\", "").replace('"', "'")


def html(content: Markup, kind: str = "div") -> ui.html:
    """Put markup on the page, inside an element of this kind."""
    return ui.html(content, sanitize=False, tag=kind).classes("markup")
