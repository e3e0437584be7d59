"""OpenAI's own client asks models through the gateway, and a native engine answers."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import jsonschema_rs
import openai
import pydantic
import pytest
from typer.testing import CliRunner

from hone import keys
from hone.api import inference_pb2
from hone.cli.main import app
from hone.store.database import Database
from tests.integration.gateway import asked
from tests.integration.gateway.asked import AskedStack
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone

_OLD = "1.35.15"
ASK: list[Any] = [{"role": "user", "content": "What is 2 + 2?"}]
TOOL = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}}}


@pytest.fixture(scope="module")
def stack(postgres: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedStack]:
    engine = os.environ.get("HONE_ENGINE", "native")
    with asked.running(postgres, tmp_path_factory.mktemp("asked"), engine=engine) as stack:
        yield stack


@pytest.fixture(scope="module")
def key(database: Database) -> str:
    return keys.create(database, "asking").secret


@pytest.fixture(scope="module")
def other_key(database: Database, key: str) -> str:
    assert key
    return keys.create(database, "stranger", tenant="strangers").secret


@pytest.fixture(scope="module")
def client(stack: AskedStack, key: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    stack.hone(key).register_model("org/small", asked.write_model(tmp_path_factory.mktemp("small")))
    return stack.openai(key)


def test_a_chat_is_answered_whole_and_as_a_stream_of_the_same_text(client: Any) -> None:
    wanted = {"model": "org/small", "messages": ASK, "max_tokens": 12, "seed": 7}
    whole = client.chat.completions.create(**wanted)
    assert whole.object == "chat.completion"
    assert whole.choices[0].finish_reason == "length"
    assert whole.usage is not None
    assert (whole.usage.completion_tokens, whole.usage.total_tokens) == (12, 12 + whole.usage.prompt_tokens)
    chunks = list(client.chat.completions.create(**wanted, stream=True, stream_options={"include_usage": True}))
    assert {chunk.id for chunk in chunks} == {chunks[0].id}
    assert chunks[0].choices[0].delta.role == "assistant"
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == whole.choices[0].message.content, "equal seeds draw equal answers"
    assert chunks[-2].choices[0].finish_reason == "length"
    assert chunks[-1].usage == whole.usage


def test_an_unknown_model_is_refused(client: Any) -> None:
    with pytest.raises(openai.NotFoundError) as refused:
        client.chat.completions.create(model="nowhere", messages=ASK)
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")


def test_models_are_listed_in_both_shapes(client: Any, stack: AskedStack, key: str) -> None:
    listed = client.models.list()
    assert listed.object == "list"
    (model,) = listed.data
    assert (model.object, model.owned_by, model.name) == ("model", "hone", "org/small")
    assert client.models.retrieve("org/small").id == model.id
    assert client.chat.completions.create(model=model.id, messages=ASK, max_tokens=1).model == model.id
    ours = stack.http(key).get("/v1/models").json()
    assert (ours["next"], ours["has_more"], ours["data"][0]["vocab_size"]) == (None, False, 104)


def test_a_model_is_deleted(client: Any, stack: AskedStack, key: str, tmp_path: Path) -> None:
    stack.hone(key).register_model("org/gone", asked.write_model(tmp_path / "gone", seed=2))
    assert client.chat.completions.create(model="org/gone", messages=ASK, max_tokens=1).usage.completion_tokens == 1
    assert client.models.delete("org/gone").deleted
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="org/gone", messages=ASK)


def test_completions_take_texts_and_ids_and_score_prompts(client: Any) -> None:
    (choice,) = client.completions.create(
        model="org/small", prompt="Once upon", seed=3, extra_body={"return_token_ids": True}).choices
    assert len(choice.token_ids) == 16, "OpenAI's default"
    ids = choice.prompt_token_ids
    by_ids = client.completions.create(model="org/small", prompt=ids, seed=3, logprobs=0)
    assert by_ids.choices[0].text == choice.text
    logprobs = by_ids.choices[0].logprobs
    assert logprobs is not None
    assert (len(logprobs.tokens or []), logprobs.text_offset[:2]) == (16, [0, 1])
    scored = client.completions.create(
        model="org/small", prompt=ids, max_tokens=0, echo=True, logprobs=2).choices[0]
    assert scored.text == "Once upon"
    assert scored.logprobs is not None
    assert scored.logprobs.token_logprobs is not None
    assert scored.logprobs.token_logprobs[0] is None
    assert all(value < 0 for value in scored.logprobs.token_logprobs[1:] if value is not None)
    assert [len(top or {}) for top in scored.logprobs.top_logprobs or []] == [0, *[2] * 8]
    several = client.completions.create(model="org/small", prompt=["One", "Two"], n=2, max_tokens=3, seed=1)
    assert [one.index for one in several.choices] == [0, 1, 2, 3]
    assert several.usage is not None
    assert (several.usage.prompt_tokens, several.usage.completion_tokens) == (6, 12)
    best = client.completions.create(model="org/small", prompt="One", n=1, best_of=4, max_tokens=3)
    assert len(best.choices) == 1
    streamed = client.completions.create(model="org/small", prompt="Once upon", seed=3, stream=True)
    assert "".join(part.choices[0].text for part in streamed) == choice.text


def test_a_stop_text_ends_an_answer_and_is_no_part_of_it(client: Any) -> None:
    wanted = {"model": "org/small", "messages": ASK, "max_tokens": 40, "seed": 11}
    text = client.chat.completions.create(**wanted).choices[0].message.content or ""
    stop = text[len(text) // 2:][:2]
    stopped = client.chat.completions.create(**wanted, stop=stop)
    assert stopped.choices[0].message.content == text[:text.index(stop)]
    assert stopped.choices[0].finish_reason == "stop"
    assert stopped.usage is not None
    assert stopped.usage.completion_tokens == text.index(stop)
    chunks = list(client.chat.completions.create(**wanted, stop=[stop, "never"], stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text[:text.index(stop)]


def test_several_answers_with_log_probs_and_their_version(client: Any) -> None:
    answer = client.chat.completions.create(
        model="org/small", messages=ASK, max_tokens=5, n=3, seed=1, logprobs=True, temperature=0.5,
        extra_body={"return_token_ids": True})
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    for choice in answer.choices:
        assert choice.logprobs is not None
        content = choice.logprobs.content or []
        assert len(content) == len(choice.token_ids) == 5
        assert bytes(byte for token in content for byte in token.bytes or []).decode() == choice.message.content
        assert choice.policy_version == 0
    assert str(answer.system_fingerprint).startswith("art_")
    chunks = [chunk for chunk in client.chat.completions.create(
        model="org/small", messages=ASK, max_tokens=5, n=3, seed=1, logprobs=True, stream=True) if chunk.choices]
    assert {chunk.choices[0].index for chunk in chunks} == {0, 1, 2}
    assert sum(len(chunk.choices[0].logprobs.content or []) for chunk in chunks if chunk.choices[0].logprobs) == 15


def test_likeliest_tokens_biases_and_penalties(client: Any) -> None:
    wanted = {"model": "org/small", "messages": ASK, "max_tokens": 3, "seed": 1, "logprobs": True, "top_logprobs": 4}
    (choice,) = client.chat.completions.create(**wanted, temperature=0).choices
    assert choice.logprobs is not None
    for one in choice.logprobs.content or []:
        assert len(one.top_logprobs) == 4
        assert one.top_logprobs[0].token == one.token
        assert one.top_logprobs[0].logprob == pytest.approx(one.logprob, abs=1e-4)
    (id,) = client.completions.create(
        model="org/small", prompt="Q", echo=True, max_tokens=0, extra_body={"return_token_ids": True},
    ).choices[0].prompt_token_ids
    forced = client.chat.completions.create(**wanted, logit_bias={str(id): 100}).choices[0]
    assert forced.message.content == "QQQ"
    kept = client.chat.completions.create(**wanted, logit_bias={str(id): 20}, frequency_penalty=2, temperature=0)
    assert kept.choices[0].message.content == "QQQ"
    varied = client.completions.create(
        model="org/small", prompt="A", temperature=0, max_tokens=30, presence_penalty=2, frequency_penalty=2)
    assert len(set(varied.choices[0].text)) > 25, "each letter costs the letter itself"
    streamed = [chunk.choices[0] for chunk in client.chat.completions.create(**wanted, stream=True) if chunk.choices]
    shown = [len(token.top_logprobs) for one in streamed if one.logprobs for token in one.logprobs.content or []]
    assert shown == [4, 4, 4]


def test_a_client_that_hangs_up_frees_its_slot(client: Any, stack: AskedStack, key: str) -> None:
    with client.chat.completions.create(
        model="org/small", messages=ASK, max_tokens=480, n=8, logit_bias={"2": -100}, stream=True) as stream:
        next(iter(stream))
        assert _running(stack) == 8
    _wait_until_idle(stack)
    with stack.http(key) as impatient, pytest.raises(httpx.ReadTimeout):
        impatient.post("/v1/chat/completions", timeout=0.2, json={
            "model": "org/small", "messages": ASK, "max_tokens": 480, "n": 16, "logit_bias": {"2": -100}})
    _wait_until_idle(stack)


def _running(stack: AskedStack) -> int:
    """Return the sequences that the engine has now."""
    listed = stack.engine().ListVersions(inference_pb2.ListVersionsRequest(), timeout=60)
    return sum(model.running_sequences + model.waiting_sequences for model in listed.models)


def _wait_until_idle(stack: AskedStack) -> None:
    until = time.monotonic() + 3
    while _running(stack):
        assert time.monotonic() < until, "the samples of a client that is gone go on"
        time.sleep(0.05)


def test_a_tool_is_called(client: Any) -> None:
    wanted = {"model": "org/small", "messages": ASK, "tools": [TOOL], "max_tokens": 60, "seed": 5,
              "tool_choice": {"type": "function", "function": {"name": "add"}}}
    (called,) = client.chat.completions.create(**wanted).choices[0].message.tool_calls or []
    assert called.function.name == "add"
    assert isinstance(json.loads(called.function.arguments)["a"], int), "a random model follows the parameters' schema"
    with client.chat.completions.stream(**wanted) as stream:
        (streamed,) = stream.get_final_completion().choices[0].message.tool_calls or []
    assert (streamed.function.name, streamed.function.arguments) == ("add", called.function.arguments)
    deltas = [chunk.choices[0].delta.tool_calls for chunk in client.chat.completions.create(**wanted, stream=True)]
    assert sum(map(bool, deltas)) > 5, "a call comes as it is written"
    again = client.chat.completions.create(
        model="org/small", max_tokens=2, tools=[TOOL], messages=[
            *ASK, {"role": "assistant", "content": None, "tool_calls": [called.model_dump()]},
            {"role": "tool", "tool_call_id": called.id, "content": "4"}])
    assert again.choices[0].message.role == "assistant"
    other = {"type": "function", "function": {"name": "negate", "strict": True, "parameters": {
        "type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"], "additionalProperties": False}}}
    required = {**wanted, "tools": [TOOL, other], "tool_choice": "required", "max_tokens": 80, "n": 8}
    choices = client.chat.completions.create(**required, parallel_tool_calls=False).choices
    assert {call.function.name for choice in choices for call in choice.message.tool_calls} == {"add", "negate"}
    assert {choice.finish_reason for choice in choices} == {"tool_calls"}
    several = [len(choice.message.tool_calls) for choice in client.chat.completions.create(**required).choices]
    assert max(several) > 1


SCHEMA: dict[str, Any] = {
    "type": "object", "required": ["sure", "answer"], "additionalProperties": False,
    "properties": {"sure": {"type": "boolean"}, "answer": {"enum": ["three", "four"]},
                   "digits": {"type": "string", "pattern": "^[0-9]{2}$"}}}
FORM: dict[str, Any] = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}


class Verdict(pydantic.BaseModel):
    """What an answer is parsed into."""

    sure: bool
    answer: Literal["three", "four"]


def test_answers_follow_a_json_schema(client: Any) -> None:
    wanted = {"model": "org/small", "messages": ASK, "max_tokens": 300, "seed": 4}
    whole = client.chat.completions.create(**wanted, response_format=FORM, n=6, logprobs=True, top_logprobs=2)
    found = [json.loads(choice.message.content) for choice in whole.choices]
    assert all(jsonschema_rs.is_valid(SCHEMA, one) for one in found)
    assert len({json.dumps(one) for one in found}) > 1
    assert {choice.finish_reason for choice in whole.choices} == {"stop"}
    for token in whole.choices[0].logprobs.content:
        assert token.logprob <= 0
        assert max(top.logprob for top in token.top_logprobs) >= token.logprob - 1e-5
    first = client.chat.completions.create(**wanted, response_format=FORM)
    chunks = client.chat.completions.create(**wanted, response_format=FORM, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == first.choices[0].message.content
    cut = client.chat.completions.create(**{**wanted, "max_tokens": 5}, response_format=FORM).choices[0]
    assert (cut.finish_reason, cut.message.content) == ("length", first.choices[0].message.content[:5])
    stopped = client.chat.completions.create(**wanted, response_format=FORM, stop="e").choices[0]
    assert stopped.message.content == first.choices[0].message.content.partition("e")[0]
    parsed = client.chat.completions.parse(**wanted, response_format=Verdict).choices[0].message.parsed
    assert isinstance(parsed, Verdict)
    objects = client.chat.completions.create(**wanted, response_format={"type": "json_object"}, n=8).choices
    ended = [json.loads(choice.message.content) for choice in objects if choice.finish_reason == "stop"]
    assert ended
    assert all(isinstance(one, dict) for one in ended)
    either = client.chat.completions.create(**wanted, response_format=FORM, tools=[TOOL], n=16).choices
    assert {bool(choice.message.tool_calls) for choice in either} == {False, True}


def nested(levels: int) -> dict[str, Any]:
    """Return a schema of arrays in arrays."""
    return {"type": "array", "items": nested(levels - 1)} if levels else {"type": "integer"}


@pytest.mark.parametrize(("wrong", "param", "code"), [
    ({"n": 0}, "n", None), ({"n": 129}, "n", None), ({"temperature": -0.1}, "temperature", None),
    ({"temperature": 3}, "temperature", None), ({"top_p": 0}, "top_p", None), ({"max_tokens": 0}, "max_tokens", None),
    ({"logprobs": True, "top_logprobs": 50}, "top_logprobs", None), ({"top_logprobs": 2}, "body", None),
    ({"messages": []}, "messages", None), ({"messages": [{"role": "user"}]}, "messages[0]", None),
    ({"messages": [{"role": "tool", "content": "4"}]}, "messages[0]", None),
    ({"messages": [{"role": "poet", "content": "x"}]}, "messages[0].role", None),
    ({"tools": [{"type": "function", "function": {"parameters": {}}}]}, "tools[0].function.name", None),
    ({"tool_choice": "required"}, "body", None), ({"stop": ["a", "b", "c", "d", "e"]}, "stop", None),
    ({"functions": [{"name": "f"}]}, "body", None), ({"audio": {"voice": "x"}}, "body", None),
    ({"extra_body": {"temperatur": 1}}, "temperatur", None),
    ({"max_tokens": 700}, "messages", "context_length_exceeded"),
    ({"messages": [{"role": "user", "content": "x" * 700}]}, "messages", "context_length_exceeded"),
    ({"response_format": {"type": "json_schema"}}, "response_format", None),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "blah"}}}},
     "response_format.json_schema.schema", "invalid_value"),
    ({"stream": True, "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"not": {}}}}},
     "response_format.json_schema.schema", "invalid_value"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"const": "é"}}}},
     "response_format.json_schema.schema", "invalid_value"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"enum": ["x" * 70_000]}}}},
     "response_format.json_schema.schema", "invalid_value"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": nested(300)}}},
     "response_format.json_schema.schema", "invalid_value"),
    ({"logit_bias": {"a": 1}}, "logit_bias", None), ({"seed": "one"}, "seed", None),
])
def test_what_users_get_wrong_is_named(
    client: Any, wrong: dict[str, object], param: str, code: str | None
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(**{"model": "org/small", "messages": ASK, **wrong})
    assert (refused.value.param or "").startswith(param)
    assert refused.value.type == "invalid_request_error"
    assert code is None or refused.value.code == code
    assert refused.value.response.headers["x-request-id"]


def test_keys_tenants_and_bodies_that_are_too_large(
    client: Any, stack: AskedStack, other_key: str
) -> None:
    for request in (stack.openai("tml-wrong"), stack.openai("hone-wrong")):
        with pytest.raises(openai.AuthenticationError):
            request.chat.completions.create(model="org/small", messages=ASK)
    for name in ("org/small", client.models.retrieve("org/small").id):
        with pytest.raises(openai.NotFoundError) as refused:
            stack.openai(other_key).chat.completions.create(model=name, messages=ASK)
        assert refused.value.code == "model_not_found"
    with pytest.raises(openai.APIStatusError) as too_large:
        client.chat.completions.create(model="org/small", messages=[{"role": "user", "content": "x" * 10 * 2**20}])
    assert (too_large.value.status_code, too_large.value.code) == (413, "request_too_large")


def test_an_asynchronous_client_and_one_of_2024(client: Any, stack: AskedStack, key: str) -> None:
    found = asyncio.run(_asked_asynchronously(f"{stack.gateway.url}/v1", key))
    assert found == 4
    understood = json.loads(subprocess.run(
        [sys.executable, Path(__file__).with_name("openai_2024.py"), str(client.base_url), key, "org/small"],
        env={**os.environ, "PYTHONPATH": str(_client_of_2024())}, capture_output=True, text=True, check=True).stdout)
    assert understood["version"] == _OLD
    assert understood["texts"][0] == understood["streamed"]
    assert (understood["logprobs"], understood["tokens"], understood["ended"]) == (4, 8, "length")
    assert (understood["models"], understood["code"]) == (["org/small"], "model_not_found")


async def _asked_asynchronously(url: str, key: str) -> int:
    async with openai.AsyncOpenAI(base_url=url, api_key=key) as client:
        chunks = [chunk async for chunk in await client.chat.completions.create(
            model="org/small", messages=ASK, max_tokens=4, seed=2, stream=True,
            stream_options={"include_usage": True})]
    assert chunks[-1].usage is not None
    return chunks[-1].usage.completion_tokens


def _client_of_2024() -> Path:
    """Return a directory with OpenAI's client of July 2024. Skips the test where no package index is reached."""
    target = Path(__file__).parents[3] / ".cache" / f"openai-{_OLD}"
    if not (target / "openai").is_dir():
        made = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", target, f"openai=={_OLD}",
                               "httpx<0.28"], capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"openai {_OLD} cannot be installed: {made.stderr[-300:]}")
    return target


