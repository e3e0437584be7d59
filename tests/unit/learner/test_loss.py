"""A micro-batch reads its own tokens of the step, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hone.trajectory.microbatches import cut
from hone.trajectory.packing import pack
from services.learner.trainer.loss import _taken
from tests.unit.trajectory.samples import random_step


@pytest.mark.parametrize("shape", [(), (3,), (0,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_a_micro_batch_takes_its_tokens_bit_for_bit(shape, dtype):
    batch = pack(*random_step(seed=7))
    values = torch.randn(int(batch.tokens.sum()), *shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    if dtype.is_floating_point:
        values[::3], values[1::5] = -torch.inf, -0.0
    micros = list(cut(batch, np.ones(len(batch.rows), np.bool_), 40))
    assert len(micros) > 3
    for micro in (*micros, replace(micros[0], token=np.zeros(0, np.int64))):
        found = _taken(values, micro, values)
        assert found.is_contiguous()
        assert found.numpy().tobytes() == values.numpy()[micro.token].tobytes()
