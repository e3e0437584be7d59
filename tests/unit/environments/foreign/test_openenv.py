"""The protocol of OpenEnv's sessions, against a server that answers what a test says."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from hone.environments import tasks
from hone.environments.contract import EpisodeFailed, EpisodeLost, WrongParams
from hone.environments.foreign.places import LOOKUP, Kind, Place

Answers = Callable[[dict[str, Any]], Any]
SCHEMA = {"action": {"properties": {"message": {"type": "string"}, "metadata": {"type": "object"}},
                     "required": ["message"]}}


def seen(said: Any, reward: float | None = None, done: bool = False) -> dict[str, Any]:
    return {"type": "observation", "data": {"observation": said, "reward": reward, "done": done}}


def echo(asked: dict[str, Any]) -> Any:
    """Answer as an environment whose score is half of each message's length."""
    if asked["type"] == "reset":
        return seen({"text": f"begin {asked['data']['seed']}"})
    said = asked["data"]["message"]
    return seen({"text": said}, len(said) / 8, said == "stop")


class Fake:
    """The atlas of a test, and its server."""

    def __init__(self) -> None:
        self.answers: Answers = echo
        self.schema, self.authorizations, self.place_of = json.dumps(SCHEMA), list[str](), Place(
            protocol="openenv", url="http://127.0.0.1:9", authorization="Bearer key", timeout_s=0.5)

    def place(self, name: str, protocol: Kind) -> Place:
        assert (name, protocol) == ("far", "openenv")
        return self.place_of

    def respond(self, _: ServerConnection, request: Request) -> Response | None:
        self.authorizations.append(request.headers.get("Authorization", ""))
        if request.path != "/schema":
            return None
        return Response(HTTPStatus.OK, "OK", Headers({"Connection": "close"}), self.schema.encode())

    def handle(self, connection: ServerConnection) -> None:
        for line in connection:
            asked = json.loads(line)
            if asked["type"] == "close":
                return
            answer = self.answers(asked)
            if answer is None:
                return
            connection.send(answer if isinstance(answer, str) else json.dumps(answer))


@contextmanager
def serving(fake: Fake) -> Iterator[str]:
    """Answer as the fake does until the context ends, at the address that is yielded."""
    server: Server
    with serve(fake.handle, "127.0.0.1", 0, process_request=fake.respond) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"


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
