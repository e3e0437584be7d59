"""Input and result of a rubric of another package. Where it fails there is no reward."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hone.graders.responses import PARAMS, RESPONSE, text_of
from hone.spec.problems import Invalid, Problem, found

_ROLES = ("system", "developer", "user", "assistant")


class Unservable(Exception):
    """Name that cannot be served. The message says why."""


class Unscored(Exception):
    """The rubric gave no reward. The message says why."""


@dataclass(frozen=True)
class Submitted:
    """A row with an answer to it."""

    messages: list[dict[str, str]]  # before the answer, with `role` and `content`
    answer: str
    row: Mapping[str, Any]
    whole: Mapping[str, Any]  # as it was sent


@dataclass(frozen=True)
class Scores:
    """A reward, and the unweighted scores that it is made of."""

    reward: float
    components: Mapping[str, float] = field(default_factory=dict)

    def checked(self) -> "Scores":
        """Return the same. Raises Unscored where a number is not finite."""
        for name, value in {**self.components, "reward": self.reward}.items():
            if not math.isfinite(value):
                raise Unscored(f"{name}: found {value}, expected a finite number")
        return self


class Verifier(Protocol):
    """A rubric that gives rewards."""

    async def scores(self, submitted: Submitted) -> Scores:
        """Return a reward. Raises Invalid for a row that the rubric cannot read, and Unscored where it gave none."""


def submitted_of(body: Any) -> Submitted:
    """Return the content of a submission. Raises Invalid with the field."""
    if not isinstance(body, dict):
        raise Invalid([Problem("body", found(body), "a JSON object")])
    if not isinstance(body.get(PARAMS), dict):
        raise Invalid([Problem(PARAMS, found(body.get(PARAMS)), "an object with the model's input")])
    row = {name: value for name, value in body.items() if name not in (PARAMS, RESPONSE)}
    return Submitted(_messages(body[PARAMS]), text_of(body.get(RESPONSE)), row, body)


def _messages(params: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the texts of the messages of an input; what is no message of a role, as a tool's result, is left out."""
    given, instructions = params.get("input", []), params.get("instructions")
    listed = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(listed, list):
        raise Invalid([Problem(f"{PARAMS}.input", found(given), "a text, or a list of messages")])
    said = [{"role": "system" if one["role"] == "developer" else one["role"], "content": _text(one.get("content"))}
            for one in listed if isinstance(one, dict) and one.get("role") in _ROLES]
    return [{"role": "system", "content": instructions}, *said] if isinstance(instructions, str) else said


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
