"""The service in bfloat16: versions pass their probe, and answers are near the trainer's log-probs."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from hone.api import inference_pb2 as pb
from hone.api.inference_pb2_grpc import InferenceServiceStub
from hone.models import toy
from services.inference.native.matrix import takes_bfloat16
from tests.integration.inference.models import Model
from tests.servers.service import running
from tests.support.inference.adapters import expected, scored

pytestmark = pytest.mark.skipif(not takes_bfloat16(), reason="oneDNN has no bfloat16 on this processor")


@pytest.fixture(scope="module")
def engine(variables: dict[str, str]) -> Iterator[Any]:
    half = {"HONE_ENGINE_DTYPE": "bfloat16", "HONE_PROCESS_NAME": "inference-half"}
    with running("inference", **{**variables, **half}) as service:
        yield InferenceServiceStub(service.channel)


def test_versions_follow_each_other_and_are_near_what_their_trainer_computed(engine: Any, model: Model) -> None:
    for number in range(2):
        files = toy.files(number, hidden=64, ffn=96, heads=2)
        version_id = model.publish(number, files)
        engine.LoadVersion(pb.LoadVersionRequest(model_id=model.id, version_id=version_id), timeout=60)
        gaps = (torch.tensor(scored(engine, model)) - torch.tensor(expected(files))).abs()
        assert 0 < gaps.mean() < 0.05
    assert model.do("SELECT version_id FROM engine_models WHERE model_id = %s", model.id) == [(version_id,)]
