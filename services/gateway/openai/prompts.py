"""From a request to what an engine is asked. Pure: no engine, no database, no clock."""

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from hone import ids
from hone.api import inference_pb2, trajectory_pb2
from hone.text.abilities import needed
from hone.text.conversation import Tools
from hone.text.model_text import ModelText
from services.gateway.openai.names import AskedModel
from services.gateway.openai.refusals import too_long, wrong
from services.gateway.openai.requests import ChatRequest, CompletionRequest, NamedTool, PoolingRequest

_DEFAULT_TOKENS = 16
_NO_PARAMETERS = {"type": "object", "properties": {}}
_ROLES = {"developer": "system"}


def conversation(body: ChatRequest | PoolingRequest) -> list[dict[str, Any]]:
    """Return the messages as chat templates read them."""
    return [_message(message.model_dump(exclude_none=True)) for message in body.messages]


def _message(message: dict[str, Any]) -> dict[str, Any]:
    parts, refusal = message.get("content") or [], message.pop("refusal", "")
    content = "".join(part.get("text") or part.get("refusal") or "" for part in parts)
    return {**message, "role": _ROLES.get(message["role"], message["role"]), "content": content or refusal}


def tools(body: ChatRequest) -> list[dict[str, Any]]:
    """Return the tools that the model is shown; each has parameters."""
    if body.tool_choice == "none":
        return []
    shown = [tool.model_dump(exclude_none=True) for tool in body.tools or ()]
    return [{**tool, "function": {"parameters": _NO_PARAMETERS, **tool["function"]}} for tool in shown]


def begun(body: ChatRequest) -> str:
    """Return the text with which an answer must begin so that it calls a tool, as Hermes and Qwen models write it."""
    if isinstance(body.tool_choice, NamedTool):
        return f'<tool_call>\n{{"name": {json.dumps(body.tool_choice.function.name)}, "arguments": '
    return '<tool_call>\n{"name": "' if body.tool_choice == "required" else ""


def chat_ids(text: ModelText, messages: Sequence[Mapping[str, Any]], shown: Tools, beginning: str) -> list[int]:
    """Return the ids of a conversation and of the beginning of its answer. Raises TokenizerError."""
    found = text.prompt_ids(messages, shown)
    return [*found, *text.encode(beginning)] if beginning else found


def expect_readable(model: AskedModel, messages: Sequence[Mapping[str, Any]], shown: Tools) -> None:
    """Raise WrongRequest for what the chat template of the model would refuse or drop."""
    for need in sorted(needed(messages, shown) & model.lacks.keys()):
        raise wrong("tools" if need == "tools" else "messages", need, model.lacks[need])


def room(field: str, prompt: int, wanted: int | None, positions: int) -> int:
    """Return how many tokens an answer may have. Raises TooLong where prompt and answer have no room."""
    if prompt >= positions or prompt + (wanted or 0) > positions:
        raise too_long(field, prompt, wanted or 1, positions)
    return positions - prompt if wanted is None else wanted


def completion_tokens(body: CompletionRequest) -> int:
    """Return how many tokens an answer to a prompt may have."""
    return _DEFAULT_TOKENS if body.max_tokens is None else body.max_tokens


def expect_ids(prompt: Sequence[int], vocabulary: int) -> None:
    """Raise WrongRequest for ids that the model does not have."""
    if strange := next((id for id in prompt if id >= vocabulary), None):
        raise wrong("prompt", strange, f"ids of tokens from 0 to {vocabulary - 1}")


def engine_request(
    model: AskedModel, prompt_ids: Sequence[int], samples: int, most: int, body: ChatRequest | CompletionRequest,
    stop_ids: Sequence[int], top: int, place: int = 0,
) -> inference_pb2.GenerateRequest:
    """Return the request to the engine for a prompt: `samples` answers of up to `most` tokens, with the `top`
    likeliest ids at each.

    Equal seeds draw equal answers, the prompt's `place` among the request's included.
    """
    seed = secrets.randbits(63) if body.seed is None else body.seed
    temperature = 1.0 if body.temperature is None else body.temperature
    return inference_pb2.GenerateRequest(
        request_id=ids.new("chat"), model_id=model.model_id, version_id=model.version_id, prompt_ids=prompt_ids,
        n=samples, noise=trajectory_pb2.NoiseKey(seed=seed, request="asked", call=place),
        kv_on_update=inference_pb2.KV_ON_UPDATE_KEEP,
        sampling=trajectory_pb2.Sampling(
            max_tokens=most, temperature=temperature, top_p=1.0 if body.top_p is None else body.top_p,
            top_k=body.top_k or 0, stop=body.stops, stop_ids=stop_ids, presence_penalty=body.presence_penalty or 0.0,
            frequency_penalty=body.frequency_penalty or 0.0, logit_bias=_biases(model, body), top_logprobs=top))


def _biases(model: AskedModel, body: ChatRequest | CompletionRequest) -> dict[int, float]:
    """Return the additions to the logits of ids. Raises WrongRequest for ids that the model does not have."""
    found = {int(id): bias for id, bias in (body.logit_bias or {}).items()}
    if found and max(found) >= model.vocabulary:
        raise wrong("logit_bias", max(found), f"ids of tokens from 0 to {model.vocabulary - 1}")
    return found
