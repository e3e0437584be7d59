"""HTML as values: whatever is not Markup already is escaped, for what models write ends up on these pages."""

from collections.abc import Iterable

from markupsafe import Markup, escape

__all__ = ["Markup", "code", "details", "escape", "join", "link", "tag"]


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element. `class_` is the attribute class, `data_label` is data-label; None leaves one out."""
    given = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items() if value is not None)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), given, join(content))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Return the parts one after the other."""
    return Markup(escape(between)).join(escape(part) for part in parts)


def link(text: object, to: str, **attributes: object) -> Markup:
    """Return a link inside the console."""
    return tag("a", text, href=to, **attributes)


def code(text: object) -> Markup:
    """Return text as it was written, in a box that scrolls by itself."""
    return tag("pre", text, tabindex="0")


def details(summary: object, content: object, opened: bool = False) -> Markup:
    """Return what is shown when asked for; a press of Enter on the summary does."""
    return tag("details", tag("summary", summary), content, open="" if opened else None)
