"""Asks a gateway with a client of 2024: `python openai_2024.py BASE_URL KEY MODEL` prints what it understood."""

import json
import sys
from typing import Any


def main(url: str, key: str, model: str) -> dict[str, Any]:
    """Ask in every way that this client knows."""
    import openai
    client: Any = openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=60)
    asked = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4, "seed": 2}
    whole = client.chat.completions.create(**asked, logprobs=True, n=2)
    chunks = [chunk for chunk in client.chat.completions.create(**asked, stream=True) if chunk.choices]
    completion = client.completions.create(model=model, prompt="Hi", max_tokens=2, logprobs=0)
    try:
        client.chat.completions.create(**{**asked, "model": "nowhere"})
    except openai.NotFoundError as refused:
        code = refused.code
    return {"version": openai.__version__, "texts": [choice.message.content for choice in whole.choices],
            "logprobs": len(whole.choices[0].logprobs.content), "tokens": whole.usage.completion_tokens,
            "streamed": "".join(chunk.choices[0].delta.content or "" for chunk in chunks),
            "ended": chunks[-1].choices[0].finish_reason, "continued": completion.usage.completion_tokens,
            "models": [one.name for one in client.models.list()], "code": code}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