def test_texts_become_vectors(client: Any) -> None:
    texts = ["the cat sat", "a cat sits", "42"]
    made = client.embeddings.create(model="hashed-v1", input=texts)
    assert [one.index for one in made.data] == [0, 1, 2]
    assert made.usage.prompt_tokens > 0
    plain = client.embeddings.create(model="hashed-v1", input=texts[0], encoding_format="float").data[0].embedding
    assert made.data[0].embedding == pytest.approx(plain, abs=1e-6)
    assert sum(value * value for value in plain) == pytest.approx(1, abs=1e-4)
    with pytest.raises(openai.NotFoundError) as refused:
        client.embeddings.create(model="org/small", input="x")
    assert refused.value.code == "model_not_found"
    for wrong in ([], [1, 2], ["a", ""]):
        with pytest.raises(openai.BadRequestError):
            client.embeddings.create(model="hashed-v1", input=wrong)


def test_a_conversation_in_the_terminal(client: Any, stack: AskedStack, key: str) -> None:
    environment = {"HONE_URL": stack.gateway.url, "HONE_API_KEY": key, "HONE_STATE": "/nowhere"}
    options = ["--max-tokens", "6", "--seed", "3", "--system", "Be brief."]
    run = CliRunner().invoke(app, ["chat", "org/small", "Hi", *options], env=environment)
    asked_for = {"model": "org/small", "max_tokens": 6, "seed": 3}
    opening = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    first = client.chat.completions.create(**asked_for, messages=opening).choices[0].message.content
    assert (run.exit_code, run.output) == (0, f"{first}\n")
    lines = CliRunner().invoke(app, ["chat", "org/small", *options], env=environment, input="Hi\nMore\n/new\nHi\n")
    later = [*opening, {"role": "assistant", "content": first}, {"role": "user", "content": "More"}]
    second = client.chat.completions.create(**asked_for, messages=later).choices[0].message.content
    assert lines.output == f"{first}\n{second}\n{first}\n"
    unknown = CliRunner().invoke(app, ["chat", "nowhere", "Hi"], env=environment)
    assert unknown.exit_code == 1
