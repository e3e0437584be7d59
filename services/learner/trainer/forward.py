"""How a learner computes the micro-batches of a step: which of them on this rank, and how many at the same time.

Results are the same for any number of threads, and the same up to rounding for any number of ranks.
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
    """Computes micro-batches on this rank."""

    def __init__(self, token_budget: int, threads: int, ranks: Ranks) -> None:
        """`token_budget` bounds a micro-batch's input tokens. Each of several ranks computes one at a time."""
        self.ranks, self.at_once = ranks, 1 if ranks.divided else threads
        self._token_budget = token_budget
        self._threads = ThreadPoolExecutor(threads, "micro-batch")

    def rounds(self, batch: Batch, kept: Flags) -> Iterator[list[MicroBatch]]:
        """Yield the micro-batches that this rank computes at the same time, cut from the kept trajectories [B].

        All ranks take part in every round. A rank for which no micro-batch is left gets one that trains nothing.
        """
        rank, size = self.ranks.rank, self.ranks.size
        waiting = cut(batch, kept, self._token_budget, size)
        while together := list(islice(waiting, self.at_once * size)):
            yield together[rank::size] or [nothing()]

    def each(self, compute: Callable[[MicroBatch], Result], micros: list[MicroBatch]) -> Iterable[Result]:
        """Return the result of `compute` for each micro-batch, in their order."""
        return map(compute, micros) if self.at_once == 1 else self._threads.map(compute, micros)

    def over_batch(
        self, batch: Batch, compute: Callable[[MicroBatch], Mapping[str, Tensor]], chosen: Flags | None = None,
    ) -> dict[str, Floats]:
        """Return values of every trained token of a batch by name, [M, ...], without gradient.

        `compute` returns those of a micro-batch's tokens. With `chosen` [B] only these trajectories are computed, and
        the tokens of the others have 0.
        """
        kept = np.ones(len(batch.rows), np.bool_) if chosen is None else chosen
        found: dict[str, Floats] = {}
        with torch.no_grad():
            for micro in chain.from_iterable(self.rounds(batch, kept)):
                for name, values in compute(micro).items():
                    whole = found.setdefault(name, np.zeros((int(batch.tokens.sum()), *values.shape[1:])))
                    whole[micro.token] = values.cpu().numpy()
        return {name: self.ranks.sum(values) for name, values in found.items()}

    def backward(self, losses: list[Tensor], parameters: Mapping[str, Tensor]) -> None:
        """Add the gradients of micro-batches' losses to the parameters' gradients, in the order of the losses."""
        if self.at_once == 1:
            torch.autograd.backward(losses)  # several ranks sum their gradients in it
            return
        trained = list(parameters.values())
        for gradient in self._threads.map(lambda loss: torch.autograd.grad(loss, trained), losses):
            for parameter, more in zip(trained, gradient, strict=True):
                parameter.grad = more.contiguous() if parameter.grad is None else parameter.grad.add_(more)
