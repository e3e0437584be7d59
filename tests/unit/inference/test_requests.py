"""A request that does not fit an engine is refused in positive numbers."""

import pytest

from hone.api import inference_pb2
from hone.rpc.errors import InvalidField
from services.inference.requests import ENGINE, Limits, read_request


@pytest.mark.parametrize(("prompt", "max_tokens", "field", "expected"), [
    (250, 7, "sampling.max_tokens", f"at most 6: the 256 positions of {ENGINE} less a prompt of 250"),
    (256, 1, "prompt_ids", f"fewer than 256: prompt and completion share the 256 positions of {ENGINE}"),
    (1999, 8, "prompt_ids", f"fewer than 256: prompt and completion share the 256 positions of {ENGINE}"),
])
def test_the_part_that_is_too_long_is_named(prompt: int, max_tokens: int, field: str, expected: str) -> None:
    message = inference_pb2.GenerateRequest(model_id="m", prompt_ids=[1] * prompt, n=1)
    message.sampling.max_tokens, message.sampling.temperature, message.sampling.top_p = max_tokens, 1.0, 1.0
    with pytest.raises(InvalidField) as refused:
        read_request(message, Limits(256))
    assert refused.value.field == field
    assert str(refused.value).endswith(f"expected {expected}")
