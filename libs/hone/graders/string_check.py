"""OpenAI's string_check: compares two texts by one of four operations."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from hone.graders.contract import Grader, GraderParams, NoReference, Result, RightOutput, verdict
from hone.graders.sample import Item
from hone.graders.templates import Template, of_row, rendered, whole

OPERATIONS: Mapping[str, Callable[[str, str], bool]] = {
    "eq": lambda text, reference: text == reference,
    "ne": lambda text, reference: text != reference,
    "like": lambda text, reference: reference in text,
    "ilike": lambda text, reference: reference.casefold() in text.casefold(),
}


class StringCheckParams(GraderParams):
    """The fields of OpenAI's grader, and whether the reasoning is read."""

    type: Literal["string_check"] = Field(description="Name of the grader.")
    operation: Literal["eq", "ne", "like", "ilike"] = Field(
        description="eq: equal; ne: not equal; like: the reference is in the text; ilike: the same in any case.")
    input: Template = Field(description="The text to check, usually {{ sample.output_text }}.")
    reference: Template = Field(description="The text to compare it with.")
    reasoning: Literal["removed", "kept"] = Field(
        "removed", description="Blocks of reasoning in the output: removed: they are not read, and an output whose "
        "last block is open has no answer; kept: they are read, for checks of the format.")


def grade(item: Item, output_text: str, params: StringCheckParams) -> Result:
    """Score 1 when the operation is true, 0 otherwise."""
    text, reference = (rendered(template, item, output_text) for template in (params.input, params.reference))
    return verdict(OPERATIONS[params.operation](text, reference), text, params.operation)


def reads_reasoning(params: StringCheckParams) -> bool:
    """Return True where the check is about the whole output."""
    return params.reasoning == "kept"


def right_output(item: Item, params: StringCheckParams) -> RightOutput:
    """Return the reference, as text or in the field of a JSON output, where the whole input is read from the output."""
    if params.operation == "ne":
        raise NoReference("operation ne says which text is wrong, not which is right")
    return RightOutput(written(params.input, params.reference, item))


def written(read: Template, reference: Template, item: Item) -> str:
    """Return the output of which a template reads the reference. Raises NoReference where it reads more."""
    variable = whole(read)
    if variable is None or variable.root not in ("sample.output_text", "sample.output_json"):
        raise NoReference("the input is not a single whole text of the output")
    text = of_row(reference, item)
    return _nested(variable.path, text) if variable.root == "sample.output_json" else text


def _nested(path: Sequence[str], value: str) -> str:
    """Return JSON in which a path of keys leads to a text."""
    made: Any = value
    for key in reversed(path):
        made = {key: made}
    return json.dumps(made)


GRADER = Grader(StringCheckParams, grade, reads_reasoning=reads_reasoning, right_output=right_output)
