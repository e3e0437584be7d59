"""Drawing tokens by inverting the cumulative distribution, with one uniform number for each token."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from services.inference import noise
from services.inference.native import kernels
from services.inference.native.kernels import Floats, Places

NONE = np.empty(0, np.int64)
"""No ids."""


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


def sample(
    logits: Tensor, places: Places, uniforms: Floats, settings: DrawSettings, unused: Places = NONE
) -> tuple[Places, Floats]:
    """Draw an id from row `places[n]` of `logits` [rows, vocabulary], for every n. Return ids and log-probs [N].

    Logits are divided by the temperature. The ids `unused` are never drawn. Then the top k ids are kept, and of them
    the fewest with mass top_p. After such a cut a log-prob is that of the distribution drawn from. Otherwise it is that
    of the softmax over all ids, those of `unused` included, which the trainer computes. A greedy sample (temperature 0)
    takes the likeliest id, with its log-prob at temperature 1.
    """
    cut = settings.cut
    if not cut.any():
        return _draw(logits, places, uniforms, settings.temperature, unused)
    ids, logp = np.empty(len(places), np.int64), np.empty(len(places), np.float32)
    rows = logits[torch.from_numpy(places[cut])]
    rows[:, torch.from_numpy(unused)] = -torch.inf
    kept = _cut_logp(rows, settings.temperature[cut], settings.top_p[cut], settings.top_k[cut])
    plain = DrawSettings.plain(len(kept))
    ids[cut], logp[cut] = _draw(kept, np.arange(len(kept)), uniforms[cut], plain.temperature, NONE)
    ids[~cut], logp[~cut] = _draw(logits, places[~cut], uniforms[~cut], settings.temperature[~cut], unused)
    return ids, logp


def likeliest(
    logits: Tensor, places: Places, settings: DrawSettings, count: int, unused: Places = NONE
) -> list[list[tuple[int, float]]]:
    """Return the `count` likeliest ids of row `places[n]` of `logits`, for every n, with the log-probs of `sample`.

    Ids that are never drawn are left out, so there may be fewer.
    """
    rows, cut = logits[torch.from_numpy(places)].float(), settings.cut
    divisor = np.where(settings.temperature > 0, settings.temperature, np.float32(1))
    logp = torch.log_softmax(rows / torch.from_numpy(divisor)[:, None], -1)
    logp[:, torch.from_numpy(unused)] = -torch.inf
    if cut.any():
        kept = rows[torch.from_numpy(cut)]
        kept[:, torch.from_numpy(unused)] = -torch.inf
        logp[torch.from_numpy(cut)] = _cut_logp(
            kept, settings.temperature[cut], settings.top_p[cut], settings.top_k[cut])
    best = logp.topk(min(count, logp.shape[1]))
    return [[(id, value) for id, value in zip(ids, values, strict=True) if value > -math.inf]
            for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)]


def _draw(
    logits: Tensor, places: Places, uniforms: Floats, temperature: Floats, unused: Places
) -> tuple[Places, Floats]:
    """Draw from whole rows. Where an id of `unused` comes out, draw once more without them, with another number."""
    ids, logp = np.empty(len(places), np.int64), np.empty(len(places), np.float32)
    kernels.draw(logits.numpy(), places, uniforms, temperature, ids, logp)
    wrong = np.flatnonzero(np.isin(ids, unused)) if len(unused) else unused
    if len(wrong):
        rows, mass = _without(unused, logits[torch.from_numpy(places[wrong])], temperature[wrong])
        ids[wrong], logp[wrong] = _draw(
            rows, np.arange(len(wrong)), noise.others(uniforms[wrong]), temperature[wrong], NONE)
        logp[wrong] += mass
    return ids, logp


def _without(unused: Places, rows: Tensor, temperature: Floats) -> tuple[Tensor, Floats]:
    """Set the ids `unused` of `rows` to -inf. Return the rows, and the log of the probability of the other ids [rows].

    At temperature 0 that is the probability at temperature 1.
    """
    divisor = torch.from_numpy(np.where(temperature > 0, temperature, np.float32(1)))[:, None]
    before = torch.log_softmax(rows / divisor, -1)
    rows[:, torch.from_numpy(unused)] = -torch.inf
    best = rows.argmax(-1, keepdim=True)
    after = torch.log_softmax(rows / divisor, -1)
    mass: Floats = (before.gather(1, best) - after.gather(1, best))[:, 0].numpy()
    return rows, mass


def _cut_logp(logits: Tensor, temperature: Floats, top_p: Floats, top_k: Places) -> Tensor:
    """Return the log-probs of the ids that are kept in each row, and -inf for the others."""
    shares = torch.softmax(logits / torch.from_numpy(temperature)[:, None], -1)
    kernels.cut(shares.numpy(), top_p, top_k)
    return shares.log_()
