"""Generation without a cache, as a reference."""

from typing import Any

import torch
from transformers import PreTrainedModel


def reference(model: PreTrainedModel, prompt: list[int], ids: list[int]) -> torch.Tensor:
    """Return the logits [len(ids), vocabulary] that predict `ids` after `prompt`."""
    with torch.no_grad():
        output: Any = model(torch.tensor([prompt + ids]))
    logits: torch.Tensor = output.logits[0, len(prompt) - 1:-1]
    return logits
