"""Scores of a row under an adapter: from the engine, and as they should be."""

from typing import Any

from hone.api import inference_pb2 as pb
from hone.models import probe
from hone.models.checkpoint import Checkpoint
from hone.models.policy import Policy
from tests.integration.inference.models import Model

ROW = [23, 9, 6, 13, 4, 5, 30, 7, 1, 19]


def expected(files: dict[str, bytes]) -> list[float]:
    """Return the trainer's log-probs of the row."""
    made = Checkpoint.from_files(files)
    return probe.logp(Policy(made.architecture, made.tensors), [ROW])[0]


def scored(engine: Any, model: Model) -> list[float]:
    """Return the engine's log-probs of the row under a model's served version."""
    item = pb.ScoreItem(context_ids=ROW[:1], ids=ROW[1:])
    answer = engine.Score(pb.ScoreRequest(model_id=model.id, items=[item]), timeout=60)
    return list(answer.items[0].logp)
