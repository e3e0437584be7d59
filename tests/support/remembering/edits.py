"""Edits of a memory."""

import json
import re


def edits(known: str, heard: dict[str, str]) -> str:
    """Overwrite the fact of a name, or add one, as the model of a store is asked to."""
    numbers = {name: number for number, name in re.findall(r"(\d+): (?:\[.*?\] )?(\w+)=", known)}
    facts = {name: f"{name}={value}" for name, value in heard.items()}
    return json.dumps({"add": [fact for name, fact in facts.items() if name not in numbers],
                       "update": {numbers[name]: fact for name, fact in facts.items() if name in numbers}})
