"""The arguments of a tool's call as a person writes them."""

import json
from collections.abc import Mapping
from typing import Any


def argument(text: str, schema: Mapping[str, Any]) -> Any:
    """Return a value as the tool takes it: a text where its JSON schema says so, else JSON where it is that."""
    if schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
