"""A stop text that a grader or harness reads is kept, or the pair is refused."""

from typing import Any

import pytest

from hone.resolution import resolve
from hone.spec.files import as_json
from hone.spec.problems import Invalid
from hone.spec.run import RunSpec

GYM = {"environment": "reasoning_gym", "params": {"task": "chain_sum"}}
ROWS = {"dataset": "rows"}
REQUIRED = {"type": "reasoning_gym", "answer_tag": "required"}
JSON = {"type": "string_check", "operation": "eq", "input": "{{ sample.output_json.a }}", "reference": "x"}


def resolved(stop: list[str], keep: bool | None = None, **changes: Any) -> RunSpec:
    return resolve({"name": "x", "model": {"base": "b"}, "steps": 4, "eval": None, "task": ROWS,
                    "sampling": {"stop": stop, "include_stop": keep}, **changes})


def weighted(grader: dict[str, Any]) -> dict[str, Any]:
    return {"type": "weighted", "parts": {"a": {"grader": grader}}}


def harness(**params: Any) -> dict[str, Any]:
    return {"name": "tool_loop", "params": params}


@pytest.mark.parametrize(("stop", "changes", "kept"), [
    ([], {"task": GYM}, False),
    (["</answer>"], {"task": GYM}, True),
    (["</answer>"], {"task": GYM, "grader": REQUIRED}, True),
    (["\n\n", "</answer>\n"], {"task": GYM}, True),
    ([">\n"], {"task": GYM}, True),
    (["\n\n"], {"task": GYM}, False),
    (["</answer>"], {"task": GYM, "grader": {"type": "reasoning_gym", "answer_tag": "ignored"}}, False),
    (["</answer>"], {"grader": {"type": "exact"}}, False),
    (["</answer>"], {"grader": {"type": "numeric"}}, True),
    (["}"], {"grader": {"type": "math"}}, True),
    (["}$"], {"grader": {"type": "math"}}, True),
    (["}"], {"grader": weighted(JSON)}, True),
    (["}"], {"grader": weighted({"type": "exact"})}, False),
    (["}"], {"task": {"dataset": "rows", "params": {"grader": {"type": "math"}}}}, True),
    (["</answer>"], {"eval": {"source": GYM}}, True),
    (["}"], {"algorithm": {"preset": "self_verify"}, "grader": {"type": "exact"}}, True),
    (["</tool_call>"], {"task": {"environment": "sqlite"}, "harness": harness()}, True),
    (["</tool_call>"], {"task": {"environment": "sqlite"}, "harness": harness(syntax="line")}, False),
    (["</tool_call>"], {"task": {"environment": "sqlite"}}, True),
    (["</answer>"], {"task": {"environment": "sql_exploration"}}, True),
    (["</schema>"], {"task": {"environment": "sql_exploration"}}, True),
    ([";"], {"harness": {"name": "chat", "params": {"spans": [{"name": "a", "start": "SELECT", "end": ";"}]}}}, True),
])
def test_a_stop_text_is_kept_where_it_closes_what_is_read(stop: list[str], changes: dict[str, Any], kept: bool) -> None:
    spec = resolved(stop, **changes)
    assert spec.sampling.include_stop is kept
    assert resolve(as_json(spec)) == spec


def test_what_a_spec_says_stands() -> None:
    assert resolved(["\n"], keep=True).sampling.include_stop is True
    assert resolved(["\n"], keep=False).sampling.include_stop is False
    assert resolved(["</tool_call>"], keep=False, task={"environment": "sqlite"}, harness=harness())


def test_each_stage_has_its_own() -> None:
    spec = resolved(["</answer>"], stages=[{"until": 2, "task": GYM}, {"until": 3, "algorithm": "sft"}])
    assert [stage.sampling.include_stop if stage.sampling else None for stage in spec.stages] == [True, False]
    assert spec.sampling.include_stop is False


@pytest.mark.parametrize(("stop", "keep", "changes", "field", "words"), [
    (["</answer>"], False, {"task": GYM}, "sampling.include_stop",
     'true or null, because grader reasoning_gym reads </answer>, which stop text "</answer>" takes off'),
    (["}"], False, {"grader": {"type": "math"}}, "sampling.include_stop", "because grader math reads }"),
    (["x", ">"], None, {"task": GYM, "grader": REQUIRED}, "sampling.stop[1]",
     "a text that leaves <answer>…</answer> whole, because grader reasoning_gym reads it"),
    (["</"], True, {"task": GYM, "grader": REQUIRED}, "sampling.stop[0]", "<answer>…</answer>"),
    (["{"], None, {"grader": {"type": "math"}}, "sampling.stop[0]", "because grader math reads it"),
    (["{"], None, {"grader": weighted(JSON)}, "sampling.stop[0]", "because grader string_check reads it"),
    (["</think>"], None, {}, "sampling.stop[0]", "a text that ends an answer: behind </think> the answer only begins"),
])
def test_a_pair_with_which_no_answer_is_right_is_refused(
        stop: list[str], keep: bool | None, changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        resolved(stop, keep, **changes)
    [problem] = refused.value.problems
    assert problem.field == field
    assert words in problem.expected


def test_a_grader_that_reads_reasoning_may_end_with_it() -> None:
    grader = {**JSON, "input": "{{ sample.output_text }}", "reasoning": "kept", "operation": "like"}
    assert resolved(["</think>"], grader=grader)


def test_a_wrong_grader_or_environment_is_its_own_problem_alone() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"grader": {"type": "nothing"}}, "grader.type"), ({"task": {"environment": "nowhere"}}, "task.environment")]
    for changes, field in cases:
        with pytest.raises(Invalid) as refused:
            resolved(["</answer>"], **changes)
        assert [problem.field for problem in refused.value.problems] == [field]
