"""One question to an endpoint over HTTP, repeated while the endpoint is busy or away."""

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from hone.client.judge_resources import JudgeTerms
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import JudgeFailed, Reply
from hone.spec import strict_json

_PASSING = frozenset({408, 409, 425, 429})
_UNFIT = frozenset({400, 413, 422})
"""Statuses by which a judge refuses this question for good, such as one that is longer than its context. People mend
other refusals, as for a wrong key."""
_PAUSES_S, _LONGEST_PAUSE_S = (1.0, 2.0, 4.0, 8.0), 30.0
SHOWN, _MOST_BYTES = 200, 2**22


@dataclass(frozen=True)
class Endpoint:
    """Where a question goes. `authorization` is made anew for each attempt, and is in no text."""

    url: str
    model: str
    terms: JudgeTerms
    authorization: Callable[[], str]  # value of the header; empty: none


class _Busy(Exception):
    """The endpoint may answer later. `pause_s`: when it says so itself; `detail`: what else it says."""

    def __init__(self, reason: str, pause_s: float | None = None, detail: str = "") -> None:
        super().__init__(reason)
        self.pause_s, self.detail = pause_s, detail


@dataclass(frozen=True)
class Exchange:
    """A question in an endpoint's protocol. `read` raises JudgeFailed for what is no answer to it."""

    path: str
    body: Mapping[str, Any]
    read: Callable[[bytes], Reply]


def connections() -> httpx.AsyncClient:
    """Return the client that asks endpoints. Tenants share it: no host's cookies are kept."""
    return httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=None,
                             cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())))


async def answer(client: httpx.AsyncClient, endpoint: Endpoint, exchange: Exchange) -> Reply:
    """Return the endpoint's answer. Raises JudgeFailed when all attempts failed, and for what no attempt would mend."""
    for attempt in range(endpoint.terms.attempts):
        try:
            return await _attempt(client, endpoint, exchange)
        except _Busy as busy:
            if attempt + 1 == endpoint.terms.attempts:
                tries = f"{attempt + 1} attempts" if attempt else "one attempt"
                raise JudgeFailed(ErrorKind.MODEL_SERVER, f"{busy} (after {tries}){busy.detail}") from busy
            await asyncio.sleep(_pause_s(attempt, busy))
    raise AssertionError("terms ask for no attempt")


async def _attempt(client: httpx.AsyncClient, endpoint: Endpoint, exchange: Exchange) -> Reply:
    authorization = endpoint.authorization()
    try:
        async with asyncio.timeout(endpoint.terms.timeout_s), client.stream(
                "POST", f"{endpoint.url}{exchange.path}", json=exchange.body,
                headers={"Authorization": authorization} if authorization else {}) as response:
            content = await _content(response)
    except TimeoutError as error:
        raise _Busy(f"the judge did not answer within {endpoint.terms.timeout_s:g} s") from error
    except (httpx.InvalidURL, UnicodeError, httpx.LocalProtocolError) as error:
        raise JudgeFailed(ErrorKind.MODEL_SERVER, "invalid URL or header value in the judge's address or secret "
                          f"({type(error).__name__})") from None
    except httpx.HTTPError as error:
        raise _Busy(f"the judge cannot be reached: {type(error).__name__}") from error
    if response.status_code in _PASSING or response.status_code >= 500:
        raise _Busy(f"the judge answered with status {response.status_code}", _said_pause_s(response.headers),
                    f": {_shown(content)}" if content else "")
    if response.status_code != 200:
        kind = ErrorKind.MODEL_REFUSAL if response.status_code in _UNFIT else ErrorKind.MODEL_SERVER
        raise JudgeFailed(kind, f"the judge refuses the question with status {response.status_code}: {_shown(content)}",
                          missing=response.status_code == 404)
    _expect_one_meaning(content)
    return exchange.read(content)


def _expect_one_meaning(content: bytes) -> None:
    """Raise JudgeFailed for an object with a key twice: whoever reads the last one gets another verdict."""
    try:
        json.loads(content, object_pairs_hook=strict_json.distinct)
    except strict_json.RepeatedKey as error:
        raise JudgeFailed(ErrorKind.MODEL_SERVER, f"the judge answered with ambiguous JSON: {error}") from None
    except (ValueError, RecursionError):
        return  # whoever reads it says what was expected


def _shown(content: bytes) -> str:
    """Return the readable part of a refusal: the sentence in a problem or in an OpenAI error, else its first bytes."""
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict):
        error = said.get("error")
        sentence = error.get("message") if isinstance(error, dict) else said.get("detail") or error
        if isinstance(sentence, str) and sentence.strip():
            return sentence[:SHOWN]
    return content[:SHOWN].decode(errors="replace")


async def _content(response: httpx.Response) -> bytes:
    """Return the body of a response. Raises JudgeFailed for one that is no answer by its length."""
    parts, length = list[bytes](), 0
    async for part in response.aiter_bytes():
        parts.append(part)
        length += len(part)
        if length > _MOST_BYTES:
            raise JudgeFailed(ErrorKind.MODEL_SERVER, f"the judge answered with more than {_MOST_BYTES} bytes")
    return b"".join(parts)


def _said_pause_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which an endpoint wants to be asked again, if it says so in seconds."""
    text = headers.get("retry-after", "")
    return float(text) if text.isdecimal() else None


def _pause_s(attempt: int, busy: _Busy) -> float:
    pause_s = _PAUSES_S[min(attempt, len(_PAUSES_S) - 1)] if busy.pause_s is None else busy.pause_s
    return min(pause_s, _LONGEST_PAUSE_S) * random.uniform(0.75, 1.25)
