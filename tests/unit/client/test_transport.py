"""Retries of requests, and the errors of refusals."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from hone.client import Client, errors, every
from hone.client.transport import ATTEMPTS, HttpTransport
from hone.spec.problems import Invalid

RUN = {"id": "run_1", "name": "n", "state": "queued", "desired": "run", "step": 0, "steps": 1, "model_id": "m",
       "created_at": "2026-01-01T00:00:00Z", "deadline": "2026-01-02T00:00:00Z", "spec": {}, "unknown": 1}
PROBLEM = {"type": "t", "title": "Unusable", "status": 422, "detail": "wrong", "request_id": "req_1",
           "errors": [{"field": "steps", "found": "0", "expected": "more"}]}

Answer = Callable[[httpx.Request], httpx.Response]


def answering(*answers: httpx.Response | Exception) -> tuple[list[httpx.Request], httpx.MockTransport]:
    """Return the list of recorded requests, and a gateway that gives these answers in turn."""
    seen: list[httpx.Request] = []
    left = iter(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        given = next(left)
        if isinstance(given, Exception):
            raise given
        return given

    return seen, httpx.MockTransport(answer)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(HttpTransport, "wait", lambda _, failures, *__: waited.append(failures))
    return waited


def client(transport: httpx.MockTransport) -> Client:
    return Client("http://hone", "tml-key", transport=transport)


def test_a_post_is_repeated_under_one_key_until_it_is_answered() -> None:
    seen, gateway = answering(httpx.ConnectError("no"), httpx.Response(503), httpx.ReadError("cut"),
                              httpx.Response(201, json=RUN))
    assert client(gateway).create_run({"name": "n"}).id == "run_1"
    assert len(seen) == 4
    assert len({request.headers["idempotency-key"] for request in seen}) == 1
    assert {request.headers["authorization"] for request in seen} == {"Bearer tml-key"}


def test_two_calls_have_two_keys_and_callers_may_choose_one() -> None:
    seen, gateway = answering(*(httpx.Response(201, json=RUN) for _ in range(3)))
    hone = client(gateway)
    hone.create_run({})
    hone.create_run({})
    hone.create_run({}, idempotency_key="mine")
    keys = [request.headers["idempotency-key"] for request in seen]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


def test_after_the_last_attempt_it_is_away(waits: list[float]) -> None:
    seen, gateway = answering(*[httpx.ConnectError("refused")] * ATTEMPTS)
    with pytest.raises(errors.Away, match="http://hone does not answer: refused"):
        client(gateway).runs()
    assert (len(seen), waits) == (ATTEMPTS, list(range(1, ATTEMPTS)))


@pytest.mark.parametrize(("status", "kind"), [
    (400, errors.Refused), (401, errors.Unauthenticated), (404, errors.NotFound), (409, errors.Conflict),
    (413, errors.TooLarge), (422, errors.Refused), (405, errors.HoneError), (500, errors.HoneError)])
def test_refusals_are_not_repeated(status: int, kind: type[errors.HoneError]) -> None:
    document = {**PROBLEM, "status": status}
    seen, gateway = answering(httpx.Response(
        status, json=document, headers={"content-type": "application/problem+json"}))
    with pytest.raises(errors.HoneError, match="wrong") as refused:
        client(gateway).run("run_1")
    assert type(refused.value) is kind
    assert len(seen) == 1
    assert [str(problem) for problem in refused.value.problems] == ["steps: found 0, expected more"]
    assert (refused.value.status, refused.value.request_id) == (status, "req_1")


def test_an_answer_of_somebody_else_is_an_error_too() -> None:
    _, gateway = answering(httpx.Response(404, text="<html>proxy</html>"))
    with pytest.raises(errors.NotFound, match="proxy"):
        client(gateway).run("run_1")


@pytest.mark.parametrize("answer", [
    httpx.Response(200, text="<html>"), httpx.Response(200, json={"data": [{"id": 1}]}), httpx.Response(200, json=[]),
    httpx.Response(307, headers={"location": "/v1/runs"}),
    httpx.Response(500, text="{", headers={"content-type": "application/problem+json"}),
    httpx.Response(500, json={"errors": ["x"], "status": "?"}, headers={"content-type": "application/problem+json"})])
def test_what_cannot_be_read_is_an_error_of_the_family(answer: httpx.Response) -> None:
    seen, gateway = answering(answer)
    with pytest.raises(errors.HoneError):
        client(gateway).runs()
    assert len(seen) == 1


def test_an_unreadable_answer_says_what_was_found_and_what_was_expected() -> None:
    _, gateway = answering(httpx.Response(200, text="<html>proxy", headers={"x-request-id": "req_7"}))
    with pytest.raises(errors.HoneError, match="found '<html>proxy', expected Run") as refused:
        client(gateway).run("run_1")
    assert refused.value.request_id == "req_7"


def test_an_unreadable_event_is_an_error_of_the_family() -> None:
    _, gateway = answering(stream("data: {}\n\n"))
    with pytest.raises(errors.HoneError, match="expected Event"):
        list(client(gateway).follow("run_1"))


@pytest.mark.parametrize(("failures", "asked", "expected"), [
    (1, "", 0.2), (2, "", 0.4), (9, "", 5.0), (1, "3", 3.0), (1, "soon", 0.2)])
def test_waits_grow_or_follow_what_was_asked(
    monkeypatch: pytest.MonkeyPatch, failures: int, asked: str, expected: float,
) -> None:
    monkeypatch.undo()
    waited: list[float] = []
    HttpTransport("http://hone", "k", 1, answering()[1], waited.append).wait(failures, asked)
    assert waited == [expected]


def test_listings_are_walked_to_their_end() -> None:
    pages: list[dict[str, Any]] = [{"data": [RUN, RUN], "next": "run_1"}, {"data": [RUN]}]
    seen, gateway = answering(*(httpx.Response(200, json=page) for page in pages))
    assert len(list(every(client(gateway).runs, state="queued"))) == 3
    assert [dict(request.url.params) for request in seen] == [
        {"limit": "50", "state": "queued"}, {"limit": "50", "after": "run_1", "state": "queued"}]


def stream(*chunks: str, broken: bool = False) -> httpx.Response:
    """Return an event stream that ends properly, or breaks off."""
    def content() -> Iterator[bytes]:
        for chunk in chunks:
            yield chunk.encode()
        if broken:
            raise httpx.ReadError("cut")

    return httpx.Response(200, content=content(), headers={"content-type": "text/event-stream"})


def event(number: int) -> str:
    body = f'{{"id": {number}, "kind": "k", "message": "m{number}", "created_at": "2026-01-01T00:00:00Z"}}'
    return f"id: {number}\nevent: k\ndata: {body}\n\n"


END = 'event: end\ndata: {"state": "succeeded"}\n\n'


def test_a_broken_stream_is_continued_after_its_last_event() -> None:
    seen, gateway = answering(
        stream(": still here\n\n", event(1), event(2), broken=True), httpx.ConnectError("restarting"),
        httpx.Response(503), stream(event(3)), stream(event(4), END))
    assert [one.id for one in client(gateway).follow("run_1")] == [1, 2, 3, 4]
    assert [request.headers["last-event-id"] for request in seen] == ["0", "2", "2", "2", "3"]


def test_a_stream_that_stays_away_is_an_error() -> None:
    seen, gateway = answering(*[httpx.ConnectError("gone")] * ATTEMPTS)
    with pytest.raises(errors.Away, match="gone"):
        list(client(gateway).follow("run_1"))
    assert len(seen) == ATTEMPTS


def test_a_stream_of_an_unknown_run_is_not_found() -> None:
    _, gateway = answering(httpx.Response(404, json=PROBLEM, headers={"content-type": "application/problem+json"}))
    with pytest.raises(errors.NotFound):
        list(client(gateway).follow("run_1"))


def test_series_of_metrics_are_read_to_their_end() -> None:
    seen, gateway = answering(
        httpx.Response(200, json={"series": {"b": [[1, 0.5], [2, 0.25]]}, "next": 2}),
        httpx.Response(200, json={"series": {"a": [[3, 1.0]], "b": [[3, 0.125]]}, "next": None}))
    found = client(gateway).metrics("run_1")
    assert found.series == {"a": [(3, 1.0)], "b": [(1, 0.5), (2, 0.25), (3, 0.125)]}
    assert [request.url.params["after_step"] for request in seen] == ["-1", "2"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_json_cannot_hold_is_named_before_it_is_sent(value: object) -> None:
    seen, transport = answering(httpx.Response(200, json={}))
    with pytest.raises(Invalid) as refused:
        HttpTransport("http://gateway", "key", 1, transport).request(
            "POST", "/v1/runs", json={"grader": {"a": [value]}})
    assert ([one.field for one in refused.value.problems], seen) == (["grader.a[0]"], [])
