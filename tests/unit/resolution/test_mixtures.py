"""Mixtures in specs: what is written out, and what is refused, with the field, what was found and what was expected."""

from copy import deepcopy
from typing import Any

import pytest

from hone.resolution import resolve, sources
from hone.spec.files import as_json
from hone.spec.problems import Invalid

SQL: dict[str, Any] = {"name": "sql", "weight": 1, "environment": "sqlite", "params": {"turns": 2}}
SORT: dict[str, Any] = {"name": "sort", "weight": 2, "environment": "sort_digits", "sampling": {"max_tokens": 33}}
ROWS: dict[str, Any] = {"name": "rows", "weight": 1, "dataset": "mine", "grader": {"type": "numeric"}}
MIXED: dict[str, Any] = {
    "name": "a", "model": {"base": "b"}, "steps": 3, "task": {"mixture": [SQL, SORT, ROWS]},
    "sampling": {"top_p": 0.9, "stop": ["</answer>"]}}


def changed(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    spec = deepcopy(MIXED)
    owner: Any = spec
    for part in path[:-1]:
        owner = owner.setdefault(part, {}) if isinstance(owner, dict) else owner[part]
    if value is None:
        del owner[path[-1]]
    else:
        owner[path[-1]] = value
    return spec


def test_each_source_has_what_it_leaves_out_from_the_stage_or_its_environment_and_resolves_to_itself() -> None:
    resolved = resolve(MIXED)
    assert as_json(resolve(as_json(resolved))) == as_json(resolved)
    sql, sort, rows = sources.of(resolved)
    assert [one.spec.harness and one.spec.harness.name for one in (sql, sort, rows)] == ["tool_loop", "chat", "chat"]
    assert [one.spec.grader for one in (sql, sort, rows)] == [None, None, {"type": "numeric"}]
    assert [one.spec.sampling.max_tokens for one in (sql, sort, rows)] == [256, 33, 256]
    assert {(one.spec.sampling.top_p, *one.spec.sampling.stop) for one in (sql, sort, rows)} == {(0.9, "</answer>")}


def test_a_plain_task_is_one_source_without_a_name_whose_spec_is_as_it_was() -> None:
    plain = resolve({**MIXED, "task": {"environment": "sort_digits"}})
    [source] = sources.of(plain)
    assert (source.name, source.at, source.spec) == ("", "task", plain)
    assert as_json(plain)["task"] == {"environment": "sort_digits", "params": {"digits": 6}, "dataset": None}
    assert as_json(plain)["eval"] == {"prompts": 256, "every": 25, "seed": 1_000_003, "source": None}


def test_an_evaluation_has_the_sources_of_the_task_or_its_own() -> None:
    assert [one.at for one in sources.held_out(resolve(MIXED))] == [f"task.mixture[{place}]" for place in range(3)]
    own = resolve(changed(("eval", "sources"), [{"name": "sort"}, {"name": "other", "environment": "even_digits"}]))
    named, other = sources.held_out(own)
    assert (named.at, named.spec.sampling.max_tokens) == ("task.mixture[1]", 33)
    assert (other.at, other.spec.task.kind, other.spec.sampling.top_p) == ("eval.sources[1]", "even_digits", 0.9)
    assert as_json(resolve(as_json(own))) == as_json(own)


FIRST, SECOND = ("task", "mixture", 0), ("task", "mixture", 1)


@pytest.mark.parametrize(("path", "value", "problem"), [
    ((*FIRST, "weight"), 0, "task.mixture[0].weight: found 0, expected greater than 0"),
    ((*FIRST, "weight"), -1, "task.mixture[0].weight: found -1, expected greater than 0"),
    ((*FIRST, "weight"), float("inf"), "task.mixture[0].weight: found inf, expected a finite number"),
    ((*FIRST, "weight"), None, "task.mixture[0].weight: found nothing, expected a weight above 0"),
    ((*SECOND, "name"), "sql", 'task.mixture[1].name: found "sql" a second time, expected a name that no other'),
    ((*SECOND, "name"), "a/b", 'task.mixture[1].name: found "a/b", expected text that matches'),
    (("task", "mixture"), [SQL], "task.mixture: found 1 source, expected at least 2"),
    ((*FIRST, "mixture"), [SQL, SORT], "task.mixture[0].mixture: found unknown key"),
    ((*FIRST, "wieght"), 1, "task.mixture[0].wieght: found unknown key with value 1, expected one of"),
    ((*FIRST, "environment"), "sqlit", 'task.mixture[0].environment: found "sqlit"'),
    ((*FIRST, "params", "turns"), "x", 'task.mixture[0].params.turns: found "x"'),
    ((*SECOND, "grader"), {"type": "zz"}, 'task.mixture[1].grader.type: found "zz"'),
    ((*SECOND, "grader"), {"type": "environment"}, "because environment sort_digits gives no score of its own"),
    ((*SECOND, "harness"), {"name": "zz"}, 'task.mixture[1].harness.name: found "zz"'),
    ((*SECOND, "sampling", "temperature"), 0.5, "task.mixture[1].sampling.temperature: found 0.5, expected 1.0"),
    (("grader",), {"type": "zz"}, 'grader.type: found "zz"'),
    (("task", "temperature"), 2.0, "task.temperature: found 2.0, expected null, because the sources have weights"),
    (("algorithm",), "self_verify", "task.mixture: found 3 sources, expected a single task"),
    (("algorithm",), "rdpo", "task.mixture[0].grader: found nothing, expected a grader of named components"),
    (("eval", "sources"), [{"name": "zz"}], 'eval.sources[0].name: found "zz", expected one of rows, sort, sql'),
    (("eval", "sources"), [{"name": "o", "environment": "zz"}], 'eval.sources[0].environment: found "zz"'),
    (("eval", "sources"), [{"name": "sql"}, {"name": "sql"}], 'eval.sources[1].name: found "sql" a second time'),
    (("eval",), {"source": {"environment": "sqlite"}, "sources": [{"name": "sql"}]}, "expected only eval.source or "
     "only eval.sources"),
    (("roles",), {"asked": {"user": {"model": "b"}}}, "roles.asked.user: found"),
])
def test_what_a_mixture_cannot_be_is_refused_by_its_field(
    path: tuple[str | int, ...], value: Any, problem: str,
) -> None:
    with pytest.raises(Invalid) as refused:
        resolve(changed(path, value))
    assert any(problem in str(one) for one in refused.value.problems), refused.value
    assert not any("eval.sources" in one.field for one in refused.value.problems) or "eval" in path


def test_a_mixture_of_a_stage_is_refused_below_the_stage() -> None:
    stage = {"until": 2, "task": {"mixture": [SQL, {**SORT, "weight": 1, "name": "sql"}]}}
    with pytest.raises(Invalid, match=r"stages\[0\]\.task\.mixture\[1\]\.name: found \"sql\" a second time"):
        resolve({**MIXED, "stages": [stage]})


def test_sources_without_weights_are_weighed_by_their_rows_and_need_datasets() -> None:
    rows, others = ({"name": name, "dataset": name} for name in ("a", "b"))
    task = {"mixture": [rows, others], "temperature": 2.0}
    assert [one.weight for one in sources.of(resolve({**MIXED, "task": task}))] == [None, None]
    with pytest.raises(Invalid, match=r"task.mixture\[1\].weight: found nothing, expected .* makes tasks without end"):
        resolve({**MIXED, "task": {"mixture": [rows, {"name": "s", "environment": "sqlite"}]}})
