"""What pydantic finds is said in Hone's words: the field, the value found and the value expected."""

from typing import Any

import pytest
from pydantic import Field, ValidationError

from hone.spec.findings import Finding, first
from hone.spec.parameters import Strict


class Inner(Strict):
    word: str = Field("a", min_length=1, max_length=3, pattern="^[a-z]*$")


class Outer(Strict):
    needed: int = Field(ge=1, lt=9)
    share: float = Field(0.5, gt=0, le=1)
    inner: Inner = Inner()
    names: list[str] = Field(["a"], min_length=1, max_length=2)
    by_name: dict[str, int] = Field(default_factory=dict)


@pytest.mark.parametrize(("given", "found"), [
    ({}, ("at.needed", None, "a value")),
    ([], ("at", [], "an object")),
    ({"needed": 0}, ("at.needed", 0, "greater than or equal to 1")),
    ({"needed": 9}, ("at.needed", 9, "less than 9")),
    ({"needed": 1, "share": 0}, ("at.share", 0, "greater than 0")),
    ({"needed": 1, "share": 2}, ("at.share", 2, "less than or equal to 1")),
    ({"needed": 1, "share": []}, ("at.share", [], "a valid number")),
    ({"needed": []}, ("at.needed", [], "a valid integer")),
    ({"needed": 1, "inner": "text"}, ("at.inner", "text", "an object")),
    ({"needed": 1, "inner": {"word": ""}}, ("at.inner.word", "", "text of at least 1 character")),
    ({"needed": 1, "inner": {"word": "long"}}, ("at.inner.word", "long", "text of at most 3 characters")),
    ({"needed": 1, "inner": {"word": "A"}}, ("at.inner.word", "A", "text that matches ^[a-z]*$")),
    ({"needed": 1, "inner": {"word": 1}}, ("at.inner.word", 1, "a valid string")),
    ({"needed": 1, "inner": {"more": 1}}, ("at.inner.more", 1, "no such key")),
    ({"needed": 1, "more": 1}, ("at.more", 1, "one of the keys needed, share, inner, names, by_name")),
    ({"needed": 1, "names": []}, ("at.names", [], "at least 1 value")),
    ({"needed": 1, "names": ["a", "b", "c"]}, ("at.names", ["a", "b", "c"], "at most 2 values")),
    ({"needed": 1, "names": "a"}, ("at.names", "a", "a valid list")),
    ({"needed": 1, "by_name": []}, ("at.by_name", [], "an object"))])
def test_the_first_wrong_field_is_named_with_what_is_there_and_what_is_expected(given: Any, found: Any) -> None:
    with pytest.raises(ValidationError) as wrong:
        Outer.model_validate(given)
    assert first(wrong.value, "at", model=Outer) == Finding(*found)
