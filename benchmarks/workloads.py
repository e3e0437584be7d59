"""The settings that both sides of the comparison run: model, task, batch, learning rate, and how they are judged."""

from dataclasses import dataclass, replace
from typing import Any

from hone.environments import streams
from hone.environments.contract import Task

AHEAD = 2
"""How many versions old a rollout of an asynchronous run may be."""


@dataclass(frozen=True)
class Layout:
    """How a peer spreads over the cores: processes, threads of each, and rows of a micro-batch."""

    processes: int
    threads: int
    rows: int

    def __str__(self) -> str:
        return f"{self.processes} x {self.threads} threads, {self.rows} rows"


@dataclass(frozen=True)
class Workload:
    """One setting. Both sides start from the same weights, ask the same prompts and take the same loss."""

    name: str
    start: str                      # key of benchmarks.checkpoints.STARTS
    environment: str
    params: dict[str, Any]
    max_tokens: int
    steps: int
    lr: float
    target: float | None            # mean sampled reward over `window` steps
    layouts: tuple[Layout, ...]
    prompts: int = 32
    samples: int = 8
    window: int = 10
    warm_up: int = 5
    engines: int = 1                # Hone's, one thread each
    trainer_threads: int = 1        # Hone's
    max_staleness: int = 0          # Hone's
    threads_ahead: int = 1          # Hone's trainer, where it computes beside an engine

    @property
    def rows(self) -> int:
        """Completions of one step."""
        return self.prompts * self.samples

    def tasks(self, seed: int, steps: int) -> list[Task]:
        """Return the training tasks of the first `steps` steps, as a run with this seed draws them."""
        return streams.draw(self.environment, self.params, "train", seed, 0, steps * self.prompts)


WORKLOADS = {
    "short": Workload(
        name="short", start="noisy_sort", environment="sort_digits", params={"digits": 5}, max_tokens=6, steps=100,
        lr=3e-4, target=0.9, engines=2, trainer_threads=2,
        layouts=(Layout(1, 1, 256), Layout(1, 2, 256), Layout(2, 1, 128))),
    "variable": Workload(
        name="variable", start="random_digits", environment="even_digits", params={}, max_tokens=256, steps=16,
        lr=3e-5, target=None, warm_up=3, engines=2, trainer_threads=2, threads_ahead=2,
        layouts=(Layout(1, 2, 256), Layout(1, 2, 64), Layout(2, 1, 128))),
}


def running_ahead(workload: Workload) -> Workload:
    """Return the workload asynchronous: one engine of a thread and one trainer compute at the same time."""
    return replace(workload, engines=1, trainer_threads=workload.threads_ahead, max_staleness=AHEAD)


def shortened(workload: Workload, steps: int | None) -> Workload:
    """Return the workload with fewer steps, for a smoke run, or as it is when `steps` is None."""
    if steps is None:
        return workload
    return replace(workload, steps=steps, warm_up=min(workload.warm_up, steps - 1))
