"""A spec as text: problems have the lines of their fields, and one field is set without touching the others."""

import time

import pytest

from hone.spec.problems import Problem
from services.console.widgets import spec_text
from services.console.widgets.spec_text import Unreadable

TEXT = """# a first run
name: "sort 😀"  # for people
model: {base: toy}
algorithm:
  preset: dapo
  regularizers:
    - {name: kl, params: {coefficient: 0.1}}

steps: 3
"""


def test_fields_have_places() -> None:
    places = spec_text.places(TEXT)
    assert {path: TEXT[one.start:one.end] for path, one in places.items() if path in (
        "name", "model.base", "algorithm.regularizers.0.params", "steps")} == {
        "name": '"sort 😀"', "model.base": "toy", "algorithm.regularizers.0.params": "{coefficient: 0.1}", "steps": "3"}
    assert (places["algorithm"].line, places["algorithm.regularizers"].line, places["steps"].line) == (5, 7, 9)
    assert spec_text.places("") == {}


@pytest.mark.parametrize(("field", "line"), [
    ("model.base", 3), ("algorithm.regularizers[0].name", 7), ("algorithm.regularizers.0.name", 7),
    ("algorithm.loss.name", 5), ("batch.samples", None), ("steps", 9),
])
def test_a_problem_is_where_its_field_or_the_field_around_it_is(field: str, line: int | None) -> None:
    [found] = spec_text.locate([Problem(field, "1", "2")], TEXT)
    assert found.line == line


def test_problems_are_in_the_order_of_the_text() -> None:
    problems = [Problem(field, "1", "2") for field in ("steps", "absent", "model")]
    assert [one.problem.field for one in spec_text.locate(problems, TEXT)] == ["absent", "model", "steps"]
    assert [one.line for one in spec_text.locate(problems, "{")] == [None] * 3


@pytest.mark.parametrize(("text", "found", "line"), [
    ("", "nothing", None), ("# only words\n", "nothing", None), ("- a\n- b", "- a", 1), ("words", "words", 1),
    ("name: x\nmodel: {base: \nsteps: 1", "did not find expected", None), ("name: x\nname: y", "name twice", 2),
    ("a: &x [1]\nb: *x", "alias *x", 2), ("name: x\n\tsteps: 1", "cannot start any token", 2),
    ("x" * (spec_text.LONGEST + 1), "262,145 characters", None), ("1: 2", "not a text", 1),
])
def test_a_text_that_is_no_spec_says_why_and_where(text: str, found: str, line: int | None) -> None:
    with pytest.raises(Unreadable) as refused:
        spec_text.read(text)
    assert refused.value.located.problem.expected
    if line is not None:
        assert found in refused.value.located.problem.found
        assert refused.value.located.line == line


def test_a_text_with_far_too_many_values_is_refused_before_it_is_read_to_its_end() -> None:
    with pytest.raises(Unreadable, match="found more values than a spec has, expected at most 3000 values"):
        spec_text.read("".join(f"k{number}: 1\n" for number in range(20_000)))


@pytest.mark.parametrize("text", ["a: " + "[" * 200_000, "".join(" " * depth + "a:\n" for depth in range(500))])
def test_deep_nesting_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    with pytest.raises(Unreadable, match="nested too deep, expected at most 100 levels"):
        spec_text.read(text)
    assert time.process_time() - began < 1.0


def test_a_text_is_read_as_the_command_reads_a_file() -> None:
    assert spec_text.read("lr: 2e-4\nname: é") == {"lr": 2e-4, "name": "é"}


@pytest.mark.parametrize(("path", "value", "changed"), [
    ("model.base", "my base: 2", "model: {base: 'my base: 2'}"), ("steps", 5, "steps: 5"),
    ("model.kind", "lora", "model: {kind: lora, base: toy}"), ("algorithm.preset", "grpo", "  preset: grpo\n"),
    ("algorithm.truncated", "drop", "algorithm:\n  truncated: drop\n  preset: dapo\n"),
    ("algorithm", "grpo", "algorithm:\n  grpo\n"), ("task", {"dataset": "r"}, "task: {dataset: r}\n"),
    ("eval.every", 2, "eval: {every: 2}\n"), ("name.x", 1, "name: {x: 1}  # for people"),
])
def test_one_field_is_set_and_the_others_stay(path: str, value: object, changed: str) -> None:
    text = spec_text.with_field(TEXT, path, value)
    assert changed in text
    assert text.startswith("# a first run\n")
    found: object = spec_text.read(text)
    for name in path.split("."):
        assert isinstance(found, dict)
        found = found[name]
    assert found == value
    before = {name: one for name, one in spec_text.read(TEXT).items() if name != path.partition(".")[0]}
    assert before.items() <= spec_text.read(text).items()


def test_a_field_is_set_in_an_empty_text() -> None:
    assert spec_text.with_field("", "model.base", "toy") == "model: {base: toy}\n"
    assert spec_text.read(spec_text.with_field("model: {}", "model.base", "toy")) == {"model": {"base": "toy"}}
