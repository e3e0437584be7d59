"""Noise of a source is refused by its field where its tasks have no results of tools, or could not be done any more."""

from typing import Any

import pytest

from hone.resolution import resolve
from hone.spec.problems import Invalid

BASE: dict[str, Any] = {"name": "noisy", "model": {"base": "toy"}, "steps": 2}
SQLITE = {"environment": "sqlite", "params": {"turns": 4}}


def problems(**changes: Any) -> list[str]:
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, **changes})
    return [str(problem) for problem in refused.value.problems]


def test_a_source_keeps_its_noise_and_one_without_keeps_no_word_of_it() -> None:
    spec = resolve({**BASE, "task": {**SQLITE, "noise": {"types": ["error"]}}})
    assert spec.task.noise is not None
    assert (spec.task.noise.types, spec.task.noise.budget) == (["error"], 2)
    assert "noise" not in resolve({**BASE, "task": SQLITE}).model_dump()["task"]


def test_single_questions_have_no_results_of_tools() -> None:
    [problem] = problems(task={"environment": "sort_digits", "noise": {"types": ["failure"]}})
    assert problem == ("task.noise: found failure, expected none: sort_digits asks single questions, whose answers "
                       "have no results of tools")


def test_more_noise_than_turns_is_refused_by_its_field_in_an_evaluation_too() -> None:
    loud = {**SQLITE, "noise": {"types": ["incomplete"], "intensity": 3}}
    expected = ("noise.most: found 4, expected less than the 4 turns of the episode, so that results can be asked for "
                "again")
    assert problems(task=loud) == [f"task.{expected}"]
    assert problems(task=SQLITE, eval={"sources": [{"name": "clean", **SQLITE}, {"name": "loud", **loud}]}) == [
        f"eval.sources[1].{expected}"]


def test_a_wrong_type_is_named() -> None:
    [problem] = problems(task={**SQLITE, "noise": {"types": ["failure", "loud"]}})
    assert problem.startswith('task.noise.types[1]: found "loud", expected ')
