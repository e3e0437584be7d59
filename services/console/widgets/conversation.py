"""A played task as a person reads it: what was said and done, and the state after it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hone.client.play_resources import PlayState, PlayStep
from services.console.widgets import formats, parts
from services.console.widgets.markup import Markup, code, details, join, tag


def messages(said: Iterable[Mapping[str, Any]]) -> Markup:
    """Return messages, each below its role."""
    return join(_said(str(one.get("role", "")), _text(one.get("content"))) for one in said)


def move(text: str) -> Markup:
    """Return the person's move."""
    return _said("you", text, "own")


def call(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the call of a tool in a line."""
    return f"{tool} {json.dumps(dict(arguments), ensure_ascii=False)}"


def outcome(taken: PlayStep) -> Markup:
    """Return the outcome of a step beside the words: not understood, noise, a reward, the end."""
    chips = [parts.chip("not understood", "warn")] if not taken.valid else []
    if taken.injection is not None:
        chips.append(parts.chip(f"noise: {taken.injection['type']}", "wait"))
    if taken.reward is not None:
        chips.append(parts.chip(f"reward {formats.number(taken.reward)}", "busy"))
    if taken.done:
        chips.append(parts.chip(f"ended: {taken.ended}", "good"))
    without = taken.injection and taken.injection.get("original")
    shown = [_said("without noise", _text(without))] if without else []
    return join([*shown, tag("div", join(chips, " ")) if chips else ""])


def state(found: PlayState) -> Markup:
    """Return the figures of a session, its components, and its state and item, folded."""
    score = parts.figure("Score", formats.number(found.score), _decided(found))
    left = parts.figure("Turns left", found.turns_left, f"ended: {found.ended}" if found.done else "")
    components = parts.facts((name, formats.number(value)) for name, value in found.components.items())
    kept: object = code(_json(found.state)) if found.state is not None else tag(
        "p", f"{formats.size(found.state_bytes)}, more than the gateway sends", class_="note")
    return join([parts.figures(score, left), components if found.components else "",
                 details("State of the environment", kept), details("What graders see", code(_json(found.item)))])


def _decided(found: PlayState) -> str:
    if found.score is not None:
        return "by the environment itself"
    return f"a run's grader decides, here {found.grader.get('type', 'a grader of the run')}"


def _said(role: str, text: str, kind: str = "") -> Markup:
    return tag("div", tag("span", role, class_="role"), code(text), class_=f"step {kind}".strip())


def _text(content: object) -> str:
    return content.rstrip("\n") if isinstance(content, str) else _json(content)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def properties(tool: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return the JSON schema of each argument of a tool."""
    found: Mapping[str, Mapping[str, Any]] = tool["function"].get("parameters", {}).get("properties", {})
    return found


def names(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of tools."""
    return [str(tool["function"]["name"]) for tool in tools]
