"""Problems of user input have one form."""

from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from hone.resolution import read
from hone.spec.files import Raw, parse
from hone.spec.problems import Invalid, Problem, found, from_validation, one_of, path, unstorable


@pytest.mark.parametrize(("parts", "text"), [
    (["a"], "a"), (["a", "b"], "a.b"), (["a", 0, "b"], "a[0].b"), (["a", 0, 1], "a[0][1]"), ([], "")])
def test_paths(parts: list[str | int], text: str) -> None:
    assert path(parts) == text


@pytest.mark.parametrize(("value", "text"), [
    (None, "nothing"), ("x", '"x"'), (1.5, "1.5"), ({"a": [1]}, '{"a": [1]}'), ("é", '"\\u00e9"'), (b"x", "b'x'"),
    ("x" * 300, f'"{"x" * 199}… (302 characters)')])
def test_values_are_shown_short(value: object, text: str) -> None:
    assert found(value) == text


def test_a_number_of_more_digits_than_python_writes_is_named() -> None:
    assert found([16**9000]) == "a list with too many digits to be shown"


def bomb(named: bool) -> bytes:
    """Return YAML in which lists of aliases of lists of aliases stand for 10^12 values."""
    lists = [b"&a0 [x, x, x, x, x, x, x, x, x, x]", *(
        b"&a%d [%b]" % (level, b",".join([b"*a%d" % (level - 1)] * 10)) for level in range(1, 12))]
    return b"".join((b"a%d: " % place if named else b"- ") + text + b"\n" for place, text in enumerate(lists))


@pytest.mark.parametrize(("text", "problem"), [
    (bomb(named=True), "more than 3000 values"), (bomb(named=False), "more than 3000 values"),
    (b"&a [*a, *a]", "more than 3000 values"), (b"&a {b: *a, c: *a}", "more than 3000 values"),
    (b"".join(b"k%d: 1\n" % n for n in range(50_000)), "more than 3000 values"),
    (b"a: " + b"[" * 50_000, "more than 100 levels"), (b"".join(b" " * n + b"a:\n" for n in range(500)), "100 levels"),
    (b"a: " + b"9" * 5000, "a number of 5000 characters"), (b"a: 1" + b":1" * 5000, "a number of 10001 characters"),
    (b"a: 2001-99-99", "month must be in 1..12"), (b"a: &a [x]\n? *a\n: 1", "not a text"),
    (b"a: " + b"x" * 2**20, "1048579 bytes")])
def test_yaml_of_any_kind_is_read_or_refused_in_little_time(text: bytes, problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(text)
    assert problem in refused.value.problems[0].found


def test_the_nearest_name_is_suggested() -> None:
    assert one_of("grop", ["grpo", "rloo"]) == "one of grpo, rloo (did you mean grpo?)"
    assert one_of("zzz", ["grpo", "rloo"]) == "one of grpo, rloo"


@pytest.mark.parametrize(("value", "fields"), [
    ({"a": ["\0", {"b": float("nan")}]}, ["a[0]", "a[1].b"]), ({"\0": 1}, ["\\x00"]), ({"a": "é\n"}, []),
    ({"a": "\ud800"}, ["a"]), ([float("inf"), 1.0], ["[0]"])])
def test_values_that_cannot_be_stored_are_found_anywhere(value: object, fields: list[str]) -> None:
    assert [problem.field for problem in unstorable(value)] == fields


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    first: int = 0


class Outer(BaseModel):
    inner: Inner | None = None
    several: list[Inner] = []


def test_unknown_keys_name_the_known_ones_of_their_place() -> None:
    places = (({"inner": {"frist": 1}}, "root.inner.frist"), ({"several": [{"frist": 1}]}, "root.several[0].frist"))
    for raw, field in places:
        with pytest.raises(ValueError, match="frist") as error:
            Outer.model_validate(raw)
        (problem,) = from_validation(error.value, Outer, "root")  # type: ignore[arg-type]
        assert problem == Problem(field, "unknown key with value 1", "one of first (did you mean first?)")


def test_a_spec_of_very_many_values_is_refused_also_where_aliases_make_them() -> None:
    bomb = b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
        b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12))
    with pytest.raises(Invalid, match="found more than 3000 values"):
        parse(bomb)
    large: list[Raw] = [{f"key{n}": n for n in range(10**5)}, {"stages": [{}] * 10**5}]
    for raw in large:
        with pytest.raises(Invalid) as refused:
            read(raw)
        assert [problem.expected for problem in refused.value.problems] == ["at most 3000"]


def test_long_names_and_expectations_are_shortened() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(extra="forbid")

        text: Annotated[str, AfterValidator(refuse)] = ""

    with pytest.raises(ValueError) as wrong:  # noqa: PT011 — pydantic's, looked at below
        Strict.model_validate({"k" * 10**5: 1, "text": "a"})
    assert isinstance(wrong.value, ValidationError)
    problems = from_validation(wrong.value, Strict)
    assert max(len(problem.field) for problem in problems) == 200
    assert max(len(str(problem)) for problem in problems) < 1500


def refuse(text: str) -> str:
    raise ValueError(text * 10**5)


def test_an_error_names_every_problem() -> None:
    error = Invalid([Problem("a", "1", "2"), Problem("b", "3", "4")])
    assert str(error) == "a: found 1, expected 2; b: found 3, expected 4"


class Several(BaseModel):
    model_config = ConfigDict(strict=True)

    some: dict[str, int] | list[int] = {}
    text: str | int = ""
    ends: list[float] = [0.0, 1.0]

    @model_validator(mode="after")
    def _has_a_range(self) -> "Several":
        if self.ends[0] >= self.ends[1]:
            raise ValueError("ends: found what is shown anyway, expected a smaller number and a larger one")
        return self


@pytest.mark.parametrize(("given", "problems"), [
    ({"some": "x"}, ['a.some: found "x", expected an object or a valid list']),
    ({"some": ["x", "y"]}, ['a.some: found ["x", "y"], expected an object',
                            'a.some[0]: found "x", expected a valid integer',
                            'a.some[1]: found "y", expected a valid integer']),
    ({"text": [1]}, ["a.text: found [1], expected a valid string or a valid integer"]),
    ({"ends": [1.0, 0.0]}, ["a.ends: found [1.0, 0.0], expected a smaller number and a larger one"])])
def test_a_problem_names_the_field_and_not_how_it_was_looked_at(given: dict[str, object], problems: list[str]) -> None:
    with pytest.raises(ValidationError) as wrong:
        Several.model_validate(given)
    assert [str(one) for one in from_validation(wrong.value, Several, "a")] == problems
