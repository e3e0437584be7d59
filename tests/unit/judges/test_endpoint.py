"""What an endpoint answers is one verdict, or none; and who asks shows its key to nobody else."""

import httpx
import pytest

from hone.client.judge_resources import JudgeTerms
from hone.graders.questions import JudgeFailed, Question, Reply, Submission
from hone.judges import chat_completions, verification
from hone.judges.endpoint import Endpoint, Exchange, answer

TERMS = JudgeTerms(attempts=1)
SAID = '{"choices": [{"message": {"content": "no"}}]}'


async def asked(given: httpx.Response, url: str = "http://judge/v1", verify: bool = False) -> Reply:
    """Return what a judge that answers so is understood to say. It has seen one request, to its own host."""
    def respond(request: httpx.Request) -> httpx.Response:
        assert (request.url.host, request.headers["Authorization"]) == ("judge", "Bearer key")
        return given

    endpoint = Endpoint(url, "m", TERMS, lambda: "Bearer key")
    exchange: Exchange = verification.exchange(endpoint, Submission("j", {})) if verify else chat_completions.exchange(
        endpoint, Question("j", []))
    async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as client:
        return await answer(client, endpoint, exchange)


async def test_an_answer_is_read() -> None:
    assert (await asked(httpx.Response(200, text=SAID))).text == "no"


@pytest.mark.parametrize(("text", "verify"), [
    (SAID[:-1] + ', "choices": [{"message": {"content": "yes"}}]}', False),
    ('{"choices": [{"message": {"content": "no", "content": "yes"}}]}', False), ('{"reward": 0, "reward": 1}', True)])
async def test_a_key_twice_is_no_verdict(text: str, verify: bool) -> None:
    with pytest.raises(JudgeFailed, match="ambiguous JSON: found the key"):
        await asked(httpx.Response(200, text=text), verify=verify)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    with pytest.raises(JudgeFailed, match=f"status {status}"):
        await asked(httpx.Response(status, headers={"Location": "http://evil/"}))


async def test_an_address_that_no_request_can_have_is_a_failure_of_the_judge() -> None:
    with pytest.raises(JudgeFailed, match="invalid URL or header value in the judge's address or secret"):
        await asked(httpx.Response(200, text=SAID), "http://judge:x")


@pytest.mark.parametrize("content", [
    '{"type": "urn:problem", "detail": "It is too long."}', '{"error": {"message": "It is too long.", "code": null}}',
    '{"error": "It is too long."}', "It is too long.", '["It is too long."]'])
async def test_a_refusal_is_shown_by_its_sentence(content: str) -> None:
    with pytest.raises(JudgeFailed, match=r'status 400: (\[")?It is too long\.("\])?$'):
        await asked(httpx.Response(400, text=content))
