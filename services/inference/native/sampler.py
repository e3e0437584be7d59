"""Drawing tokens by inverting the cumulative distribution, with one uniform number for each token."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from services.inference.native import kernels
from services.inference.native.kernels import Floats, Places


@dataclass(frozen=True)
class DrawSettings:
    """The sampling parameters of each sample [samples]."""

    temperature: Floats  # 0 is greedy
    top_p: Floats  # 1 keeps everything
    top_k: Places  # 0 keeps everything

    @classmethod
    def plain(cls, samples: int) -> "DrawSettings":
        """Return temperature 1 and no cut for each sample."""
        return cls(np.ones(samples, np.float32), np.ones(samples, np.float32), np.zeros(samples, np.int64))

    @property
    def cut(self) -> NDArray[np.bool_]:
        """Whether each sample is drawn from a part of the vocabulary [samples]."""
        found: NDArray[np.bool_] = (self.temperature > 0) & ((self.top_p < 1) | (self.top_k > 0))
        return found


def sample(logits: Tensor, places: Places, uniforms: Floats, settings: DrawSettings) -> tuple[Places, Floats]:
    """Draw an id from row `places[n]` of `logits` [rows, vocabulary], for every n. Return ids and log-probs [N].

    Logits are divided by the temperature. Then the top k ids are kept, and of them the fewest with mass top_p. Each
    log-prob is that of the distribution drawn from. A greedy sample (temperature 0) takes the likeliest id, with its
    log-prob under the plain softmax.
    """
    cut = settings.cut
    if not cut.any():
        return _draw(logits, places, uniforms, settings.temperature)
    ids, logp = np.empty(len(places), np.int64), np.empty(len(places), np.float32)
    kept = _cut_logp(logits[torch.from_numpy(places[cut])], settings.temperature[cut], settings.top_p[cut],
                 settings.top_k[cut])
    ids[cut], logp[cut] = sample(kept, np.arange(len(kept)), uniforms[cut], DrawSettings.plain(len(kept)))
    ids[~cut], logp[~cut] = _draw(logits, places[~cut], uniforms[~cut], settings.temperature[~cut])
    return ids, logp


def _draw(logits: Tensor, places: Places, uniforms: Floats, temperature: Floats) -> tuple[Places, Floats]:
    ids, logp = np.empty(len(places), np.int64), np.empty(len(places), np.float32)
    kernels.draw(logits.numpy(), places, uniforms, temperature, ids, logp)
    return ids, logp


def _cut_logp(logits: Tensor, temperature: Floats, top_p: Floats, top_k: Places) -> Tensor:
    """Return the log-probs of the ids that are kept in each row, and -inf for the others."""
    shares = torch.softmax(logits / torch.from_numpy(temperature)[:, None], -1)
    kernels.cut(shares.numpy(), top_p, top_k)
    return shares.log_()
