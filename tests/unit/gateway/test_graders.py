"""Which keys of a row a grader reads."""

from typing import Any

import pytest

from hone.spec.resolution import resolve
from services.gateway.graders import columns, named


@pytest.mark.parametrize(("grader", "read"), [
    ({"type": "exact"}, {"answer"}),
    ({"type": "exact", "reference": "{{ item.gold }}"}, {"gold"}),
    ({"type": "string_check", "input": "{{sample.output_text}}", "reference": "{{item.a.b}}"}, {"a"}),
    ({"type": "string_check", "input": "{{sample.output_text}}", "reference": "fixed"}, set()),
])
def test_columns(grader: dict[str, Any], read: set[str]) -> None:
    assert columns(grader) == read


def test_graders_are_looked_at_where_they_stand() -> None:
    numeric, math = {"type": "numeric"}, {"type": "math"}
    spec: dict[str, Any] = {
        "name": "x", "model": {"base": "b"}, "steps": 1, "grader": numeric,
        "task": {"dataset": "rows"}, "eval": {"source": {"dataset": "held", "params": {"grader": math}}}}
    assert list(named(resolve(spec))) == [("grader", numeric), ("eval.source.params.grader", math)]
