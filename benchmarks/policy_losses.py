"""Policy losses against TRL's on the same log-probabilities: equal values and gradients, and the time of both.

    python -m benchmarks.policy_losses [--repetitions N] [--out FILE]

About 64 thousand tokens of 512 completions, of one length, then of lengths as reinforcement learning meets them
(exponential, at most 512). TRL's trainer code runs on padded rows, Hone's slots on flat tokens; both forward and
backward, with the metrics that each tells, by turns on one thread of a process that keeps freed memory, as the
trainer does. Times are processor time, which other processes disturb less than they do the clock on the wall.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks import figures
from benchmarks.machine import provenance
from benchmarks.peers import trl_losses
from benchmarks.peers.trl_losses import Padded
from benchmarks.results import RESULTS, store
from hone.algorithms.aggregations import AggregationInputs
from hone.algorithms.catalogue import AGGREGATIONS, LOSSES
from hone.algorithms.inputs import LossInputs
from services.learner.trainer import malloc

ROWS, MEAN, LONGEST = 512, 128, 512
FILLINGS = {
    "grpo": ("ppo_clip", "seq-mean-token-mean"), "dapo": ("clip_higher", "token-mean"),
    "gspo": ("gspo", "seq-mean-token-mean"), "cispo": ("cispo", "token-mean"), "sapo": ("sapo", "seq-mean-token-mean"),
}
"""TRL's kind -> our loss and aggregation."""


@dataclass(frozen=True)
class Flat:
    """The same completions without padding."""

    logp: Tensor  # [M]
    old: Tensor  # [M]
    advantage: Tensor  # [M]
    trajectory: Tensor  # [M]
    lengths: np.ndarray[Any, np.dtype[np.int64]]  # [B]


def drawn(lengths: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Padded, Flat]:
    """Return completions of these lengths in both layouts; log-probabilities are leaves."""
    generator = torch.Generator().manual_seed(0)
    mask = (torch.arange(int(lengths.max())) < torch.from_numpy(lengths)[:, None]).float()
    old = -2 + 0.6 * torch.randn(mask.shape, generator=generator)
    logp = old + 0.2 * torch.randn(mask.shape, generator=generator)
    advantage, own = torch.randn(len(lengths), generator=generator), mask.bool()
    trajectory = torch.arange(len(lengths))[:, None].expand_as(mask)[own]
    return (Padded(logp.clone().requires_grad_(), old, advantage, mask),
            Flat(logp[own].clone().requires_grad_(), old[own], advantage[trajectory], trajectory, lengths))


def ours(kind: str, given: Flat) -> Tensor:
    """Return the loss of the slots that stand for TRL's kind."""
    loss, aggregation = FILLINGS[kind]
    scale, _, _ = AGGREGATIONS[aggregation](AggregationInputs(given.lengths, LONGEST), {}, {})
    inputs = LossInputs(given.logp, given.old, given.advantage, given.trajectory, len(given.lengths))
    per_token, _, _ = LOSSES[loss](inputs, {}, {})
    return (torch.from_numpy(scale).float().index_select(0, given.trajectory) * per_token).sum()


def compared(kind: str, padded: Padded, flat: Flat, repetitions: int) -> dict[str, Any]:
    """Return how far values and gradients are apart, and both sides' median seconds, taken by turns."""
    sides = (partial(trl_losses.loss, kind, padded), padded.logp), (partial(ours, kind, flat), flat.logp)
    (their_value, their_gradient), (value, gradient) = (_both(*side) for side in sides)
    scale = float(gradient.abs().max())
    theirs, mine = _seconds([partial(_both, *side) for side in sides], repetitions)
    return {
        "value": float(value), "value_gap": abs(float(value - their_value)),
        "gradient_gap": float((gradient - their_gradient[padded.mask.bool()]).abs().max()) / scale,
        "trl_s": theirs, "hone_s": mine, "times": figures.ratio(theirs, mine),
    }


def _both(loss: Callable[[], Tensor], leaf: Tensor) -> tuple[Tensor, Tensor]:
    """Return the loss and its gradient by `leaf`."""
    value = loss()
    gradient, = torch.autograd.grad(value, leaf)
    return value.detach(), gradient


def _seconds(works: Sequence[Callable[[], object]], repetitions: int) -> list[float]:
    """Return the median processor seconds of each work; they take turns."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(repetitions):
        for work, seconds in zip(works, taken, strict=True):
            began = time.process_time()
            work()
            seconds.append(time.process_time() - began)
    return [statistics.median(seconds) for seconds in taken]


def main() -> None:
    """Compare every kind at equal and at variable lengths and store what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--out", type=Path, default=RESULTS / "policy_losses.json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    malloc.keep_freed_memory()
    began = provenance()
    variable = np.minimum(1 + np.random.default_rng(0).exponential(MEAN, ROWS).astype(np.int64), LONGEST)
    settings = {"equal": np.full(ROWS, MEAN), "variable": variable}
    measured = {}
    for name, lengths in settings.items():
        padded, flat = drawn(lengths)
        kinds = {kind: compared(kind, padded, flat, args.repetitions) for kind in FILLINGS}
        measured[name] = {"tokens": int(lengths.sum()), "kinds": kinds}
    store(args.out, {**began, "settings": measured})


if __name__ == "__main__":
    main()
