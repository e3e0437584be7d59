"""A grader's templates name the keys of a row that it reads."""

from typing import Any

import pytest

from services.gateway.admission.references import grader_columns


@pytest.mark.parametrize(("grader", "read"), [
    ({"type": "exact"}, {"answer"}),
    ({"type": "exact", "reference": "{{ item.gold }}"}, {"gold"}),
    ({"type": "math"}, {"answer"}),
    ({"type": "character_share", "wanted": "02", "among": "012"}, set()),
    ({"type": "string_check", "operation": "eq", "input": "{{sample.output_text}}", "reference": "{{item.a.b}}"},
     {"a"}),
    ({"type": "string_check", "operation": "eq", "input": "{{sample.output_text}}", "reference": "fixed"}, set()),
    ({"type": "verify_server", "server": "s"}, set()),
    ({"type": "verify_server", "server": "s", "fields": ["a", "b"]}, {"a", "b"}),
    ({"type": "weighted", "parts": {"p": {"grader": {"type": "verify_server", "server": "s", "fields": {"x": "a"}}}}},
     {"a"}),
])
def test_grader_columns(grader: dict[str, Any], read: set[str]) -> None:
    assert grader_columns(grader) == read
