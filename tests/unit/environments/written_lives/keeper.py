"""A life that an author writes, of somebody who keeps bees, and a checker who reads it."""

import json
import re
from typing import Any

from hone.remembering.lives import Sizes

HINT = "people who keep bees"
SIZES = Sizes(variables=3, values=2, questions=2, required=2, periods=2, changes=2, options=3)
IMPLIES = {
    ("living_place", "a village"): "From my window I see the church and forty roofs.",
    ("living_place", "a city"): "The tram stops right below my window.",
    ("helper", "nobody"): "I carry every frame by myself.",
    ("helper", "a daughter"): "My girl lifts the frames with me.",
    ("temper", "calm"): "The bees let me work without gloves.",
    ("temper", "wild"): "I was stung through both sleeves again.",
}
"""Words that imply a value, and do not say it."""
SCHEMA = {"living_place": ["a village", "a city"], "helper": ["nobody", "a daughter"], "temper": ["calm", "wild"]}
USER: dict[str, Any] = {
    "person": {"name": "Ada Berg", "age": 41, "education": "a doctorate", "hobby": "bees"},
    "questions": [
        {"text": "Where should I put my next hive?", "needs": {
            "dwelling": SCHEMA["living_place"], "helper": SCHEMA["helper"]}},
        {"text": "Which tools do I need?", "needs": {
            "home_place": SCHEMA["living_place"], "temper": SCHEMA["temper"]}}]}
MERGED: dict[str, Any] = {
    "schema": SCHEMA, "questions": ["Where does my next hive belong?", "Which tools are worth their money?"],
    "mapping": [{"dwelling": "living_place", "helper": "helper"}, {"home_place": "living_place", "temper": "temper"}]}


def answer(question: str) -> dict[str, Any]:
    """Return what a good author and checker says to a question."""
    if "Write it anew" in question:
        return _anew(question)
    if "What is true of this user?" in question:
        return {"values": {name: _read(name, _fenced(question)) for name in _last_json(question)}}
    if "For a user in which of these states" in question:
        states, text = _numbered(question), _fenced(question)
        return {"option": next((number for number, state in enumerate(states, 1) if all(
            IMPLIES[one] in text for one in state.items())), 1)}
    return _written(question)


def _written(question: str) -> dict[str, Any]:
    if "Write user" in question:
        name = "Bo Lund" if "There are already: Ada Berg" in question else "Ada Berg"
        return {**USER, "person": {**USER["person"], "name": name}}
    if "Merge variables" in question:
        return MERGED
    if "What is true of it at first?" in question:
        return {"state": {name: values[0] for name, values in SCHEMA.items()}}
    if "months later" in question:
        state = json.loads(question.partition("What is true now:\n")[2].partition("\n")[0])
        return {"changes": {name: _other(name, state[name]) for name in ("living_place", "temper")}}
    if "Write the evenings" in question:
        return {"sessions": [{"exposes": [name], "event": words(name, value), "opener": opener(name, value)}
                             for name, value in _facts(question).items()]}
    return {"answers": [advice(state) for state in _numbered(question)]}


def words(name: str, value: str) -> str:
    """Return what implies a value."""
    return IMPLIES[name, value]


def opener(name: str, value: str) -> str:
    """Return what the user says first, which implies a value."""
    return f"{words(name, value)} What should I read tonight?"


def advice(state: dict[str, str]) -> str:
    """Return the text of an option."""
    return "This is for you, who say: " + " ".join(words(*one) for one in state.items())


def _anew(question: str) -> dict[str, Any]:
    if found := re.search(r"state (\d+) of these", question):
        return {"text": advice(_numbered(question)[int(found[1]) - 1])}
    facts = json.loads(question.partition("this is true: ")[2].partition("}")[0] + "}")
    return {"text": " ".join(opener(*one) for one in facts.items())}


def _read(name: str, text: str) -> str:
    return next((value for value in SCHEMA[name] if IMPLIES[name, value] in text), "unknown")


def _other(name: str, value: str) -> str:
    return next(one for one in SCHEMA[name] if one != value)


def _facts(question: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(question.partition("true:\n")[2].partition("\n")[0])
    return found


def _fenced(question: str) -> str:
    return question.partition("\nBEGIN ")[2].partition("\nEND ")[0]


def _last_json(question: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(question.partition('say "unknown":\n')[2].partition("\n")[0])
    return found


def _numbered(question: str) -> list[dict[str, str]]:
    return [json.loads(one) for one in re.findall(r"^\d+\. (\{.*\})$", question, re.MULTILINE)]
