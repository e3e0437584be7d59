"""The JSON schema of a run spec, for editors: the typed fields, and the names and parameters of every catalogue."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hone.algorithms.slots import SLOTS
from hone.client.members import Member, environments, graders, harnesses, methods, presets
from hone.spec.run import RunSpec, Slot


def run_schema() -> dict[str, Any]:
    """Return a schema of draft 2020-12, which checks parameters by the member that a spec names beside them."""
    schema = RunSpec.model_json_schema()
    models = schema["$defs"]
    chosen = [*environments(), *graders(), *harnesses(), *methods()]
    models |= {name: part for member in chosen for name, part in _definitions(member)}
    _choose_environments(models, [member for member in chosen if member.kind == "environment"])
    _choose_algorithms(schema, [member for member in chosen if member.kind == "method"])
    for owner in (schema, models["StageSpec"], models["MixedSource"], models["EvalSource"]):
        fields = owner["properties"]
        fields["grader"] = _nullable(fields["grader"], _grader(chosen))
        fields["harness"] = _nullable(fields["harness"], _slot(member for member in chosen if member.kind == "harness"))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _definitions(member: Member) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schema of a member's parameters, and the models inside it, under names that no other member has."""
    name = _name(member)
    inner = {key: f"{name}.{key}" for key in member.params_schema.get("$defs", {})}
    yield name, _renamed({key: part for key, part in member.params_schema.items() if key != "$defs"}, inner)
    for key, part in member.params_schema.get("$defs", {}).items():
        yield inner[key], _renamed(part, inner)


def _name(member: Member) -> str:
    return ".".join(filter(None, (member.kind, member.slot, member.name)))


def _renamed(schema: Any, names: Mapping[str, str]) -> Any:
    """Return a schema whose references point to models by their new names."""
    if isinstance(schema, dict):
        return {key: _reference(names.get(value.rpartition("/")[2], value)) if key == "$ref" else _renamed(value, names)
                for key, value in schema.items()}
    return [_renamed(part, names) for part in schema] if isinstance(schema, list) else schema


def _reference(name: str) -> str:
    return f"#/$defs/{name}"


def _nullable(field: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field that is null or of the schema, with the description and the default that it had.

    Conditions on keys hold for objects alone, so that null needs no alternative, and an error names the wrong key.
    """
    kept = {key: field[key] for key in ("default", "description", "title") if key in field}
    null = {"enum": [*schema["enum"], None]} if "enum" in schema else {"type": [schema["type"], "null"]}
    return {**schema, **kept, **null}


def _by_name(key: str, params: str, members: Iterable[Member]) -> list[dict[str, Any]]:
    """Return for each member the condition that `key` names it, and the schema of its parameters in `params`."""
    return [{"if": {"properties": {key: {"const": member.name}}, "required": [key]},
             "then": {"properties": {params: {"$ref": _reference(_name(member))}}}} for member in members]


def _slot(members: Iterable[Member]) -> dict[str, Any]:
    """Return the schema of a slot that has one of some members."""
    known = list(members)
    fields = Slot.model_json_schema()
    name = {**fields["properties"]["name"], "enum": [member.name for member in known]}
    return {**fields, "properties": {**fields["properties"], "name": name}, "allOf": _by_name("name", "params", known)}


def _grader(members: Iterable[Member]) -> dict[str, Any]:
    """Return the schema of a grader, whose parameters stand beside its type. A stored grader has the type `stored`."""
    known = [member for member in members if member.kind == "grader"]
    named = [{"if": {"properties": {"type": {"const": member.name}}, "required": ["type"]},
              "then": {"$ref": _reference(_name(member))}} for member in known]
    names = [*(member.name for member in known), "stored"]
    return {"type": "object", "properties": {"type": {"enum": names, "description": "Name of the grader."}},
            "required": ["type"], "allOf": named}


def _choose_environments(models: dict[str, Any], known: list[Member]) -> None:
    for model in ("TaskSource", "TaskSpec", "MixedSource", "EvalSource"):
        fields = models[model]["properties"]
        names = {"enum": [member.name for member in known]}
        fields["environment"] = _nullable(fields["environment"], names)
        models[model]["allOf"] = _by_name("environment", "params", known)


def _choose_algorithms(schema: dict[str, Any], known: list[Member]) -> None:
    models = schema["$defs"]
    slots = {slot: [member for member in known if member.slot == slot] for slot in SLOTS}
    names = {"enum": [preset.name for preset in presets()]}
    models["AlgorithmSpec"]["properties"]["preset"] |= names
    for owner in (schema, models["StageSpec"]):
        owner["properties"]["algorithm"]["anyOf"][0] |= names
    fields = models["AlgorithmSpec"]["properties"]
    for slot in slots.keys() & fields.keys():
        each = _slot(slots[slot])
        fields[slot] = _nullable(fields[slot], {"type": "array", "items": each} if slot == "regularizers" else each)
    for model, key, params, slot in (("OptimizerSpec", "schedule", "schedule_params", "schedule"),
                                     ("BatchSizeSpec", "name", "params", "batch_size")):
        models[model]["properties"][key] |= {"enum": [member.name for member in slots[slot]]}
        models[model]["allOf"] = _by_name(key, params, slots[slot])
