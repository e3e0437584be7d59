"""The protocol of OpenEnv's sessions, against a server that answers what a test says."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from hone.environments import tasks
from hone.environments.contract import EpisodeFailed, EpisodeLost, WrongParams
from hone.environments.foreign import openenv_schema
from hone.environments.foreign.places import LOOKUP
from tests.support.environments.openenv import Fake, seen, serving


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    made = Fake()
    with serving(made) as url:
        made.place_of = made.place_of.model_copy(update={"url": url})
        monkeypatch.setattr(LOOKUP, "atlas", made)
        yield made


def played(**params: Any) -> Any:
    return tasks.episode(tasks.make("openenv", {"world": "far", **params}, 5))


def test_texts_are_actions_and_rewards_are_summed(fake: Fake) -> None:
    one = played(instruction="Talk.")
    assert one.reset().messages == [{"role": "system", "content": "Talk."}, {"role": "user", "content": "begin 5\n"}]
    assert not one.step("a").done
    taken = one.step("stop")
    assert (taken.done, taken.observation.item) == (True, {"world": "far", "verified": 5 / 8})
    assert set(fake.authorizations) == {"Bearer key"}
    one.close()


@pytest.mark.parametrize(("answer", "kind", "words"), [
    ("no JSON", EpisodeFailed, "no JSON"), ({"type": "state"}, EpisodeFailed, "expected an observation or an error"),
    (seen("a text"), EpisodeFailed, "expected observation, reward and done"), (None, EpisodeLost, "has gone"),
    ({"type": "error", "data": {"message": "own defect", "code": "EXECUTION_ERROR"}}, EpisodeFailed, "own defect"),
    ({"type": "error", "data": {"message": "own defect", "code": []}}, EpisodeFailed, "own defect"),
    (seen({}, 10**400, done=True), EpisodeFailed, "found inf"),
    (seen({}, 2.0, done=True), EpisodeFailed, "found 2.0")])
def test_a_wrong_answer_gives_no_score(fake: Fake, answer: Any, kind: type[Exception], words: str) -> None:
    one = played()
    one.reset()
    fake.answers = lambda _: answer
    with pytest.raises(kind, match=words):
        one.step("a")
    one.close()


@pytest.mark.parametrize(("answer", "words"), [
    ({"type": "error", "data": {"message": "8/8", "code": "CAPACITY_REACHED"}}, "8/8"), ("no JSON", "no JSON")])
def test_a_session_that_does_not_begin_may_begin_later(fake: Fake, answer: Any, words: str) -> None:
    fake.answers = lambda _: answer
    with pytest.raises(EpisodeLost, match=words):
        played().reset()


def test_texts_that_no_message_carries_and_errors_of_an_odd_form_are_read_nevertheless(fake: Fake) -> None:
    one = played()
    one.reset()
    fake.answers = lambda _: seen({"text": "a\0b\ud800"})
    assert one.step("a").observation.messages == [{"role": "user", "content": "a\ufffdb?\n"}]
    fake.answers = lambda _: {"type": "error", "data": {
        "message": "no", "code": "VALIDATION_ERROR", "errors": [{"loc": 5, "msg": "odd"}]}}
    assert one.step("a").observation.messages == [{"role": "user", "content": "error: no: errors[0]: odd\n"}]
    one.close()


def test_an_observation_that_is_no_object_has_no_field_to_show(fake: Fake) -> None:
    fake.answers = lambda _: seen(None)
    with pytest.raises(EpisodeFailed, match="expected observation, reward and done"):
        played(show="text").reset()


@pytest.mark.parametrize(("status", "kind"), [(503, EpisodeLost), (429, EpisodeLost), (404, WrongParams)])
def test_a_server_that_starts_or_is_full_may_answer_later(
    fake: Fake, status: int, kind: type[Exception],
) -> None:
    for path in ("/ws", "/schema"):
        fake.statuses = {path: status}
        with pytest.raises(kind, match=str(status)):
            played().reset()


def test_a_schema_without_end_is_not_waited_for(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openenv_schema, "_MOST_BYTES", 10)
    with pytest.raises(WrongParams, match="of at most 10 bytes"):
        played().reset()
    monkeypatch.setattr(openenv_schema, "_LONGEST_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        fake.place_of = fake.place_of.model_copy(update={"url": f"http://127.0.0.1:{server.getsockname()[1]}"})
        trickle = pool.submit(_trickled, server)
        with pytest.raises(EpisodeLost, match=r"had not sent its schema after 0\.3 s"):
            played().reset()
        trickle.result(20)


def _trickled(server: socket.socket) -> None:
    """Answer one request a byte at a time, until the caller leaves."""
    client, _ = server.accept()
    with client, suppress(OSError):
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            client.sendall(b" ")
            time.sleep(0.1)


@pytest.mark.parametrize("required", [5, [{}], ["absent"]])
def test_required_fields_that_are_none_are_no_fields(fake: Fake, required: Any) -> None:
    fake.schema = json.dumps({"action": {"properties": {"x": {}}, "required": required}})
    one = played(action="tool")
    tool = (one.reset().tools or [])[0]
    assert tool["function"]["parameters"]["required"] == []
    one.close()


@pytest.mark.parametrize("schema", ["no JSON", "[]", '{"action": 1}'])
def test_what_has_no_schema_of_actions_is_no_world(fake: Fake, schema: str) -> None:
    fake.schema = schema
    with pytest.raises(WrongParams, match=r"params.world: found 'far', expected an OpenEnv server"):
        played().reset()


def test_an_answer_that_does_not_come_masks_the_sample(fake: Fake) -> None:
    ended = threading.Event()
    one = played()
    one.reset()
    fake.answers = lambda _: ended.wait(20) and None
    with pytest.raises(EpisodeFailed, match=r"within 0\.5 s"):
        one.step("a")
    ended.set()


def test_answers_are_read_by_the_schema(fake: Fake) -> None:
    one = played(action="json")
    one.reset()
    assert one.step("nothing").observation.messages == [
        {"role": "user", "content": "error: expected a JSON object with message\n"}]
    assert one.step('I say {"message": "hi"}.').observation.messages == [{"role": "user", "content": "hi\n"}]
    one.close()
    fake.schema = json.dumps({"action": {"properties": {"x": {"type": "integer"}}, "required": ["x"]}})
    with pytest.raises(WrongParams, match=r"params.field: found '', expected the field that holds the text"):
        played(action="text").reset()
