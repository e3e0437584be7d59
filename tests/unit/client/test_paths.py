"""A name in a path cannot lead to another path."""

import httpx
import pytest

from hone.client import Client, errors
from hone.client.transport import rest_path


@pytest.mark.parametrize(("name", "expected"), [
    ("a", "/v1/models/a"), ("a/b", "/v1/models/a%2Fb"), ("../usage", "/v1/models/..%2Fusage"),
    ("?x=1", "/v1/models/%3Fx%3D1"),
    ("#", "/v1/models/%23"), ("%2e", "/v1/models/%252e"), ("ö", "/v1/models/%C3%B6"), ("...", "/v1/models/...")])
def test_a_segment_stays_whole(name: str, expected: str) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(404)

    with pytest.raises(errors.NotFound):
        Client("http://hone", "tml-k", transport=httpx.MockTransport(answer)).model(name)
    assert [request.url.raw_path.decode() for request in asked] == [expected]


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_what_no_segment_can_be_is_not_there(name: str) -> None:
    with pytest.raises(errors.NotFound, match="Nothing has the name"):
        rest_path("runs", name)
