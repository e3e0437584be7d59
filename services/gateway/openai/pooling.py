"""Ratings of answers by reward models, in the form of vLLM's /pooling: the whole conversation becomes one number."""

from hone import ids
from hone.api import inference_pb2
from services.gateway.openai import prompts
from services.gateway.openai.answers import Object
from services.gateway.openai.asking import Asked
from services.gateway.openai.calls import now
from services.gateway.openai.refusals import too_long
from services.gateway.openai.requests import PoolingRequest


async def rated(asked: Asked, body: PoolingRequest) -> Object:
    """Return the rating of the last message. Where there is no room, the conversation before it loses its beginning.

    Raises TooLong for an answer that has no room by itself, and WrongRequest for a model that rates nothing.
    """
    messages = prompts.conversation(body)
    prompts.expect_readable(asked.model, messages, [])
    *before, answer = messages
    known, said = await asked.text.work(lambda text: text.rated_ids(before, answer))
    wanted = body.truncate_prompt_tokens
    most = asked.positions if wanted in (None, -1) else min(asked.positions, wanted)
    if len(said) > most:
        raise too_long("messages", 0, len(said), most)
    kept = [*known[max(0, len(known) + len(said) - most):], *said]
    made = await asked.asking.calls.rate(asked.session, asked.model.name, inference_pb2.RateRequest(
        model_id=asked.model.model_id, version_id=asked.model.version_id, items=[inference_pb2.RateItem(ids=kept)]))
    return {"id": ids.new("chat"), "object": "list", "created": now(), "model": asked.model.name,
            "data": [{"index": 0, "object": "pooling", "data": list(made.ratings)}],
            "usage": {"prompt_tokens": len(kept), "completion_tokens": 0, "total_tokens": len(kept)}}
