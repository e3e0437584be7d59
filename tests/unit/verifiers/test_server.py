"""The verify server in front of a rubric: what it is given, and what it never makes a reward of."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from hone.graders.responses import submission
from hone.verifiers.contract import Scores, Submitted, Unscored
from hone.verifiers.server import application

KEY = "the key"


class Scripted:
    """A rubric that keeps what it was given, and does what the answer says."""

    def __init__(self) -> None:
        self.given = list[Submitted]()

    async def scores(self, submitted: Submitted) -> Scores:
        self.given.append(submitted)
        if submitted.answer == "unscored":
            raise Unscored("no verdict")
        if submitted.answer == "broken":
            raise KeyError("gold")
        return Scores(0.5, {"part": float("inf") if submitted.answer == "part" else 1.0})


@pytest.fixture
def rubric() -> Scripted:
    return Scripted()


@pytest.fixture
async def http(rubric: Scripted) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(application(rubric, KEY), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://verifier",
                                 headers={"Authorization": f"Bearer {KEY}"}) as client:
        yield client


async def test_a_rubric_is_given_the_messages_the_answer_and_the_row(rubric: Scripted, http: httpx.AsyncClient) -> None:
    body = {**submission({"answer": 4}, "4"), "responses_create_params": {"instructions": "Be brief.", "input": [
        {"role": "developer", "content": "Add."}, {"type": "function_call_output", "output": "x"},
        {"role": "user", "content": [{"type": "input_text", "text": text} for text in ("two ", "and two")]}]}}
    assert (await http.post("/verify", json=body)).json() == {**body, "part": 1.0, "reward": 0.5,
                                                              "reward_components": {"part": 1.0}}
    [given] = rubric.given
    assert (given.answer, given.row) == ("4", {"answer": 4})
    assert [(one["role"], one["content"]) for one in given.messages] == [
        ("system", "Be brief."), ("system", "Add."), ("user", "two and two")]


@pytest.mark.parametrize(("answer", "words"), [
    ("unscored", "no verdict"), ("broken", "KeyError: 'gold'"), ("part", "part: found inf")])
async def test_a_rubric_that_fails_is_an_error(http: httpx.AsyncClient, answer: str, words: str) -> None:
    failed = await http.post("/verify", json=submission({"answer": 4}, answer))
    assert (failed.status_code, failed.json()) == (500, {"detail": failed.json()["detail"]})
    assert words in failed.json()["detail"]


@pytest.mark.parametrize(("content", "field"), [
    (b"{", "body"), (b"[]", "body"), (b"{}", "responses_create_params"),
    (b'{"responses_create_params": {"input": 3}, "response": {"output": []}}', "responses_create_params.input"),
    (b'{"responses_create_params": {}, "response": {}}', "response.output")])
async def test_another_body_is_refused_with_the_field(http: httpx.AsyncClient, content: bytes, field: str) -> None:
    refused = await http.post("/verify", content=content)
    assert (refused.status_code, [one["field"] for one in refused.json()["errors"]]) == (422, [field])


async def test_only_who_shows_the_key_is_served(rubric: Scripted, http: httpx.AsyncClient) -> None:
    calls: list[tuple[str, str, Any]] = [("POST", "/verify", {}), ("POST", "/seed_session", {}),
                                         ("GET", "/reverify_mode", None)]
    for method, path, body in calls:
        refused = await http.request(method, path, json=body, headers={"Authorization": "Bearer other"})
        assert refused.status_code == 401
    assert not rubric.given
    assert (await http.get("/reverify_mode")).json() == "stateless"
    named = {"resources_session_id": "s"}
    assert (await http.post("/seed_session", json=named)).json() == named
    assert (await http.post("/seed_session", content=b"{")).status_code == 422
    assert (await http.get("/healthz", headers={"Authorization": ""})).status_code == 200
