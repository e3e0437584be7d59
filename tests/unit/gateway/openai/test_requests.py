"""Bodies of requests: what is accepted, what is ignored, what is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from services.gateway.openai import prompts
from services.gateway.openai.names import AskedModel
from services.gateway.openai.refusals import TooLong, WrongRequest
from services.gateway.openai.requests import ChatRequest, CompletionRequest

HI: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]
MODEL = AskedModel("small", "model_1", "", {"ver_1": ("ver_1", 3)}, 64, 100, {})


def chat(**more: Any) -> ChatRequest:
    return ChatRequest.model_validate({"model": "small", "messages": HI, **more})


def test_parts_roles_and_tools_become_what_templates_read() -> None:
    body = chat(messages=[
        {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]}, *HI,
        {"role": "assistant", "content": None, "refusal": "No."}],
        tools=[{"type": "function", "function": {"name": "f"}}], service_tier="auto", verbosity="low", functions=None)
    assert prompts.conversation(body) == [
        {"role": "system", "content": "Be brief."}, *HI, {"role": "assistant", "content": "No."}]
    assert prompts.tools(body)[0]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert prompts.tools(chat(tools=[{"type": "function", "function": {"name": "f"}}], tool_choice="none")) == []


def test_a_named_tool_begins_the_answer() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    named = chat(tools=tools, tool_choice={"type": "function", "function": {"name": "f"}})
    assert prompts.begun(named) == '<tool_call>\n{"name": "f", "arguments": '
    assert prompts.begun(chat(tools=tools, tool_choice="required")) == '<tool_call>\n{"name": "'
    assert prompts.begun(chat(tools=tools)) == ""


def test_the_engine_is_asked_what_the_body_says() -> None:
    body = chat(seed=4, temperature=0, top_p=0.5, stop="x", logit_bias={"7": 2}, presence_penalty=1, n=3)
    asked = prompts.engine_request(MODEL, [1, 2], body.choices, 5, body, [9], 2)
    assert (asked.model_id, asked.n, asked.noise.seed, asked.version_id) == ("model_1", 3, 4, "")
    sampling = asked.sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.top_p, list(sampling.stop)) == (5, 0, 0.5, ["x"])
    assert (dict(sampling.logit_bias), sampling.presence_penalty, sampling.top_logprobs) == ({7: 2}, 1, 2)
    with pytest.raises(WrongRequest):
        prompts.engine_request(MODEL, [1], 1, 5, chat(logit_bias={"100": 1}), [], 0)


def test_prompt_and_answer_share_the_positions() -> None:
    assert prompts.room("messages", 60, None, 64) == 4
    assert prompts.room("messages", 60, 4, 64) == 4
    with pytest.raises(TooLong) as refused:
        prompts.room("messages", 60, 5, 64)
    assert refused.value.detail == (
        "This model's maximum context length is 64 tokens. However, you requested 65 tokens (60 in the prompt, 5 in "
        "the completion).")
    with pytest.raises(TooLong):
        prompts.room("messages", 64, None, 64)


@pytest.mark.parametrize(("given", "prompt"), [
    ("a", ["a"]), (["a", "b"], ["a", "b"]), ([1, 2], [[1, 2]]), ([[1], [2, 3]], [[1], [2, 3]])])
def test_prompts_are_texts_or_ids(given: Any, prompt: list[Any]) -> None:
    assert CompletionRequest.model_validate({"model": "m", "prompt": given}).prompt == prompt


@pytest.mark.parametrize("wrong", [
    {"prompt": ""}, {"prompt": []}, {"prompt": [[]]}, {"prompt": [-1]}, {"prompt": [True]}, {"prompt": None},
    {"prompt": "a", "best_of": 1, "n": 2}, {"prompt": "a", "best_of": 2, "stream": True},
    {"prompt": "a", "max_tokens": 0}, {"prompt": "a", "suffix": "z"}, {"prompt": "a", "logprobs": 21}])
def test_wrong_completions_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CompletionRequest.model_validate({"model": "m", **wrong})
