"""Models that vLLM cannot hold are refused before an engine is built."""

import json
from contextlib import nullcontext

import pytest

from hone.models import toy
from hone.models.architecture import Architecture, parse
from hone.models.config_fields import Unsupported
from services.inference.vllm import kind
from tests.unit.models.scalings import SCALINGS


def model(positions: int, scaling: str) -> Architecture:
    return parse({**json.loads(toy.files()["config.json"]), "max_position_embeddings": positions,
                  "rope_parameters": {**SCALINGS[scaling], "rope_theta": 1e4}})


@pytest.mark.parametrize(("positions", "scaling", "fits"), [
    (128, "yarn", True), (129, "yarn", False), (4096, "llama3", True), (4096, "linear", True)])
def test_positions_beyond_the_table_of_a_yarn_model_are_refused(positions: int, scaling: str, fits: bool) -> None:
    refused = pytest.raises(Unsupported, match="max_position_embeddings: found 129, expected at most 128 with vLLM")
    with nullcontext() if fits else refused:
        kind._check_positions(model(positions, scaling))
