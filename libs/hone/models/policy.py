"""The policy in training: log-probabilities of packed completions, with gradients.

    policy = Policy(architecture, tensors)              float32 parameters named as in the checkpoint
    policy = Policy(architecture, tensors, adapter)     the tensors stay; the adapter's are trained
    logp, entropy = policy(micro_batch, temperature)    [M] each, in the micro-batch's order
    policy.trained                                      what is trained, by its name in the file

Every projection runs on the flat, un-padded tokens; only attention is padded, within buckets of like shape. The
arithmetic of a token equals a plain causal forward over its own prompt and completion, up to float rounding.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from hone.models.adapter import PREFIX, Lora
from hone.models.architecture import Architecture
from hone.models.blocks import Decoder, Shared, Weight
from hone.models.linear import linear
from hone.models.ranks import ALONE, Ranks
from hone.trajectory.microbatches import Bucket, MicroBatch
from hone.trajectory.packing import Ints

_LOGITS_AT_ONCE = 1 << 24
"""Logits held at a time; beyond it they are computed in chunks and once more in the backward pass."""

_TILE = 64
"""Tokens come in multiples of it: kernels are made for a shape when it first comes, and so few shapes come."""


@dataclass(frozen=True)
class Adapter:
    """A low-rank adapter as a policy takes it."""

    lora: Lora
    tensors: Mapping[str, Tensor]


class Policy(nn.Module):
    """A decoder's parameters and its training forward."""

    def __init__(
        self, architecture: Architecture, tensors: Mapping[str, Tensor], adapter: Adapter | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        """Copy `tensors`, named as `architecture.shapes()` names them, into float32 parameters.

        With an adapter its tensors are trained, and `tensors` are shared with whoever holds them. Several ranks make
        it at the same place and hold a part of each tensor; their `tensors` count on rank 0.
        """
        super().__init__()
        self.architecture, self._device = architecture, ranks.device
        lora = None if adapter is None else adapter.lora
        self.model = Decoder(architecture, lora)
        if not architecture.tied:
            self.lm_head = Weight(architecture.vocab_size, architecture.hidden)
        own = {} if adapter is None else {
            name.removeprefix(PREFIX): adapter.tensors[name] for name in adapter.lora.shapes(architecture)}
        self._freeze_all_but(own)
        ranks.shard(self, self.model.layers)
        self._fill({**{name: tensors[name] for name in architecture.shapes()}, **own}, ranks)
        self.trained = {f"{PREFIX}{name}": self.get_parameter(name) for name in own} or {
            name: self.get_parameter(name) for name in architecture.shapes()}

    def forward(
        self, batch: MicroBatch, temperature: float = 1.0, *, entropy_gradient: bool = False, adapted: bool = True,
        expected: bool = False,
    ) -> tuple[Tensor, ...]:
        """Return log-probability and entropy (nats) at the batch's trained tokens, float32 [M] each.

        All are of the distribution softmax(logits / temperature). The entropy carries a gradient only if asked for.
        With `expected` there is a third without gradient, the sum over the vocabulary of p^2 (log p + entropy).
        Without `adapted` they are the base's.
        """
        states = self.model(self._tiled(batch.ids), self._shared(batch, adapted))
        hidden = states.index_select(0, self._tiled(batch.predicting))
        found = self._predicted(hidden, self._tiled(batch.targets), temperature, entropy_gradient, expected)
        return tuple(values[:len(batch.targets)] for values in found)

    def _predicted(self, hidden: Tensor, targets: Tensor, *asked: Any) -> tuple[Tensor, ...]:
        rows = max(1, _LOGITS_AT_ONCE // self.architecture.vocab_size)
        if len(targets) <= rows:
            return _head(hidden, self._output, targets, *asked)
        parts = [
            checkpoint(_head, part, self._output, target, *asked, use_reentrant=False)
            for part, target in zip(torch.split(hidden, rows), torch.split(targets, rows), strict=True)
        ]
        return tuple(torch.cat(values) for values in zip(*parts, strict=True))

    @property
    def _output(self) -> Tensor:
        return (self.model.embed_tokens if self.architecture.tied else self.lm_head).weight

    def _freeze_all_but(self, own: Mapping[str, Tensor]) -> None:
        for name, parameter in self.named_parameters() if own else ():
            parameter.requires_grad_(name in own)

    def _fill(self, tensors: Mapping[str, Tensor], ranks: Ranks) -> None:
        for name, tensor in tensors.items():
            place, leaf = name.rsplit(".", 1)
            ranks.fill(self.get_submodule(place), leaf, tensor)

    def _shared(self, batch: MicroBatch, adapted: bool) -> Shared:
        size = self.architecture.head_dim
        exponents = torch.arange(0, size, 2, dtype=torch.int64, device=self._device).float() / size
        angles = self._tiled(batch.positions).float()[:, None] * (1.0 / self.architecture.rope_theta**exponents)
        return Shared(angles.cos(), angles.sin(), [self._bucket(bucket) for bucket in batch.buckets],
                      self._tiled(batch.restore), adapted)

    def _bucket(self, bucket: Bucket) -> tuple[Tensor, Tensor, Tensor | None]:
        mask = None
        if bucket.visible is not None:
            visible = self._tensor(bucket.visible)
            mask = torch.zeros(visible.shape, device=self._device).masked_fill_(~visible, -torch.inf)
            mask = mask if mask.dim() == 2 else mask[:, None]
        return self._tensor(bucket.queries), self._tensor(bucket.keys), mask

    def _tiled(self, array: Ints) -> Tensor:
        """Return an array of a micro-batch filled up with zeros: places and tokens that are real and read by nobody."""
        return self._tensor(np.pad(array, (0, -len(array) % _TILE)))

    def _tensor(self, array: Any) -> Tensor:
        return torch.from_numpy(array).to(self._device)


def _head(
    hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float, entropy_gradient: bool, expected: bool
) -> tuple[Tensor, ...]:
    logp = torch.log_softmax(linear(hidden, weight) / temperature, dim=-1)
    with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
        entropy = -(logp.exp() * logp).sum(dim=-1)
    told = logp.gather(1, targets[:, None]).squeeze(1).clone(), entropy  # FSDP2 hooks onto no view
    if not expected:
        return told
    plain = logp.detach()
    return *told, (plain.exp().square() * (plain + entropy.detach()[:, None])).sum(dim=-1)
