"""Drawing tokens by inverting the cumulative distribution: one uniform number a token. Rows never mix."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Settings:
    """How each row is drawn; one entry a row."""

    temperature: Tensor  # float32; 0 is greedy
    top_p: Tensor  # float32; 1 keeps everything
    top_k: Tensor  # int64; 0 keeps everything

    @classmethod
    def plain(cls, rows: int) -> "Settings":
        """Temperature 1, nothing cut."""
        return cls(torch.ones(rows), torch.ones(rows), torch.zeros(rows, dtype=torch.int64))


def sample(logits: Tensor, uniforms: Tensor, settings: Settings) -> tuple[Tensor, Tensor]:
    """Return ids [rows] and their log-probs under the distribution drawn from, given logits [rows, vocabulary].

    Temperature divides first, then the top k are kept, then the smallest set of them that holds mass top_p. A greedy
    row takes the likeliest id and reports its log-prob under the plain softmax.
    """
    greedy = settings.temperature == 0
    probabilities = torch.softmax(logits / torch.where(greedy, 1.0, settings.temperature)[:, None], -1)
    cut = ~greedy & ((settings.top_p < 1) | (settings.top_k > 0))
    if bool(cut.any()):
        probabilities[cut] = _cut(probabilities[cut], settings.top_p[cut], settings.top_k[cut])
    ids = _drawn(probabilities, uniforms)
    if bool(greedy.any()):
        ids = torch.where(greedy, logits.argmax(-1), ids)
    return ids, probabilities.gather(1, ids[:, None]).squeeze(1).log_()


def _drawn(probabilities: Tensor, uniforms: Tensor) -> Tensor:
    cumulative = probabilities.cumsum(-1)
    total = cumulative[:, -1]
    # Below the total even when rounding says otherwise: the id drawn always has some probability.
    points = torch.minimum(uniforms * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, points[:, None], right=True).squeeze(1)


def _cut(probabilities: Tensor, top_p: Tensor, top_k: Tensor) -> Tensor:
    """Return rows with everything outside the kept set at 0, summing to 1 again. Ties keep the lower id."""
    ordered, ids = probabilities.sort(stable=True, dim=-1, descending=True)
    ranks = torch.arange(ordered.shape[1])
    ordered = ordered * ((top_k == 0)[:, None] | (ranks < top_k[:, None]))
    before = ordered.cumsum(-1) - ordered
    ordered = ordered * (before < (top_p * ordered.sum(-1))[:, None])
    return torch.zeros_like(probabilities).scatter_(1, ids, ordered / ordered.sum(-1, keepdim=True))
