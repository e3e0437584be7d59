"""Every member of a catalogue has an example that fits its own parameters and the JSON schema of a run spec."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from hone.algorithms.slots import SLOTS
from hone.client import catalog
from hone.client.examples import example
from hone.client.members import KINDS, Member, find
from hone.client.run_schema import run_schema
from hone.graders import specs
from hone.spec.problems import Invalid
from hone.spec.run import RunSpec

SPEC = {"name": "x", "model": {"base": "toy"}, "task": {"environment": "sort_digits"}, "steps": 1}
MEMBERS = [member for members in KINDS.values() for member in members()]
EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples").glob("*.yaml"))


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.dumps(run_schema()))


def wrong(schema: jsonschema_rs.Draft202012Validator, spec: Any) -> list[tuple[list[str | int], str]]:
    return [(error.instance_path, error.message) for error in schema.iter_errors(spec)]


def titled(member: Member) -> str:
    return f"{member.kind}.{member.slot}.{member.name}"


@pytest.mark.parametrize("member", MEMBERS, ids=titled)
def test_an_example_is_a_part_of_a_spec(schema: jsonschema_rs.Draft202012Validator, member: Member) -> None:
    part = yaml.safe_load(example(member))
    spec = RunSpec.model_validate({**SPEC, **part})
    assert wrong(schema, {**SPEC, **part}) == []
    if member.kind == "grader":
        assert spec.grader
        specs.checked(spec.grader, "grader")


@pytest.mark.parametrize("preset", [preset.name for preset in catalog.algorithms() if not preset.unmet])
def test_the_schema_takes_every_starting_spec(schema: jsonschema_rs.Draft202012Validator, preset: str) -> None:
    assert wrong(schema, catalog.starting_spec(preset, "toy", environment="sort_digits").spec) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_schema_takes_the_examples_which_name_it(schema: jsonschema_rs.Draft202012Validator, path: Path) -> None:
    assert path.read_text().startswith("# yaml-language-server: $schema=run.schema.json\n")
    assert wrong(schema, yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize(("changes", "at"), [
    ({"task": {"environment": "sort_digit"}}, ["task", "environment"]),
    ({"task": {"environment": "sort_digits", "params": {"digit": 4}}}, ["task", "params"]),
    ({"grader": {"type": "exact", "refernce": "x"}}, ["grader"]),
    ({"grader": {"type": "exakt"}}, ["grader", "type"]),
    ({"harness": {"name": "chad"}}, ["harness", "name"]),
    ({"algorithm": "gpro"}, ["algorithm"]),
    ({"algorithm": {"loss": {"name": "ppo_clip", "params": {"low": "x"}}}}, ["algorithm"]),
    ({"optimizer": {"schedule": "cosin"}}, ["optimizer", "schedule"]),
    ({"stages": [{"until": 1, "algorithm": "gpro"}]}, ["stages", 0, "algorithm"]),
])
def test_the_schema_refuses_unknown_names_and_parameters(
    schema: jsonschema_rs.Draft202012Validator, changes: dict[str, Any], at: list[str | int],
) -> None:
    assert wrong(schema, {**SPEC, **changes})[0][0] == at


def test_methods_of_every_slot_are_members() -> None:
    members = {(member.slot, member.name) for member in MEMBERS if member.kind == "method"}
    assert members == {(slot, name) for slot, methods in SLOTS.items() for name in methods}


def test_a_name_of_several_slots_has_several_members() -> None:
    assert {member.slot for member in find("method.dynamo")} == {"allocation", "modulation"}


@pytest.mark.parametrize(("name", "expected"), [
    ("grader.mth", "did you mean math?"), ("graders.math", "did you mean grader?"), ("math", "grader.math")])
def test_an_unknown_name_is_refused_with_the_nearest(name: str, expected: str) -> None:
    with pytest.raises(Invalid, match=expected) as refused:
        find(name)
    assert refused.value.problems[0].field == "name"
