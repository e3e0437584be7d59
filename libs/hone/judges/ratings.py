"""A conversation that a reward model rates, as vLLM's /pooling takes it, and the rating.

The task classify is one number of the whole text, and not one of each token. vLLM's activation, which would squeeze the
number, is switched off by both of its names, and the beginning of what has no room is left out: that of the prompt,
because the answer stands at the end.
"""

import json
from functools import partial
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import JudgeFailed, Rating, Reply
from hone.judges.endpoint import SHOWN, Endpoint, Exchange
from hone.spec import strict_json


class _RatedTokens(BaseModel):
    prompt_tokens: int = 0


class _Pooled(BaseModel):
    data: Any = None


class _Pooling(BaseModel):
    data: list[_Pooled] = Field(default_factory=list)
    model: str | None = None
    usage: _RatedTokens | None = None


def exchange(endpoint: Endpoint, rating: Rating) -> Exchange:
    """Return a conversation as it is sent, and how its rating is read."""
    body = {"model": endpoint.model, "messages": [dict(message) for message in rating.messages],
            "task": "classify", "truncate_prompt_tokens": -1, "activation": False, "use_activation": False}
    return Exchange("/pooling", body, partial(_reply, model=endpoint.model))


def _reply(content: bytes, model: str) -> Reply:
    """Return the number, as JSON. Raises JudgeFailed for an answer with another number of numbers than one."""
    try:
        made = _Pooling.model_validate_json(content)
    except ValidationError:
        made = _Pooling()
    numbers = _numbers([one.data for one in made.data])
    if len(numbers) != 1:
        raise JudgeFailed(ErrorKind.MODEL_SERVER, f"found {len(numbers)} numbers, expected a single number from a "
                          "reward model: "
                          f"{content[:SHOWN].decode(errors='replace')}")
    tokens = made.usage.prompt_tokens if made.usage else 0
    return Reply(json.dumps(numbers[0]), made.model or model, max(0, tokens))


def _numbers(value: Any) -> list[float]:
    if isinstance(value, list):
        return [number for one in value[:3] for number in _numbers(one)]
    number = strict_json.number(value)
    return [] if number is None else [number]
