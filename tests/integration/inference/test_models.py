"""Models as people have them, against stock transformers: scaled rotary positions, two-byte weights, few positions."""

import json
from pathlib import Path
from typing import Any

import grpc
import pytest
import torch
from safetensors.torch import save
from transformers import AutoModelForCausalLM

from hone.api import inference_pb2 as pb
from hone.api import trajectory_pb2 as tpb
from hone.models import toy
from hone.models.checkpoint import read_weights
from tests.integration.inference.models import Model
from tests.servers.service import refused_field
from tests.unit.models.scalings import SCALINGS

POSITIONS = 128


def files(scaling: str, dtype: torch.dtype, mixed: bool = False) -> dict[str, bytes]:
    """Return a toy model with this scaling, whose weights (if `mixed`, all but norms) have this dtype."""
    made = toy.files(0, hidden=64, ffn=96, heads=2)
    config = {**json.loads(made["config.json"]), "max_position_embeddings": POSITIONS, "rope_theta": 1e4,
              "rope_scaling": SCALINGS[scaling], "torch_dtype": str(dtype).removeprefix("torch.")}
    del config["rope_parameters"], config["dtype"]
    # Larger weights than a toy's: its attention would hardly depend on positions.
    tensors = {name: (4 * tensor if tensor.dim() > 1 else tensor).to(
        torch.float32 if mixed and tensor.dim() == 1 else dtype) for name, tensor in
        read_weights(made["model.safetensors"]).items()}
    return {**made, "config.json": json.dumps(config).encode(), "model.safetensors": save(tensors, {"format": "pt"})}


@pytest.mark.parametrize(("scaling", "dtype", "mixed"), [
    ("llama3", torch.float16, False), ("yarn", torch.bfloat16, True), ("linear", torch.float16, True),
    ("dynamic", torch.bfloat16, False), ("yarn with a factor", torch.float16, False)])
def test_answers_are_those_of_stock_transformers(
    engine: Any, model: Model, tmp_path: Path, scaling: str, dtype: torch.dtype, mixed: bool,
) -> None:
    for name, data in files(scaling, dtype, mixed).items():
        (tmp_path / name).write_bytes(data)
    model.publish(0, files(scaling, dtype, mixed))
    ids = torch.randint(4, 32, (100,), generator=torch.Generator().manual_seed(1)).tolist()
    made = engine.Generate(pb.GenerateRequest(
        request_id="r", model_id=model.id, prompt_ids=ids, n=1, sampling=tpb.Sampling(
            max_tokens=28, temperature=1.0, top_p=1.0), noise=tpb.NoiseKey(seed=1, request="r")), timeout=120)
    drawn = list(made.completions[0].ids)
    stock: Any = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    with torch.no_grad():
        logp = stock(torch.tensor([ids + drawn])).logits[0, :-1].log_softmax(-1)
    expected = logp.gather(1, torch.tensor(ids + drawn)[1:, None]).squeeze(1)
    found = torch.tensor(made.completions[0].logp_sample)
    torch.testing.assert_close(found, expected[len(ids) - 1:], atol=1e-4, rtol=0)
    scored = engine.Score(pb.ScoreRequest(model_id=model.id, items=[
        pb.ScoreItem(context_ids=ids[:1], ids=ids[1:] + drawn)], temperature=1.0), timeout=60)
    torch.testing.assert_close(torch.tensor(scored.items[0].logp), expected, atol=1e-4, rtol=0)


def test_the_models_own_positions_are_the_limit_of_every_call(engine: Any, model: Model) -> None:
    model.publish(0, files("dynamic", torch.float32))
    whose = "positions of the model (its max_position_embeddings)"

    def request(prompt: int, max_tokens: int) -> pb.GenerateRequest:
        return pb.GenerateRequest(request_id="r", model_id=model.id, prompt_ids=[5] * prompt, n=1,
                                  sampling=tpb.Sampling(max_tokens=max_tokens, temperature=1.0, top_p=1.0))

    def item(length: int) -> pb.ScoreRequest:
        return pb.ScoreRequest(model_id=model.id, items=[pb.ScoreItem(context_ids=[5], ids=[6] * (length - 1))])

    assert len(engine.Generate(request(POSITIONS - 2, 2), timeout=60).completions[0].ids) == 2
    assert len(engine.Score(item(POSITIONS), timeout=60).items[0].logp) == POSITIONS - 1
    for call, field in (
        (lambda: engine.Generate(request(POSITIONS, 1), timeout=60), "prompt_ids"),
        (lambda: engine.Generate(request(300, 1), timeout=60), "prompt_ids"),
        (lambda: engine.Generate(request(POSITIONS - 2, 3), timeout=60), "sampling.max_tokens"),
        (lambda: list(engine.GenerateStream(pb.GenerateStreamRequest(request=request(126, 3)), timeout=60)),
         "request.sampling.max_tokens"),
        (lambda: list(engine.GenerateBatch(pb.GenerateBatchRequest(requests=[request(300, 3)]), timeout=60)),
         "requests[0].prompt_ids"),
        (lambda: engine.Score(item(POSITIONS + 1), timeout=60), "items[0].ids"),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            call()
        named, text = refused_field(refused.value)
        assert (named, whose in text) == (field, True), text
