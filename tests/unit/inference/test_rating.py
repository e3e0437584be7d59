"""Ratings of the native engine beside those of stock transformers; batches of texts; and what is no reward model."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    LlamaForSequenceClassification,
    PretrainedConfig,
    Qwen2ForSequenceClassification,
    Qwen3ForSequenceClassification,
)

from hone.api import inference_pb2 as pb
from hone.models import architecture
from hone.models.checkpoint import Checkpoint
from hone.models.checkpoint_header import BadCheckpoint
from hone.models.config_fields import Unsupported
from hone.rpc.errors import InvalidField
from services.inference import rating
from services.inference.native.engine import FusedVersion, NativeEngine
from services.inference.native.weights import fuse
from tests.unit.inference.engines import POSITIONS, SLOTS, VOCABULARY, measured, stock, tokenizer

KINDS: dict[str, Any] = {"qwen3": Qwen3ForSequenceClassification, "qwen2": Qwen2ForSequenceClassification,
                         "llama": LlamaForSequenceClassification}
TEXTS = [[5, 9, 11], list(range(2, 40)) * 3, [4], [6] * 64, [7] * 65]


def written(family: str, directory: Path, labels: int = 1) -> Path:
    """Write a small random reward model as transformers does."""
    config: PretrainedConfig = stock(family).config
    config.num_labels, config.pad_token_id = labels, None
    torch.manual_seed(1)
    model = KINDS[family](config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.2 + (0.0 if parameter.dim() > 1 else 1.0))
    model.save_pretrained(directory)
    return directory


def served(directory: Path, family: str) -> NativeEngine:
    checkpoint = Checkpoint.from_directory(directory)
    version = FusedVersion("v0", fuse(checkpoint), tokenizer())
    return NativeEngine(checkpoint.architecture, measured(family), SLOTS, version)


@pytest.mark.parametrize("family", KINDS)
def test_ratings_are_those_of_stock_transformers(family: str, tmp_path: Path) -> None:
    directory = written(family, tmp_path)
    theirs = AutoModelForSequenceClassification.from_pretrained(directory, dtype=torch.float32)
    with torch.no_grad():
        wanted = [float(theirs(torch.tensor([ids])).logits[0, 0]) for ids in TEXTS]
    found = served(directory, family).rate(TEXTS)
    assert found == pytest.approx(wanted, abs=1e-4)
    assert max(wanted) - min(wanted) > 0.1, "the texts differ"


def test_a_rating_does_not_depend_on_its_batch(tmp_path: Path) -> None:
    engine = served(written("llama", tmp_path), "llama")
    assert engine.rate(TEXTS) == [engine.rate([ids])[0] for ids in TEXTS]


def test_texts_of_about_the_same_length_are_computed_together() -> None:
    texts = [[1] * length for length in (700, 3, 2000, 5, 800, *[4] * 20)]
    batches = list(rating.batches(texts))
    assert sorted(place for batch in batches for place in batch) == list(range(len(texts)))
    assert [sorted({len(texts[place]) for place in batch}) for batch in batches] == [
        [3, 4], [4, 5], [700, 800], [2000]]
    assert not list(rating.batches([]))


def test_a_reward_model_has_one_label_and_a_head(tmp_path: Path) -> None:
    parsed = Checkpoint.from_directory(written("qwen3", tmp_path)).architecture
    assert (parsed.name, parsed.rates, parsed.shapes()["score.weight"]) == (
        "Qwen3ForSequenceClassification", True, (1, parsed.hidden))
    assert "lm_head.weight" not in parsed.shapes()
    with pytest.raises(Unsupported, match="num_labels: found 2, expected 1"):
        Checkpoint.from_directory(written("qwen3", tmp_path, labels=2))
    config = json.loads((written("llama", tmp_path) / "config.json").read_text())
    writer = architecture.parse({**config, "architectures": ["LlamaForCausalLM"]})
    assert (writer.name, writer.rates) == ("LlamaForCausalLM", False)
    (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": ["LlamaForCausalLM"]}))
    with pytest.raises(BadCheckpoint, match=r"lm_head\.weight"):
        Checkpoint.from_directory(tmp_path)


def test_what_cannot_be_rated_is_refused_by_name(tmp_path: Path) -> None:
    rater = Checkpoint.from_directory(written("llama", tmp_path)).architecture
    for message, words in ((pb.RateRequest(), "model_id"), (pb.RateRequest(model_id="m", items=[pb.RateItem()]),
                                                              r"items\[0\].ids"),
                           (pb.RateRequest(model_id="m", items=[pb.RateItem(ids=[1] * (POSITIONS + 1))]), "129 ids")):
        with pytest.raises(InvalidField, match=words):
            rating.read_items(message, POSITIONS)
    with pytest.raises(InvalidField, match=rf"items\[1\].ids: found {VOCABULARY}"):
        rating.check_fit([[1], [VOCABULARY]], rater)
    with pytest.raises(InvalidField, match="model_id: found 'a reward model, which has no next token'"):
        rating.expect_writer(rater)
    with pytest.raises(InvalidField, match="expected a reward model"):
        rating.check_fit([[1]], architecture.parse(json.loads(stock("llama").config.to_json_string(use_diff=False)) | {
            "architectures": ["LlamaForCausalLM"]}))
