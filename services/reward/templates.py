"""`{{ item.answer }}`: values of the task row and the sample put into text, in one pass and never twice."""

import json
import re
from typing import Annotated, Any

from pydantic import AfterValidator

from services.reward.results import InvalidSpec, NoAnswer

_VARIABLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_SAMPLE_FIELDS = ("output_text", "output_json")


def _checked(template: str) -> str:
    for variable in _VARIABLE.findall(template):
        root, _, rest = variable.strip().partition(".")
        if not rest or root not in ("item", "sample") or (
                root == "sample" and rest.partition(".")[0] not in _SAMPLE_FIELDS):
            raise ValueError("variables under item, sample.output_text or sample.output_json, not " + variable.strip())
    return template


Template = Annotated[str, AfterValidator(_checked)]
"""Text with variables; an unknown one is refused with the grader."""


def rendered(template: str, item: dict[str, Any], output_text: str) -> str:
    """Return the template with its variables replaced; what was put in is not looked at again.

    Texts go in as they are, other values as JSON. Raises InvalidSpec for a field that the row lacks, and NoAnswer
    when `sample.output_json` is asked of an output that is no JSON or lacks the field.
    """
    return _VARIABLE.sub(lambda match: _text(match[1].strip(), item, output_text), template)


def _text(variable: str, item: dict[str, Any], output_text: str) -> str:
    root, *path = variable.split(".")
    if root == "item":
        return _shown(_field(item, path, InvalidSpec(f"invalid_variable_error: {variable} is not in the task row")))
    if path == ["output_text"]:
        return output_text
    missing = NoAnswer(f"sample_parse_error: {variable} is not in the output")
    return _shown(_field(_parsed(output_text), path[1:], missing))


def _field(value: Any, path: list[str], missing: Exception) -> Any:
    for key in path:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise missing
    if value is None:
        raise missing
    return value


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parsed(output_text: str) -> Any:
    try:
        return json.loads(output_text)
    except ValueError as error:
        raise NoAnswer(f"sample_parse_error: the output is no JSON ({error})") from error
