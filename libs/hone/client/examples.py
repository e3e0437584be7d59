"""A short example of each member of a catalogue: the lines of a run spec that name it."""

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from hone.client.members import Member

_USUAL: Mapping[str, Any] = {
    "grader": {"type": "exact", "reference": "{{ item.answer }}"}, "input": "{{ sample.output_text }}",
    "model": "judge", "reference": "{{ item.answer }}", "server": "verifier", "task": "{{ item.question }}"}
"""Values of fields that many graders have and that give no example of their own."""


def example(member: Member) -> str:
    """Return about three lines of YAML: the member in its place of a spec, with every required parameter."""
    lines: list[str] = []
    for key, fields in _PLACED[member.kind](member).items():
        lines += [f"{key}:", *(f"  {name}: {_flow(value)}" for name, value in fields.items())]
    return "\n".join(lines)


def _flow(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")


def _environment(member: Member) -> Mapping[str, Any]:
    return {"task": {"environment": member.name, "params": _params(member)}}


def _grader(member: Member) -> Mapping[str, Any]:
    return {"grader": {"type": member.name, **_params(member)}}


def _harness(member: Member) -> Mapping[str, Any]:
    return {"harness": {"name": member.name, "params": _params(member)}}


def _method(member: Member) -> Mapping[str, Any]:
    if member.slot == "schedule":
        return {"optimizer": {"schedule": member.name, "schedule_params": _params(member)}}
    filling = {"name": member.name, "params": _params(member)}
    if member.slot == "batch_size":
        return {"batch": {"prompts": 64, "schedule": {**filling, "budget": 1000}}}
    return {"algorithm": {"preset": "grpo", member.slot: [filling] if member.slot == "regularizers" else filling}}


def _preset(member: Member) -> Mapping[str, Any]:
    return {"algorithm": {"preset": member.name}, "batch": {"prompts": 64}}


_PLACED: Mapping[str, Callable[[Member], Mapping[str, Any]]] = {
    "environment": _environment, "grader": _grader, "harness": _harness, "method": _method, "preset": _preset}


def _params(member: Member) -> dict[str, Any]:
    """Return parameters that are required or have an example; without any, the first with a plain default."""
    fields, models = member.params_schema.get("properties", {}), member.params_schema.get("$defs", {})
    shown = {name: _value(name, field, models) for name, field in fields.items()
             if name in member.required or "examples" in field}
    plain = {name: field["default"] for name, field in fields.items()
             if name not in ("type", "name") and isinstance(field.get("default"), bool | int | float | str)}
    return shown or dict(list(plain.items())[:1])


def _value(name: str, field: Mapping[str, Any], models: Mapping[str, Any]) -> Any:
    """Return a value of a field: its own example, the usual value of its name, or the least that fits its type."""
    if "examples" in field:
        return field["examples"][0]
    if "$ref" in field:
        return _value(name, models[field["$ref"].rpartition("/")[2]], models)
    if "enum" in field:
        return field["enum"][0]
    return _USUAL[name] if name in _USUAL else _least(field, models)


def _least(field: Mapping[str, Any], models: Mapping[str, Any]) -> Any:
    match field.get("type"):
        case "array":
            return [_value("", field.get("items", {}), models)]
        case "object":
            inner = field.get("properties", {})
            return {key: _value(key, inner[key], models) for key in field.get("required", ())}
        case "integer" | "number":
            return max(1, field.get("minimum", 1))
    return "text"
