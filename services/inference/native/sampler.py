"""Drawing tokens by inverting the cumulative distribution: one uniform number a token. Rows never mix."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from services.inference.native import kernels
from services.inference.native.kernels import Floats, Places


@dataclass(frozen=True)
class DrawSettings:
    """How each sample is drawn; one entry a sample."""

    temperature: Floats  # 0 is greedy
    top_p: Floats  # 1 keeps everything
    top_k: Places  # 0 keeps everything

    @classmethod
    def plain(cls, samples: int) -> "DrawSettings":
        """Temperature 1, nothing cut."""
        return cls(np.ones(samples, np.float32), np.ones(samples, np.float32), np.zeros(samples, np.int64))

    @property
    def cut(self) -> NDArray[np.bool_]:
        """Who draws from a part of the vocabulary."""
        found: NDArray[np.bool_] = (self.temperature > 0) & ((self.top_p < 1) | (self.top_k > 0))
        return found


def sample(logits: Tensor, places: Places, uniforms: Floats, settings: DrawSettings) -> tuple[Places, Floats]:
    """Return ids and their log-probs under the distribution drawn from, one for each of `places` in logits' rows.

    Temperature divides first, then the top k are kept, then the smallest set of them that holds mass top_p. A greedy
    sample takes the likeliest id and reports its log-prob under the plain softmax. `logits` [rows, vocabulary].
    """
    cut = settings.cut
    if not cut.any():
        return _drawn(logits, places, uniforms, settings.temperature)
    ids, logp = np.empty(len(places), np.int64), np.empty(len(places), np.float32)
    kept = _kept(logits[torch.from_numpy(places[cut])], settings.temperature[cut], settings.top_p[cut],
                 settings.top_k[cut])
    ids[cut], logp[cut] = sample(kept, np.arange(len(kept)), uniforms[cut], DrawSettings.plain(len(kept)))
    ids[~cut], logp[~cut] = _drawn(logits, places[~cut], uniforms[~cut], settings.temperature[~cut])
    return ids, logp


def _drawn(logits: Tensor, places: Places, uniforms: Floats, temperature: Floats) -> tuple[Places, Floats]:
    ids, logp = np.empty(len(places), np.int64), np.empty(len(places), np.float32)
    kernels.drawn(logits.numpy(), places, uniforms, temperature, ids, logp)
    return ids, logp


def _kept(logits: Tensor, temperature: Floats, top_p: Floats, top_k: Places) -> Tensor:
    """Return the log-probs of what is kept of each row of logits, -inf elsewhere."""
    shares = torch.softmax(logits / torch.from_numpy(temperature)[:, None], -1)
    kernels.cut(shares.numpy(), top_p, top_k)
    return shares.log_()
