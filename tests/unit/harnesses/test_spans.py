"""Named spans: where they begin and end, and which kinds are refused."""

import pytest
from pydantic import ValidationError

from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.spans import Marks, spans

SCHEMA = Marks(name="schema", start="<s>", end="</s>")


@pytest.mark.parametrize(("text", "found"), [
    ("none", []), ("a <s>b</s> c", ["<s>b</s>"]), ("<s></s><s>x</s>", ["<s></s>", "<s>x</s>"]),
    ("a<s>b", ["<s>b"]), ("<s>a<s>b</s>c</s>", ["<s>a<s>b</s>"]), ("</s>a<s>", ["<s>"]), ("<S>a</S>", []),
])
def test_a_span_goes_from_its_first_mark_through_its_last_or_to_the_end(text: str, found: list[str]) -> None:
    assert [text[start:end] for _, start, end in spans(text, [SCHEMA])] == found


def test_marks_are_no_patterns_and_may_be_the_same() -> None:
    dots, dollars = Marks(name="a", start=".", end=".*"), Marks(name="b", start="$", end="$", weight=2)
    found = list(spans("x.y.*z$1$2$3$", [dots, dollars]))
    assert [(marks.name, marks.weight, start, end) for marks, start, end in found] == [
        ("a", 1.0, 1, 5), ("b", 2.0, 6, 9), ("b", 2.0, 10, 13)]


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize(("wrong", "field"), [
    ({"start": ""}, "start"), ({"end": ""}, "end"), ({"weight": -0.5}, "weight"), ({"weight": float("inf")}, "weight"),
    ({"name": ""}, "name"), ({"name": "A b"}, "name"), ({"colour": 1}, "colour"),
])
def test_marks_that_cannot_be_are_refused_by_field(harness: str, wrong: dict[str, object], field: str) -> None:
    params = HARNESSES[harness].params
    good = {"name": "a", "start": "b", "end": "c"}
    assert params.model_validate({"spans": [good]}).spans == [Marks(name="a", start="b", end="c", weight=1.0)]
    with pytest.raises(ValidationError) as refused:
        params.model_validate({"spans": [good, {**good, **wrong}]})
    assert [error["loc"] for error in refused.value.errors()] == [("spans", 1, field)]


@pytest.mark.parametrize(("text", "found"), [
    ('<s>{"tables": []}</s>', 1), ("<s>{tables}</s>", 0), ("<s>[1]", 0), ('<s>[</s><s>"x"</s>', 1), ("<s></s>", 0),
    ("<s>" + "[" * 200_000 + "</s>", 0),
])
def test_a_span_of_json_counts_only_where_it_can_be_read(text, found):
    marks = Marks(name="schema", start="<s>", end="</s>")
    assert len(list(spans(text, [marks.model_copy(update={"parses": "json"})]))) == found
    assert len(list(spans(text, [marks]))) >= max(found, 1)
