"""Evidence of a grade: questions to judges and their answers, and the output of programs.

Policies and judges wrote these texts: they are shown as texts, whatever they hold, and no address in them is opened.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from services.console.widgets import formats
from services.console.widgets.markup import Markup, code, details, join, mono, tag

_LONG, _BEGINNING = 700, 160
"""Characters from which a text is folded, and those of it that stay visible."""
_OPEN = 2
"""Entries that are open from the start."""
_PRINTED = {"stdout": "Printed", "stderr": "Printed as errors"}


def entries(found: Sequence[Mapping[str, Any]]) -> Markup:
    """Return the evidence of a grade, an entry that can be folded for each question and each program."""
    return join(_entry(one, place < _OPEN) for place, one in enumerate(found))


def tokens(used: Mapping[str, int]) -> str:
    """Return the usage of judges: 120 tokens of judge-1; 0 where all answers were cached."""
    return ", ".join(f"{formats.count(count)} tokens of {judge}" for judge, count in used.items())


def _entry(one: Mapping[str, Any], opened: bool) -> Markup:
    if isinstance(one.get("asked"), list) and "answered" in one:
        return details(_judge(one), tag("div", *(_message(message) for message in one["asked"]),
                                        _said("answered", one["answered"]), class_="evidence"), opened)
    if "ran" in one:
        return details(_program(one), tag("div", _printed(one), class_="evidence"), opened)
    return details("Something that this console does not know", code(_json(one)), opened)


def _judge(one: Mapping[str, Any]) -> Markup:
    judge, model = str(one.get("judge", "")), str(one.get("model", ""))
    return join([tag("strong", judge or "A judge"), mono(model) if model != judge else "", "was asked"], " ")


def _program(one: Mapping[str, Any]) -> Markup:
    wall = one.get("wall_ms")
    took = f"ran for {formats.number(wall)} ms" if isinstance(wall, int | float) else "ran"
    return join([tag("strong", one["ran"]), took], " ")


def _printed(one: Mapping[str, Any]) -> Markup:
    shown = [_said(words, one[name]) for name, words in _PRINTED.items() if one.get(name)]
    rest = {name: value for name, value in one.items() if name not in (*_PRINTED, "ran", "wall_ms")}
    return join([*shown, code(_json(rest)) if rest else "",
                 "" if shown or rest else tag("p", "It printed nothing.", class_="note")])


def _message(message: object) -> Markup:
    if not isinstance(message, Mapping):
        return code(_json(message))
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    words = list(filter(None, [*map(_part, parts), *map(_call, message.get("tool_calls") or ())]))
    return _said(str(message.get("role", "message")), "\n".join(words))


def _call(call: object) -> str:
    """Return a judge's look: a tool with its arguments, as it wrote them."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return _json(call)
    return f"→ {function.get('name')}({function.get('arguments') or ''})"


def _part(part: object) -> str:
    """Return a part of a message as text. Pictures and sounds are named, not loaded."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return "" if part is None else _json(part)
    if isinstance(part.get("text"), str):
        return str(part["text"])
    return f"[{part.get('type', 'part')}] {_json(part)}"


def _said(who: str, text: object) -> Markup:
    """Return someone's words, folded where they are long."""
    whole = text if isinstance(text, str) else "" if text is None else _json(text)
    body = code(whole or "(nothing)")
    if len(whole) > _LONG:
        beginning = tag("span", f"{whole[:_BEGINNING]} …", class_="mono")
        body = details(join([beginning, tag("span", f"{formats.count(len(whole))} characters", class_="note")], " "),
                       body)
    return tag("div", tag("h4", who), body)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
