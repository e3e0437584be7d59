"""A reward model in the inference service: it rates, and makes and scores no tokens. vLLM refuses to serve it."""

from pathlib import Path
from typing import Any

import grpc
import pytest
import torch

from hone.api import inference_pb2 as pb
from tests.integration.inference.equality import ENGINE
from tests.integration.inference.models import Model, make_model, rater_files
from tests.servers.service import refused_field

pytestmark = pytest.mark.skipif(ENGINE != "native", reason="reward models are served by native engines")
TEXTS = [[5, 9, 11], [6] * 70, *[[7, place] for place in range(20)]]


@pytest.mark.parametrize("head", ["score.weight", "value_head.weight"])
def test_texts_are_rated_as_stock_transformers_rates_them(
    engine: Any, model: Model, tmp_path: Path, head: str
) -> None:
    from transformers import AutoModelForSequenceClassification

    version_id = model.publish(0, rater_files(head=head))
    items = [pb.RateItem(ids=ids) for ids in TEXTS]
    found = engine.Rate(pb.RateRequest(model_id=model.id, items=items), timeout=60)
    for name, data in rater_files().items():
        (tmp_path / name).write_bytes(data)
    theirs = AutoModelForSequenceClassification.from_pretrained(tmp_path, dtype=torch.float32)
    with torch.no_grad():
        wanted = [float(theirs(torch.tensor([ids])).logits[0, 0]) for ids in TEXTS]
    assert found.version_id == version_id
    assert list(found.ratings) == pytest.approx(wanted, abs=1e-4)


def test_a_reward_model_writes_nothing_and_a_writer_rates_nothing(
    engine: Any, model: Model, postgres_owner_url: str, objects_url: str
) -> None:
    model.publish(0, rater_files())
    asked = pb.GenerateRequest(request_id="r", model_id=model.id, prompt_ids=[5], n=1,
                               sampling={"max_tokens": 2, "top_p": 1.0})
    with pytest.raises(grpc.RpcError) as refused:
        engine.Generate(asked, timeout=60)
    assert refused_field(refused.value)[0] == "model_id"
    assert "Rate gives the ratings of this one" in refused_field(refused.value)[1]
    with pytest.raises(grpc.RpcError, match="Rate gives the ratings"):
        engine.Score(pb.ScoreRequest(model_id=model.id, items=[pb.ScoreItem(context_ids=[5], ids=[6])]), timeout=60)
    with pytest.raises(grpc.RpcError, match=r"items\[0\].ids: found 99"):
        engine.Rate(pb.RateRequest(model_id=model.id, items=[pb.RateItem(ids=[99])]), timeout=60)
    writer = make_model(postgres_owner_url, objects_url)
    writer.publish(0)
    with pytest.raises(grpc.RpcError, match="expected a reward model"):
        engine.Rate(pb.RateRequest(model_id=writer.id, items=[pb.RateItem(ids=[5])]), timeout=60)
