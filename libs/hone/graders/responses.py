"""OpenAI's Responses objects, as NeMo Gym's `/verify` takes them: an answer written as one, and read from one."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hone.environments.written_calls import content_and_calls
from hone.graders.sample import Item
from hone.graders.variables import tools_of
from hone.spec.problems import Invalid, Problem, found

PARAMS, RESPONSE = "responses_create_params", "response"
"""The two fields of a submission that are no fields of the task."""
_CALL = "<tool_call>\n{}\n</tool_call>"
_TEXT = 'an item such as {"type": "output_text", "text": "…"}'


def submission(item: Item, answer: str, fields: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the request to a verify server: the task's fields, its messages and the answer to them.

    `fields` are fields of the task by the names under which they are sent; None: all under their own names. Raises
    KeyError with the name of a field that the task lacks.
    """
    sent = dict(item) if fields is None else {name: item[field] for name, field in fields.items()}
    for name in (PARAMS, RESPONSE):
        sent.pop(name, None)
    return {**sent, PARAMS: params_of(item), RESPONSE: response_of(item, answer)}


def params_of(item: Item) -> dict[str, Any]:
    """Return how a model was asked: the task's own `responses_create_params`, or else its messages or its prompt."""
    given = item.get(PARAMS)
    if isinstance(given, dict):
        return given
    messages = item.get("messages", [{"role": "user", "content": item.get("prompt", "")}])
    tools = [{"type": "function", **one["function"]} for one in tools_of(item.get("tools")) or ()]
    return {"input": messages, **({"tools": tools} if tools else {})}


def response_of(item: Item, answer: str) -> dict[str, Any]:
    """Return an answer as a whole Responses object. Calls of the task's tools are items of their own.

    Nothing in it is random: equal answers are equal objects.
    """
    tools, name = tools_of(item.get("tools")), hashlib.sha256(answer.encode(errors="surrogatepass")).hexdigest()[:24]
    text, calls = content_and_calls(answer, tools) if tools else (answer, [])
    message = {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": "completed",
               "content": [{"type": "output_text", "text": text, "annotations": []}]}
    output = [message, *({"id": f"fc_{name}_{place}", "call_id": f"call_{place}", "type": "function_call",
                          "name": call.name, "arguments": call.arguments, "status": "completed"}
                         for place, call in enumerate(calls))]
    return {"id": f"resp_{name}", "object": "response", "created_at": 0, "model": "policy", "status": "completed",
            "output": output if text or not calls else output[1:], "parallel_tool_calls": True, "tool_choice": "auto",
            "tools": params_of(item).get("tools") or []}


def text_of(response: Any) -> str:
    """Return the answer in a Responses object: its texts, and each call in `<tool_call>` tags, in their order.

    What stands before the last result of a tool was no answer yet, and reasoning is none. Raises Invalid, with the
    field, for another object.
    """
    output = response.get("output") if isinstance(response, Mapping) else None
    if not isinstance(output, list):
        raise Invalid([Problem(f"{RESPONSE}.output", found(output), "a list of items, as OpenAI's Responses have it")])
    parts = list[str]()
    for place, one in enumerate(output):
        kind = one.get("type") if isinstance(one, Mapping) else None
        if not isinstance(kind, str):
            raise Invalid([Problem(f"{RESPONSE}.output[{place}]", found(one), "an object with a type")])
        parts = [] if kind.endswith("_output") else [*parts, *_texts(one, kind, f"{RESPONSE}.output[{place}]")]
    return "\n".join(parts)


def _texts(one: Mapping[str, Any], kind: str, at: str) -> Sequence[str]:
    if kind == "function_call":
        return [_call(one, at)]
    return [_message(one.get("content"), f"{at}.content")] if kind == "message" else []


def _message(content: Any, at: str) -> str:
    """Return the texts of a message; NeMo Gym also has messages whose content is one text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise Invalid([Problem(at, found(content), "a text, or a list of items")])
    texts = list[str]()
    for place, part in enumerate(content):
        if not isinstance(part, Mapping):
            raise Invalid([Problem(f"{at}[{place}]", found(part), _TEXT)])
        text = part.get("refusal" if part.get("type") == "refusal" else "text")
        if not isinstance(text, str):
            raise Invalid([Problem(f"{at}[{place}].text", found(text), "a text")])
        texts.append(text)
    return "".join(texts)


def _call(one: Mapping[str, Any], at: str) -> str:
    name, arguments = one.get("name"), one.get("arguments")
    for field, value in (("name", name), ("arguments", arguments)):
        if not isinstance(value, str):
            raise Invalid([Problem(f"{at}.{field}", found(value), "a text")])
    return _CALL.format(f'{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": {arguments or "{}"}}}')
