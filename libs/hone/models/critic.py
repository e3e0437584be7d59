"""The critic in training: the value of the text before each trained token of packed completions, with gradients.

    critic = Critic(architecture, Critic.initial(architecture, tensors))   the policy's decoder, and a head of zeros
    values = critic(micro_batch)                                           [M], in the micro-batch's order
    critic.trained                                                         trained parameters, by name in the file

A value is computed from the state that predicts the token: from the text before the token, without the token itself.
Source: PPO, arXiv 1707.06347, with GAE, arXiv 1506.02438. The critic shares no weights with the policy.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from hone.models.architecture import Architecture
from hone.models.decoder import PackedDecoder, Weight
from hone.models.linear import linear
from hone.models.ranks import ALONE, Ranks
from hone.trajectory.microbatches import MicroBatch

HEAD = "value_head.weight"


class Critic(PackedDecoder):
    """A decoder with a head that gives one number for each state."""

    def __init__(self, architecture: Architecture, tensors: Mapping[str, Tensor], ranks: Ranks = ALONE) -> None:
        """Copy `tensors`, named as `shapes` names them, into float32 parameters.

        Several ranks construct it at the same time, and each holds a part of each tensor. The values are those of
        rank 0.
        """
        super().__init__(architecture, None, ranks)
        self.value_head = Weight(1, architecture.hidden)
        ranks.shard(self, self.model.layers)
        names = self.shapes(architecture)
        self._fill({name: tensors[name] for name in names}, ranks)
        self.trained = {name: self.get_parameter(name) for name in names}

    def forward(self, batch: MicroBatch) -> Tensor:
        """Return the value before each of the batch's trained tokens, float32 [M], in units of reward."""
        values = linear(self._predicting(batch, adapted=False), self.value_head.weight)
        return values.flatten()[:len(batch.targets)].clone()  # FSDP2 cannot hook onto a view

    @staticmethod
    def shapes(architecture: Architecture) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor by its name: the decoder's in a checkpoint, and the head's."""
        decoder = {name: shape for name, shape in architecture.shapes().items() if name.startswith("model.")}
        return {**decoder, HEAD: (1, architecture.hidden)}

    @classmethod
    def initial(cls, architecture: Architecture, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return a critic with the decoder of a model's `tensors`, which it shares, and a head of zeros."""
        return {name: torch.zeros(shape) if name == HEAD else tensors[name]
                for name, shape in cls.shapes(architecture).items()}
