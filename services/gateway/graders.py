"""What a grader asks of the rows it is given."""

import json
import re
from collections.abc import Mapping
from typing import Any

from hone.graders import specs

_ITEM = re.compile(r"\{\{\s*item\.(\w+)")


def columns(grader: Mapping[str, Any]) -> set[str]:
    """Return the keys of a row that a checked grader's templates read, those of its defaults included."""
    return set(_ITEM.findall(json.dumps(specs.checked(grader).params.model_dump())))
