"""Pieces of pages show their content, escaped."""

from hone.client.errors import Away, Refused
from services.console.widgets import parts, tables
from services.console.widgets.markup import tag
from services.console.widgets.tables import Column


def test_a_cell_tells_its_column_and_escapes() -> None:
    assert tables.row([Column("Run", "wide")], ["<b>"]) == '<tr><td class="wide" data-label="Run">&lt;b&gt;</td></tr>'


def test_attributes_are_escaped_and_absent_ones_left_out() -> None:
    assert tag("a", "x", title='"', href=None) == '<a title="&#34;">x</a>'


def test_a_refusal_shows_every_field() -> None:
    error = Refused({"title": "Unusable", "detail": "wrong", "request_id": "req_1",
                     "errors": [{"field": "steps", "found": "0", "expected": "more"}]})
    shown = parts.problem(error)
    assert all(word in shown for word in ("Unusable", "wrong", "steps", "more", "req_1"))
    assert "The gateway does not answer" in parts.problem(Away({"title": "Unreachable", "detail": "no"}))


def test_a_schema_as_a_table() -> None:
    shown = tables.schema({"required": ["type"], "properties": {
        "type": {"const": "exact"}, "strip": {"type": "boolean", "default": True, "description": "White space."},
        "low": {"anyOf": [{"type": "number"}, {"type": "null"}]}}})
    assert all(word in shown for word in ("exact", "required", "White space.", "number or null"))
