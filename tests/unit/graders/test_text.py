"""Graders that compare texts."""

import json
from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged
from hone.graders.specs import spec


def grade(grader: dict[str, Any], item: dict[str, Any], output: str) -> Result:
    return judged(spec(json.dumps(grader)), item, output)


@pytest.mark.parametrize(("params", "output", "score"), [
    ({}, "012579", 1.0),
    ({}, " 012579\n", 1.0),
    ({}, "12579", 0.0),
    ({"strip": False}, " 012579", 0.0),
    ({"reference": "{{ item.word }}"}, "hello", 0.0),
    ({"reference": "{{ item.word }}", "ignore_case": True}, "hello", 1.0),
])
def test_exact(params: dict[str, Any], output: str, score: float) -> None:
    result = grade({"type": "exact", **params}, {"answer": "012579", "word": "Hello"}, output)
    assert (result.status, result.score, result.decided_by) == (Status.OK, score, "exact")


@pytest.mark.parametrize(("operation", "text", "reference", "score"), [
    ("eq", "Cat", "Cat", 1.0), ("eq", "cat", "Cat", 0.0), ("eq", "Cat ", "Cat", 0.0),
    ("ne", "cat", "Cat", 1.0), ("ne", "Cat", "Cat", 0.0),
    ("like", "A Cat sat", "Cat", 1.0), ("like", "Cat", "A Cat sat", 0.0), ("like", "a cat sat", "Cat", 0.0),
    ("ilike", "a cat sat", "Cat", 1.0), ("ilike", "a dog sat", "Cat", 0.0),
])
def test_string_check(operation: str, text: str, reference: str, score: float) -> None:
    grader = {"type": "string_check", "name": "has a cat", "operation": operation,
              "input": "{{ sample.output_text }}", "reference": "{{item.word}}"}
    assert grade(grader, {"word": reference}, text).score == score


def test_the_vendor_shape_reads_json_outputs() -> None:
    grader = {"type": "string_check", "name": "animal", "operation": "eq",
              "input": "{{ sample.output_json.animal }}", "reference": "{{ item.animal }}"}
    assert grade(grader, {"animal": "cat"}, '{"animal": "cat"}').score == 1.0
    for output in ("cat", '{"beast": "cat"}', "[]"):
        result = grade(grader, {"animal": "cat"}, output)
        assert (result.status, result.score) == (Status.NO_ANSWER, 0.0)
        assert result.reasons[0].startswith("sample_parse_error")
