"""The policy in training: log-probabilities of packed completions, with gradients.

    policy = Policy(architecture, tensors)              float32 parameters named as in the checkpoint
    policy = Policy(architecture, tensors, adapter)     the tensors stay; the adapter's are trained
    logp, entropy = policy(micro_batch, temperature)    [M] each, in the micro-batch's order
    policy.trained                                      the trained parameters, by their names in the file

Flat tokens are not padded, except in attention over long contexts. The result for a token equals a plain causal forward
over its own prompt and completion, up to float rounding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from hone.models.adapter import PREFIX, Lora
from hone.models.architecture import Architecture
from hone.models.decoder import PackedDecoder, Weight
from hone.models.likelihood import likelihood
from hone.models.linear import linear
from hone.models.ranks import ALONE, Ranks
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Ints

_LOGITS_AT_ONCE = 1 << 24
"""Largest number of logits in memory. If there are more, they are computed in parts, and again in the backward pass.
"""


@dataclass(frozen=True)
class Adapter:
    """A low-rank adapter: its form and its tensors."""

    lora: Lora
    tensors: Mapping[str, Tensor]


class Policy(PackedDecoder):
    """A decoder's parameters and its training forward."""

    def __init__(
        self, architecture: Architecture, tensors: Mapping[str, Tensor], adapter: Adapter | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        """Copy `tensors`, named as `architecture.shapes()` names them, into float32 parameters.

        With an adapter only its tensors are trained, and `tensors` are shared, not copied. Several ranks construct it
        at the same time, and each holds a part of each tensor. The values are those of rank 0.
        """
        super().__init__(architecture, None if adapter is None else adapter.lora, ranks)
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
        expected: bool = False, support: Ints | None = None, top_k: int = 0,
    ) -> tuple[Tensor, ...]:
        """Return log-probability and entropy (nats) at the batch's trained tokens, float32 [M] each.

        The distribution is softmax(logits / temperature). The entropy has a gradient only with `entropy_gradient`.
        More outputs follow on request. `expected`: the sum over the vocabulary of p^2 (log p + entropy), [M], without
        gradient. `support`, K different ids at each token [M, K]: their log-probabilities [M, K], and the log of the
        total probability of all other ids [M], -inf if there are none. `top_k`: the K likeliest ids and their
        log-probabilities, [M, K]. If `adapted` is False, the adapter is not used.

        Equal predictions are computed once, unless each token has its own support.
        """
        first, which = batch.distinct
        each = support is not None or len(first) == len(which)
        places = slice(None) if each else first
        targets = batch.targets[places]
        wanted = [self._tiled(ids) for ids in (targets, support) if ids is not None]
        hidden = self._predicting(batch, adapted, places)
        found = self._predicted(hidden, wanted, temperature, entropy_gradient, expected, top_k)
        if each:
            return tuple(values[:len(targets)] for values in found)
        return tuple(values.index_select(0, self._tensor(which)) for values in found)

    def _predicted(self, hidden: Tensor, wanted: Sequence[Tensor], *asked: Any) -> tuple[Tensor, ...]:
        rows = max(1, _LOGITS_AT_ONCE // self.architecture.vocab_size)
        if len(hidden) <= rows:
            return _head(hidden, self._output, wanted, *asked)
        *of_targets, top_k = asked
        if len(wanted) == 1 and not top_k:
            return self._in_tiles(hidden, wanted[0], *of_targets)
        cut = zip(*(torch.split(ids, rows) for ids in wanted), strict=True)
        parts = [
            checkpoint(_head, part, self._output, ids, *asked, use_reentrant=False)
            for part, ids in zip(torch.split(hidden, rows), cut, strict=True)
        ]
        return tuple(torch.cat(values) for values in zip(*parts, strict=True))

    def _in_tiles(
        self, hidden: Tensor, targets: Tensor, temperature: float, entropy_gradient: bool, expected: bool
    ) -> tuple[Tensor, ...]:
        columns = max(1, _LOGITS_AT_ONCE // len(hidden))
        logp, entropy, *more = likelihood(hidden, self._output, targets, temperature, columns, expected=expected)
        return logp, entropy if entropy_gradient else entropy.detach(), *more

    @property
    def _output(self) -> Tensor:
        return (self.model.embed_tokens if self.architecture.tied else self.lm_head).weight

    def _freeze_all_but(self, own: Mapping[str, Tensor]) -> None:
        for name, parameter in self.named_parameters() if own else ():
            parameter.requires_grad_(name in own)


def _head(
    hidden: Tensor, weight: Tensor, wanted: Sequence[Tensor], temperature: float, entropy_gradient: bool,
    expected: bool, top_k: int,
) -> tuple[Tensor, ...]:
    targets, *support = wanted
    logp = torch.log_softmax(linear(hidden, weight) / temperature, dim=-1)
    with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
        entropy = -(logp.exp() * logp).sum(dim=-1)
    outputs = [logp.gather(1, targets[:, None]).squeeze(1).clone(), entropy]  # FSDP2 cannot hook onto a view
    if expected:
        plain = logp.detach()
        outputs.append((plain.exp().square() * (plain + entropy.detach()[:, None])).sum(dim=-1))
    for ids in support:
        outputs += [logp.gather(1, ids), _rest(logp, ids)]
    if top_k:
        top = logp.topk(top_k, dim=-1)
        outputs += [top.indices, top.values]
    return tuple(outputs)


def _rest(logp: Tensor, ids: Tensor) -> Tensor:
    """Return the log of the total probability of all ids but these; logp [M, V], ids [M, K]."""
    if ids.shape[1] == logp.shape[1]:
        return logp.new_full((len(logp),), -torch.inf)  # the gradient of an empty sum would be NaN
    return logp.scatter(1, ids, -torch.inf).logsumexp(dim=-1)
