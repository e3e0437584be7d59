"""TRL's log-probabilities and entropies, as its own functions make them of states and an output matrix."""

import torch.nn.functional as F
from torch import Tensor
from trl.trainer import utils


def whole(hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return both [M] by way of all logits at once; hidden [M, H], weight [V, H]. The entropy has no gradient."""
    logits = F.linear(hidden, weight) / temperature
    logp, entropy = utils.selective_log_softmax_and_entropy(logits[None], targets[None], entropy_requires_grad=False)
    return logp[0], entropy[0]


def tiled(hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return both [M] by way of the tiles of the output layer that GRPOTrainer puts into a model."""
    logp, entropy, *_ = utils._ChunkedLogProbFunction.apply(
        hidden, weight, None, targets, temperature, utils._CHUNKED_LOGPROB_CHUNK_SIZE, None, 1.0, ("entropy",))
    return logp, entropy.detach()
