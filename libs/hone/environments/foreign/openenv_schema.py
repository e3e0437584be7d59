"""The JSON schema of an OpenEnv server's actions, which it has at /schema."""

import time
from collections.abc import Mapping
from typing import Any

import httpx

from hone.environments.contract import EpisodeLost, WrongParams
from hone.environments.foreign.places import Place, may_pass
from hone.spec import strict_json

_MOST_BYTES, _LONGEST_S = 2**22, 10.0
_EXPECTED = "an OpenEnv server, which has its schemas at /schema"


def action_schema(world: str, place: Place) -> Mapping[str, Any]:
    """Return the schema of the server's actions. Raises WrongParams and EpisodeLost."""
    try:
        status, body = _answer(world, place)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise WrongParams("params.world", world, f"{_EXPECTED} ({error})") from error
    except httpx.HTTPError as error:
        raise EpisodeLost(f"the OpenEnv server {world} cannot be reached: {type(error).__name__}: {error}") from error
    if may_pass(status):
        raise EpisodeLost(f"the OpenEnv server {world} answered with status {status}")
    try:
        read = strict_json.read(body)
    except ValueError:
        read = None
    if status != httpx.codes.OK or not isinstance(read, dict) or not isinstance(read.get("action"), dict):
        raise WrongParams("params.world", world, f"{_EXPECTED} (found status {status})")
    return dict(read["action"])


def _answer(world: str, place: Place) -> tuple[int, bytes]:
    """Return status and body. A body that is too long, or that comes too slowly, is not waited for to its end.

    Raises WrongParams, EpisodeLost and httpx's errors.
    """
    headers, body = {"Authorization": place.authorization} if place.authorization else {}, bytearray()
    until = time.monotonic() + _LONGEST_S
    with httpx.stream("GET", place.url.rstrip("/") + "/schema", headers=headers, timeout=_LONGEST_S,
                      trust_env=False) as answer:
        for part in answer.iter_bytes():
            body += part
            if len(body) > _MOST_BYTES:
                raise WrongParams("params.world", world, f"{_EXPECTED}, of at most {_MOST_BYTES} bytes")
            if time.monotonic() > until:
                raise EpisodeLost(f"the OpenEnv server {world} had not sent its schema after {_LONGEST_S:g} s")
        return answer.status_code, bytes(body)
