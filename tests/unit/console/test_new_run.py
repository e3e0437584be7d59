"""What the page New run reads out of a spec: its choices, the name of a copy, and how much a run will do."""

import pytest

from hone.client.account_resources import Prices
from hone.resolution import resolve, starting_specs
from hone.spec.files import as_json
from services.console.pages.new_run import copied_name, named
from services.console.pages.run_start import summary

FREE = Prices(currency="EUR", prompt_tokens=0, completion_tokens=0, scored_tokens=0, trained_tokens=0, grading_s=0,
              trainer_s=0)


@pytest.mark.parametrize(("name", "copy"), [
    ("sort", "sort copy"), ("sort copy", "sort copy 2"), ("sort copy 2", "sort copy 3"), ("copy 9", "copy 9 copy"),
    ("a copy of b", "a copy of b copy"),
])
def test_a_copy_has_a_name_of_its_own(name: str, copy: str) -> None:
    assert copied_name(name) == copy


@pytest.mark.parametrize(("text", "preset", "base", "task", "graded"), [
    ("", None, None, None, False), ("{", None, None, None, False), ("model: toy\ntask: []", None, None, None, False),
    ("algorithm: grpo\nmodel: {base: toy}", "grpo", "toy", None, False),
    ("algorithm: {preset: dapo}\ntask: {dataset: r}\ngrader: {}", "dapo", None, "dataset:r", True),
    ("task: {environment: sort_digits}", None, None, "environment:sort_digits", False),
])
def test_the_selects_show_what_the_text_says(
    text: str, preset: str | None, base: str | None, task: str | None, graded: bool,
) -> None:
    assert named(text) == {"preset": preset, "base": base, "task": task, "graded": graded}


def test_the_question_before_a_start_says_how_much_a_run_does() -> None:
    spec = {**starting_specs.make("grpo", base="toy"), "sampling": {"max_tokens": 10}, "stages": [
        {"until": 10, "algorithm": "sft", "task": {"dataset": "rows"}}, {"until": 30, "batch": {"prompts": 2}}]}
    said = dict(summary(as_json(resolve(spec)), FREE))
    assert said["Samples"] == "18.2 k, at most 182 k tokens"  # 20 steps of 2 groups and 70 of 32, each of 8 samples
    assert said["Evaluations"] == "6, each of up to 64 tasks"
    assert "Samples" not in dict(summary(as_json(resolve(starting_specs.make("sft"))), FREE))


def test_the_question_says_what_a_run_costs_where_tokens_have_prices() -> None:
    resolved = as_json(resolve({**starting_specs.make("grpo"), "budget": 4.0}))
    assert {"Money", "Budget"} & dict(summary({**resolved, "budget": None}, FREE)).keys() == set()
    said = dict(summary(resolved, FREE.model_copy(update={"completion_tokens": 2.0, "trained_tokens": 1.0})))
    assert str(said["Money"]).startswith("at most 19.66 EUR for these tokens")  # 100 * 32 * 8 * 256 tokens at 3
    assert said["Budget"] == "4.00 EUR"
