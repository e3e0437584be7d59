"""An OpenEnv server of tests."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from hone.environments.foreign.places import Kind, Place

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
        self.statuses = dict[str, int]()  # by the path that is refused with them
        self.schema, self.authorizations, self.place_of = json.dumps(SCHEMA), list[str](), Place(
            protocol="openenv", url="http://127.0.0.1:9", authorization="Bearer key", timeout_s=0.5)

    def place(self, name: str, protocol: Kind) -> Place:
        assert (name, protocol) == ("far", "openenv")
        return self.place_of

    def respond(self, _: ServerConnection, request: Request) -> Response | None:
        self.authorizations.append(request.headers.get("Authorization", ""))
        if status := self.statuses.get(request.path):
            return Response(status, "none", Headers({"Connection": "close", "Content-Length": "0"}))
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
