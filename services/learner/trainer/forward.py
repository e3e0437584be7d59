"""Forwards over a step: which micro-batches this rank computes, some side by side, and what they tell of every token.

Whatever the number of threads or ranks, what a micro-batch tells stands at its tokens' places in the step.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from hone.models.ranks import Ranks
from hone.trajectory.microbatches import MicroBatch, cut, nothing
from hone.trajectory.packing import Batch, Flags, Floats

Result = TypeVar("Result")


class Forward:
    """How a learner goes through a step's micro-batches."""

    def __init__(self, token_budget: int, threads: int, ranks: Ranks) -> None:
        """`token_budget` bounds a micro-batch's input tokens; each of several ranks computes one at a time."""
        self.ranks, self.side_by_side = ranks, 1 if ranks.divided else threads
        self._token_budget = token_budget
        self._threads = ThreadPoolExecutor(threads, "micro-batch")

    def rounds(self, batch: Batch, kept: Flags) -> Iterator[list[MicroBatch]]:
        """Yield what this rank computes side by side; where only others still have something, nothing to train."""
        rank, size = self.ranks.rank, self.ranks.size
        waiting = cut(batch, kept, self._token_budget, size)
        while together := list(islice(waiting, self.side_by_side * size)):
            yield together[rank::size] or [nothing()]

    def each(self, work: Callable[[MicroBatch], Result], items: list[MicroBatch]) -> Iterable[Result]:
        """Return what `work` makes of each item, in their order."""
        return map(work, items) if self.side_by_side == 1 else self._threads.map(work, items)

    def told(self, batch: Batch, look: Callable[[MicroBatch], Mapping[str, Tensor]]) -> dict[str, Floats]:
        """Return what `look` says by name of each trained token, [M, ...] of a micro-batch, for the whole batch."""
        found: dict[str, Floats] = {}
        with torch.no_grad():
            for micro in chain.from_iterable(self.rounds(batch, np.ones(len(batch.rows), np.bool_))):
                for name, values in look(micro).items():
                    whole = found.setdefault(name, np.zeros((int(batch.tokens.sum()), *values.shape[1:])))
                    whole[micro.token] = values.cpu().numpy()
        return {name: self.ranks.sum(values) for name, values in found.items()}

    def backward(self, parts: list[Tensor], parameters: Mapping[str, Tensor]) -> None:
        """Add the gradients of parts of the loss to the parameters', in the order of the parts."""
        if self.side_by_side == 1:
            torch.autograd.backward(parts)  # which several ranks sum as it goes
            return
        trained = list(parameters.values())
        for gradient in self._threads.map(lambda part: torch.autograd.grad(part, trained), parts):
            for parameter, more in zip(trained, gradient, strict=True):
                parameter.grad = more.contiguous() if parameter.grad is None else parameter.grad.add_(more)
