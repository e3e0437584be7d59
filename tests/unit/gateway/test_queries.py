"""Names of query parameters and form fields that nobody reads are refused, and so is a second value of one."""

import pytest

from hone.spec.problems import Invalid
from services.gateway.middleware.queries import _names, expect_names


def problems(query: bytes) -> list[tuple[str, str, str]]:
    try:
        expect_names(_names(query), ("limit", "base"), {"base"}, "query")
    except Invalid as refused:
        return [(one.field, one.found, one.expected) for one in refused.problems]
    return []


@pytest.mark.parametrize(("query", "expected"), [
    (b"limit=1&base=a&base=b", []), (b"", []), (b"limit=", []),
    (b"limits=1", [("query.limits", "an unknown parameter", "one of base, limit (did you mean limit?)")]),
    (b"limit=1&limit=1", [("query.limit", "2 values", "one")]),
    (b"base=%ff", [("query", "bytes that are not UTF-8", "percent-encoded UTF-8")]),
    (b"base=\xff", [("query", "bytes that are not UTF-8", "percent-encoded UTF-8")]),
    (b"&".join([b"base=1"] * 101), [("query", "more than 100 parameters", "at most 100")]),
])
def test_queries(query: bytes, expected: list[tuple[str, str, str]]) -> None:
    assert problems(query) == expected
