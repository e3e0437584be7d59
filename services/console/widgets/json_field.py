"""A field for a JSON object, with what is wrong in it right below."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from nicegui import ui

from hone.spec.problems import Problem
from services.console.widgets.markup import Markup, html, join, mono, tag


class NoObject(ValueError):
    """A text is no JSON object; the message says why, and where."""


class JsonField:
    """A field whose text is a JSON object."""

    def __init__(self, label: str, value: Mapping[str, Any] | None = None) -> None:
        with ui.element("div").classes("json-field"):
            self._text = ui.textarea(label, value="" if value is None else as_text(value)).props(
                "outlined autogrow spellcheck=false input-class=mono")
            self._wrong = html(Markup("")).props("role=status")

    def show(self, value: Mapping[str, Any]) -> None:
        """Show another object."""
        self._text.set_value(as_text(value))
        self._wrong.set_content(Markup(""))

    def read(self) -> dict[str, Any] | None:
        """Return the object, or None after showing why the text is none."""
        self._wrong.set_content(Markup(""))
        try:
            return read(str(self._text.value or ""))
        except NoObject as error:
            self._wrong.set_content(tag("p", str(error), class_="refused"))
            return None

    @property
    def empty(self) -> bool:
        """Whether nothing is written."""
        return not str(self._text.value or "").strip()

    def refuse(self, problems: Sequence[Problem]) -> None:
        """Show what the gateway found wrong in the object, field by field."""
        self._wrong.set_content(join(tag("p", mono(one.field), f": found {one.found}, expected {one.expected}",
                                         class_="refused") for one in problems))


def as_text(value: Mapping[str, Any]) -> str:
    """Return an object as a person edits it."""
    return json.dumps(dict(value), indent=2, ensure_ascii=False)


def read(text: str) -> dict[str, Any]:
    """Return the object that a text is. Raises NoObject."""
    if not text.strip():
        raise NoObject("Nothing is written: expected a JSON object.")
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
        json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise NoObject(f"Line {error.lineno}, column {error.colno}: {error.msg}.") from None
    except UnicodeEncodeError:
        raise NoObject("Found a lone surrogate, expected text that UTF-8 can write.") from None
    except RecursionError:
        raise NoObject("Found values that are nested too deep.") from None
    except ValueError as error:
        raise NoObject(f"{error}.") from None
    if not isinstance(found, dict):
        raise NoObject(f"Found {text.strip()[:40]}, expected a JSON object: {{…}}.")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise NoObject(f"Found {name}, expected JSON.")
