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
    assert problem == ("task.noise: found failure, expected no noise: sort_digits asks single questions, without "
                       "results of tools")


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


def test_noise_of_users_needs_users_and_noise_of_tools_tools() -> None:
    [nobody] = problems(task={**SQLITE, "noise": {"types": ["failure", "user_conflict"]}})
    assert nobody == "task.noise.types: found user_conflict, expected types of tools alone: sqlite has no user"
    sales = {"environment": "dialogue", "params": {"domain": "sales"}}
    [nothing] = problems(task={**sales, "noise": {"types": ["user_conflict", "error"]}})
    assert nothing == 'task.noise.types: found "error", expected types of users alone: these tasks have no tools'
    orders = {"environment": "dialogue", "noise": {"types": ["user_conflict", "error"]}}
    assert resolve({**BASE, "task": orders}).task.noise is not None


def test_a_model_that_writes_noise_is_named_and_none_where_nobody_asks_it() -> None:
    written = {**SQLITE, "noise": {"types": ["failure", "misleading"], "writer": "model"}}
    noiser: dict[str, Any] = {"asked": {"noiser": {"endpoint": "writer"}}}
    evaluated = {"task": SQLITE, "eval": {"noise": written["noise"]}}
    for changes, field in (({"task": written}, "task"), (evaluated, "eval")):
        expected = f"a model or an endpoint, because {field}.noise.writer is model"
        assert problems(**changes) == [f"roles.asked.noiser: found nothing, expected {expected}"]
        assert resolve({**BASE, **changes, "roles": noiser}).roles.endpoints == {"noiser": "writer"}
    [nobody] = problems(task=SQLITE, roles=noiser)
    assert nobody.startswith('roles.asked.noiser: found "writer", expected none')
    [wrong] = problems(task={**SQLITE, "noise": {"types": ["failure"], "writer": "model"}})
    assert wrong == ('task.noise.writer: found model, expected rules, or a type that a model writes: error, '
                     "incomplete, misleading, redundancy")


def test_a_judge_of_deviations_needs_noise_that_leaves_the_truth() -> None:
    noise = {"types": ["redundancy", "error"], "judge": "referee"}
    spec = resolve({**BASE, "task": SQLITE, "eval": {"noise": noise}})
    assert spec.eval is not None
    assert spec.eval.noise is not None
    assert spec.eval.noise.judge == "referee"
    [problem] = problems(task=SQLITE, eval={"noise": {**noise, "types": ["error"]}})
    assert problem == ('eval.noise.judge: found "referee", expected none, because no type leaves the truth in a '
                       "result: misleading, redundancy")
    [unknown] = problems(task={**SQLITE, "noise": noise})
    assert unknown.startswith("task.noise.judge: ")


def test_noise_that_begins_after_the_last_turn_is_refused() -> None:
    [late] = problems(task={**SQLITE, "noise": {"types": ["redundancy"], "start": 5}})
    assert late == "task.noise.start: found 5, expected at most 4, the turns of an episode"
    assert resolve({**BASE, "task": {**SQLITE, "noise": {"types": ["redundancy"], "start": 4}}}).task.noise is not None
