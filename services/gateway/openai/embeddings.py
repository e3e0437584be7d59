"""Vectors of texts as OpenAI's objects. Pure."""

import base64
from array import array

from hone.api import value_pb2
from services.gateway.openai.answers import Object
from services.gateway.openai.requests import EmbeddingRequest


def answer(body: EmbeddingRequest, made: value_pb2.EmbedResponse) -> Object:
    """Return the vectors in the order of the texts, and the tokens of all texts."""
    vectors = [{"object": "embedding", "index": place, "embedding": _encoded(one, body.encoding_format == "base64")}
               for place, one in enumerate(made.embeddings)]
    return {"object": "list", "model": made.model, "data": vectors,
            "usage": {"prompt_tokens": made.tokens, "total_tokens": made.tokens}}


def _encoded(made: value_pb2.Embedding, as_bytes: bool) -> list[float] | str:
    """Return a vector as numbers, or as its float32 in base64, which OpenAI's clients ask for by themselves."""
    return base64.b64encode(array("f", made.values).tobytes()).decode() if as_bytes else [*made.values]
