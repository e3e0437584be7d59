"""TRL's policy losses on given log-probabilities: GRPOTrainer's own code, without a model."""

from collections import defaultdict
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from trl import GRPOTrainer

KINDS: dict[str, dict[str, Any]] = {
    "grpo": {"loss_type": "grpo"},
    "dapo": {"loss_type": "dapo", "epsilon_high": 0.28},
    "gspo": {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon_low": 3e-4, "epsilon_high": 4e-4},
    "cispo": {"loss_type": "cispo", "epsilon_high": 5.0},
    "sapo": {"loss_type": "sapo"},
}
"""What a trainer of each kind has set."""


@dataclass(frozen=True)
class Padded:
    """B completions padded to T tokens."""

    logp: Tensor  # [B, T]
    old: Tensor  # [B, T]
    advantage: Tensor  # [B]
    mask: Tensor  # [B, T], 1 where a token is


def loss(kind: str, given: Padded) -> Tensor:
    """Return the loss that the trainer computes of these log-probabilities."""
    ids = given.mask.long()
    inputs = {"prompt_ids": ids[:, :1], "prompt_mask": ids[:, :1], "completion_ids": ids, "completion_mask": given.mask,
              "advantages": given.advantage, "old_per_token_logps": given.old,
              "num_items_in_batch": given.mask.sum()}
    loss: Tensor = GRPOTrainer._compute_loss(_trainer(kind, given), None, inputs)
    return loss


def _trainer(kind: str, given: Padded) -> Any:
    """Return what `_compute_loss` reads of a trainer; entropies are zeros, which no loss here takes."""
    plain = {"importance_sampling_level": "token", "epsilon_low": 0.2, "epsilon_high": 0.2, "beta": 0.0,
             "top_entropy_quantile": 1.0, "off_policy_mask_threshold": None, "use_vllm": False,
             "aux_loss_enabled": False, "_entropy_bonus_enabled": False}
    alone = SimpleNamespace(num_processes=1, gather=lambda x: x, reduce=lambda x, **_: x)
    return SimpleNamespace(**{
        **plain, **KINDS[kind], "model": SimpleNamespace(training=False), "accelerator": alone,
        "args": SimpleNamespace(delta=None, sapo_temperature_pos=1.0, sapo_temperature_neg=1.05),
        "_metrics": {"eval": defaultdict(list)},
        "_get_per_token_logps_and_entropies": lambda *_, **__: (given.logp, torch.zeros_like(given.old), None)})
