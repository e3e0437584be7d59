"""Weights that hold NaN or infinity are refused by name, before any engine has them."""

from collections.abc import Mapping

import torch
from torch import Tensor


class NotFinite(ValueError):
    """Weights hold NaN or infinity."""


def check(tensors: Mapping[str, Tensor]) -> None:
    """Raise NotFinite naming the first tensor that is not finite."""
    for name, tensor in tensors.items():
        # One pass, where isfinite makes several and a tensor each: NaN comes through as both bounds.
        if tensor.numel() and not bool(torch.stack(torch.aminmax(tensor)).isfinite().all()):
            raise NotFinite(f"tensor {name} holds NaN or infinity")
