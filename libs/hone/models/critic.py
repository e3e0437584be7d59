"""The critic in training: the value of what comes before each trained token of packed completions, with gradients.

    critic = Critic(architecture, Critic.initial(architecture, tensors))   the policy's decoder, and a head that says 0
    values = critic(micro_batch)                                           [M], in the micro-batch's order
    critic.trained                                                         what is trained, by its name in the file

A value is read from the state that predicts the token: it knows what stands before the token, not the token. Source:
PPO, arXiv 1707.06347, with GAE, arXiv 1506.02438; a critic that shares no weights with the policy.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from hone.models.architecture import Architecture
from hone.models.blocks import Weight
from hone.models.linear import linear
from hone.models.packed import PackedDecoder
from hone.models.ranks import ALONE, Ranks
from hone.trajectory.microbatches import MicroBatch

HEAD = "value_head.weight"


class Critic(PackedDecoder):
    """A decoder whose states say one number each."""

    def __init__(self, architecture: Architecture, tensors: Mapping[str, Tensor], ranks: Ranks = ALONE) -> None:
        """Copy `tensors`, named as `shapes` names them, into float32 parameters.

        Several ranks make it at the same place and hold a part of each tensor; their `tensors` count on rank 0.
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
        return values.flatten()[:len(batch.targets)].clone()  # FSDP2 hooks onto no view

    @staticmethod
    def shapes(architecture: Architecture) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor by its name: the decoder's as a checkpoint has them, and the head's."""
        decoder = {name: shape for name, shape in architecture.shapes().items() if name.startswith("model.")}
        return {**decoder, HEAD: (1, architecture.hidden)}

    @classmethod
    def initial(cls, architecture: Architecture, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return a critic whose decoder is that of a model's `tensors`, shared with it, and whose values are all 0."""
        return {name: torch.zeros(shape) if name == HEAD else tensors[name]
                for name, shape in cls.shapes(architecture).items()}
