"""Answers in JSON, YAML, TOML, XML or CSV: can they be read, do they follow a schema, are their fields right?"""

import json
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from hone.graders.contract import (
    Grader,
    GraderParams,
    InvalidSpec,
    Mark,
    Names,
    NoReference,
    Result,
    RightOutput,
    Status,
)
from hone.graders.fields import EXACT, Compared, Tolerance, compared, differences, share
from hone.graders.formats import Format, Unparsed, fenced, parsed, shown
from hone.graders.sample import Item
from hone.graders.schemas import breaches, validator
from hone.graders.templates import Template, of_row, rendered


class StructuredParams(GraderParams):
    """Form of a right answer."""

    type: Literal["structured"] = Field(description="Name of the grader.")
    format: Format = Field("json", description="Format of the answer.")
    extract: Literal["auto", "fence", "bare"] = Field(
        "auto", description="What is read: auto: the last code block in the format's name or without a name, else the "
        "whole text; fence: that block; bare: the whole text.")
    json_schema: dict[str, Any] | Template | None = Field(
        None, description="JSON Schema (draft 2020-12) of the answer, or a template of its JSON. Fields that it does "
        "not name are errors unless it says otherwise.")
    reference: Template | None = Field(None, description="The right answer, for instance {{ item.answer }}.")
    reference_format: Format | None = Field(
        None, description="Format of the reference; json for an object in the row. None: that of the answer.")
    compare: Tolerance = Field(EXACT, description="Which fields are equal.")
    score: Literal["all", "fraction"] = Field(
        "all", description="all: 1 if nothing is wrong; fraction: the share of equal fields, 0 if the schema is broken."
    )

    @field_validator("json_schema")
    @classmethod
    def _readable(cls, given: dict[str, Any] | str | None) -> dict[str, Any] | str | None:
        if isinstance(given, dict):
            validator(json.dumps(given))
        return given

    @model_validator(mode="after")
    def _has_fields(self) -> "StructuredParams":
        if self.score == "fraction" and self.reference is None:
            raise ValueError("a reference, because score fraction is the share of its fields")
        return self


def grade(item: Item, output_text: str, params: StructuredParams) -> Result:
    """Score 1 for an answer without a fault, or the share of its fields. Components: parse, schema and fields."""
    schema, reference = _schema(item, output_text, params), _reference(item, output_text, params)
    try:
        text = _answer(output_text, params)
        value = parsed(text, params.format)
    except Unparsed as error:
        nothing = dict.fromkeys(sorted(components(params, {})), 0.0)
        return Result(Status.OK, 0.0, nothing, (f"parse: {error}",), output_text, "parse")
    broken = [] if schema is None else list(shown(breaches(schema, value)))
    fields = [] if reference is None else list(compared(value, reference[0], params.compare))
    return _result(params, text, broken, fields)


def _result(params: StructuredParams, text: str, broken: list[str], fields: list[Compared]) -> Result:
    equal = share(fields)
    found = {"parse": 1.0, "schema": float(not broken), "fields": equal}
    score = 0.0 if broken else equal if params.score == "fraction" else float(equal == 1)
    reasons = [*(f"schema: {one}" for one in broken), *(f"fields: {one}" for one in shown(differences(fields)))]
    decided_by = "schema" if broken else "fields" if params.reference is not None else "parse"
    named = {name: found[name] for name in sorted(components(params, {}))}
    return Result(Status.OK, score, named, tuple(reasons), text, decided_by)


def _answer(output_text: str, params: StructuredParams) -> str:
    inside = None if params.extract == "bare" else fenced(output_text, params.format)
    if inside is None and params.extract == "fence":
        raise Unparsed(f"found no code block of {params.format}")
    return (output_text if inside is None else inside).strip("\ufeff\r\n ")


def _schema(item: Item, output_text: str, params: StructuredParams) -> str | None:
    """Return the JSON of the schema. Raises InvalidSpec where a row's schema is none."""
    if not isinstance(params.json_schema, str):
        return None if params.json_schema is None else json.dumps(params.json_schema)
    text = rendered(params.json_schema, item, output_text)
    try:
        validator(text)
    except ValueError as error:
        raise InvalidSpec(f"other_error: json_schema is not {error}") from error
    return text


def _reference(item: Item, output_text: str, params: StructuredParams) -> tuple[Any] | None:
    """Return the reference's value, alone in a tuple. Raises InvalidSpec where it cannot be read."""
    if params.reference is None:
        return None
    form = params.reference_format or params.format
    try:
        return (parsed(rendered(params.reference, item, output_text).strip(), form),)
    except Unparsed as error:
        raise InvalidSpec(f"other_error: the reference is no {form}: {error}") from error


def components(params: StructuredParams, of_inner: Any) -> Names:  # noqa: ARG001 — one signature for every grader
    """Return the checked text."""
    return frozenset({"parse"} | ({"schema"} if params.json_schema is not None else set())
                     | ({"fields"} if params.reference is not None else set()))


def right_output(item: Item, params: StructuredParams) -> RightOutput:
    """Return the reference, in a code block where only that is read."""
    if params.reference is None:
        raise NoReference("the grader has a schema and no reference")
    if (params.reference_format or params.format) != params.format:
        raise NoReference(f"the reference is {params.reference_format} and the answer {params.format}")
    text = of_row(params.reference, item)
    return RightOutput(f"```{params.format}\n{text}\n```" if params.extract == "fence" else text)


def marks(params: StructuredParams) -> list[Mark]:
    """Return the texts around an answer."""
    fence = Mark("```", "```", needed=params.extract == "fence")
    return [*([] if params.extract == "bare" else [fence]), *([Mark("{", "}")] if params.format == "json" else [])]


def prepare() -> None:
    """Import the libraries and test them: an object follows its schema, and one with a field too many does not."""
    schema = json.dumps({"properties": {"a": {"type": "integer"}}})
    if [*breaches(schema, parsed("a: 1", "yaml"))] or not [*breaches(schema, parsed('{"b": 1}', "json"))]:
        raise RuntimeError("the schemas fail on known answers")


GRADER = Grader(StructuredParams, grade, pooled=True, prepare=prepare, components=components, right_output=right_output,
                marks=marks)
