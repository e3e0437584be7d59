"""Log-probabilities and entropies over a large vocabulary, tile by tile, with the logits of one tile in memory.

A tile is all tokens by a part of the vocabulary. The forward pass adds each tile to running sums over the vocabulary.
The backward pass computes each tile again and turns it into its gradient in place. It writes each part of the output
matrix' gradient once.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hone.models.linear import linear


def likelihood(
    hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float, columns: int, *, expected: bool = False,
) -> tuple[Tensor, ...]:
    """Return log p(target) and entropy, nats, [M] each, of softmax(hidden · weight transposed / temperature).

    hidden [M, H], weight [V, H] and targets [M], in tiles of `columns` ids. With `expected` there is a third output,
    without gradient: the sum over the vocabulary of p^2 (log p + entropy).
    """
    logp, entropy, *more = _Likelihood.apply(  # type: ignore[no-untyped-call]
        hidden, weight, targets, temperature, columns, expected)
    return logp, entropy, *more


@dataclass
class _Sums:
    """Sums over the tiles so far, [M] each; e = exp(logit - top), and top is the largest logit so far."""

    top: Tensor
    mass: Tensor  # of e
    moment: Tensor  # of e · logit
    squares: Tensor  # of e^2
    square_moment: Tensor  # of e^2 · logit
    target: Tensor  # the target's logit

    @classmethod
    def none(cls, like: Tensor) -> "_Sums":
        """Return the sums before the first tile for the rows of `like`."""
        zero = like.new_zeros(len(like))
        return cls(torch.full_like(zero, -torch.inf), zero, zero, zero, zero, zero)

    def fold(self, logits: Tensor, targets: Tensor, expected: bool) -> None:
        """Add a tile [M, C]. `targets` [M] are columns of the tile, or outside of it."""
        top = self.top.maximum(logits.amax(dim=1))
        shrunk = (self.top - top).exp()
        scaled = (logits - top[:, None]).exp_()
        self.top, self.mass = top, self.mass * shrunk + scaled.sum(dim=1)
        if expected:
            squares = scaled.square()
            self.squares = self.squares * shrunk.square() + squares.sum(dim=1)
            self.square_moment = self.square_moment * shrunk.square() + squares.mul_(logits).sum(dim=1)
        self.moment = self.moment * shrunk + scaled.mul_(logits).sum(dim=1)
        rows = _inside(targets, logits.shape[1])
        self.target = self.target.index_put((rows,), logits[rows, targets[rows]])

    def outputs(self, expected: bool) -> tuple[Tensor, ...]:
        """Return the log of the total mass, the target's log-probability, the entropy, and the third output."""
        whole = self.top + self.mass.log()
        entropy = whole - self.moment / self.mass
        outputs = whole, self.target - whole, entropy
        if not expected:
            return outputs
        return *outputs, (self.square_moment + (entropy - whole) * self.squares) / self.mass.square()


class _Likelihood(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float, columns: int, expected: bool,
    ) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        sums = _Sums.none(hidden)
        for start, part in _tiles(weight, columns):
            sums.fold(linear(hidden, part).div_(temperature), targets - start, expected)
        whole, logp, entropy, *more = sums.outputs(expected)
        ctx.save_for_backward(hidden, weight, targets, whole, entropy)
        ctx.temperature, ctx.columns = temperature, columns
        ctx.mark_non_differentiable(*more)
        return logp, entropy, *more

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        hidden, weight, targets, whole, entropy = ctx.saved_tensors
        for_logp, for_entropy = gradients[:2]
        for_hidden, for_weight = (
            torch.zeros_like(each) if needed else None
            for each, needed in zip((hidden, weight), ctx.needs_input_grad, strict=False))
        for start, part in _tiles(weight, ctx.columns):
            logp = linear(hidden, part).div_(ctx.temperature).sub_(whole[:, None])
            gradient = _gradient(logp, targets - start, for_logp, for_entropy, entropy).div_(ctx.temperature)
            if for_hidden is not None:
                for_hidden += linear(gradient, part.t())
            if for_weight is not None:
                for_weight[start:start + len(part)] = linear(hidden.t(), gradient.t()).t()
        return for_hidden, for_weight, None, None, None, None


def _gradient(
    logp: Tensor, targets: Tensor, for_logp: Tensor | None, for_entropy: Tensor | None, entropy: Tensor
) -> Tensor:
    """Return the gradient of a tile's scaled logits [M, C] from its `logp`, which is overwritten."""
    if for_entropy is None:
        gradient = logp.exp_()
        gradient = gradient.zero_() if for_logp is None else gradient.mul_(-for_logp[:, None])
    else:
        share = logp.exp()
        gradient = logp.add_(entropy[:, None]).mul_(-for_entropy[:, None])
        gradient = (gradient if for_logp is None else gradient.sub_(for_logp[:, None])).mul_(share)
    if for_logp is not None:
        rows = _inside(targets, logp.shape[1])
        gradient[rows, targets[rows]] += for_logp[rows]
    return gradient


def _tiles(weight: Tensor, columns: int) -> list[tuple[int, Tensor]]:
    """Return each part of `weight` with the index of its first row."""
    return [(start, weight[start:start + columns]) for start in range(0, len(weight), columns)]


def _inside(targets: Tensor, columns: int) -> Tensor:
    """Return the rows whose targets are in a tile."""
    return ((targets >= 0) & (targets < columns)).nonzero().squeeze(1)
