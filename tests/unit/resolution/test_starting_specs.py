"""Every preset that runs has a spec to begin with, and a resolved spec is written as a person would have written it."""

from pathlib import Path
from typing import Any

import pytest

from hone.algorithms.presets import PRESETS, unmet
from hone.environments.catalogue import ENVIRONMENTS
from hone.resolution import read, resolve, starting_specs
from hone.resolution.brevity import brief
from hone.spec.files import as_json, as_text, parse
from hone.spec.files import read as read_file
from hone.spec.problems import Invalid

EXAMPLES = sorted(Path("examples").glob("*.yaml"))
RUNS = [preset for preset in PRESETS if unmet(preset) is None]


@pytest.mark.parametrize("preset", RUNS)
def test_each_preset_has_a_complete_spec_in_objects_and_in_text(preset: str) -> None:
    spec = starting_specs.make(preset)
    assert read(spec).problems == []
    assert parse(starting_specs.text(spec).encode()) == spec
    named = starting_specs.make(preset, base="toy")
    assert named["model"] == {"base": "toy"}


@pytest.mark.parametrize("environment", [name for name in ENVIRONMENTS if name != "dataset"])
def test_grpo_learns_from_each_environment(environment: str) -> None:
    spec = starting_specs.make("grpo", environment=environment)
    assert (read(spec).problems, spec["task"]["environment"]) == ([], environment)


def test_a_dataset_comes_with_a_grader() -> None:
    spec = starting_specs.make("dapo", dataset="sums")
    assert (spec["task"], spec["grader"]["type"]) == ({"dataset": "sums"}, "exact")
    assert starting_specs.make("sft", dataset="sums")["task"] == {"dataset": "sums"}
    spec = starting_specs.make("trust_sql", dataset="mine")
    assert (spec["task"], "grader" in spec) == ({"environment": "sql_exploration", "dataset": "mine"}, False)
    assert read(spec).problems == []


@pytest.mark.parametrize(("given", "expected"), [
    ({"preset": "grop"}, "did you mean grpo"), ({"preset": "memocr"}, "a preset that runs; needs: a harness"),
    ({"preset": "grpo", "environment": "sort"}, "one of changing_user, dataset"),
])
def test_what_cannot_be_begun_is_refused(given: dict[str, str], expected: str) -> None:
    with pytest.raises(Invalid, match=expected):
        starting_specs.make(**given)


@pytest.mark.parametrize("raw", [*map(starting_specs.make, RUNS), *map(read_file, EXAMPLES)])
def test_a_brief_spec_resolves_to_the_same_and_is_not_longer(raw: dict[str, Any]) -> None:
    resolved = as_json(resolve(raw))
    short = brief(dict(reversed(resolved.items())))
    assert as_json(resolve(short)) == resolved
    assert list(short) == [name for name in resolved if name in short]
    assert short.keys() <= raw.keys()
    assert parse(as_text(short).encode()) == short


def test_a_spec_of_another_release_stays_as_it_is() -> None:
    old = {"name": "old", "gone": 1}
    assert brief(old) == old


def test_a_value_without_room_on_its_line_is_below_its_name() -> None:
    text = as_text({"name": "a: b", "empty": {}, "long": {"x": "y" * 90, "z": [1, "2"]}})
    assert text == f"name: 'a: b'\nempty: {{}}\nlong:\n  x: {'y' * 90}\n  z: [1, '2']\n"
