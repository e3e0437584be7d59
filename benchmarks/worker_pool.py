"""Processes that stand ready to do their share of a job at the same moment, as the cores of one machine are used."""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from multiprocessing.connection import Connection
from typing import Any, Generic, Self, TypeVar

import torch

Job = TypeVar("Job")
Runner = Callable[[Job], object]

START_S = 300
JOB_S = 1800
END_S = 10


class WorkerFailed(RuntimeError):
    """A process of the pool ended or did not answer in time."""


class WorkerPool(Generic[Job]):
    """`processes` of `threads` threads, each with a runner of its own; a context manager.

    `make` returns the runner from `source` and has to be importable: it is called in the new process.
    """

    def __init__(self, make: Callable[[Any], Runner[Job]], source: Any, processes: int, threads: int) -> None:
        self.layout, self.threads = f"{processes} x {threads} threads", processes * threads
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(processes):
            here, there = context.Pipe()
            self._pipes.append(here)
            self._processes.append(context.Process(target=_work, args=(there, make, source, threads), daemon=True))

    @property
    def size(self) -> int:
        """Processes."""
        return len(self._processes)

    def __enter__(self) -> Self:
        for process in self._processes:
            process.start()
        for pipe in self._pipes:
            _answer(pipe, START_S)
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(END_S)
            process.terminate()

    def seconds(self, jobs: Sequence[Job]) -> float:
        """Have each process do one job, all at once, and return how long the last one took. Raises WorkerFailed."""
        began = time.perf_counter()
        for pipe, job in zip(self._pipes, jobs, strict=True):
            pipe.send(job)
        for pipe in self._pipes:
            _answer(pipe, JOB_S)
        return time.perf_counter() - began


def _answer(pipe: Connection, within_s: float) -> None:
    if not pipe.poll(within_s):
        raise WorkerFailed(f"no answer within {within_s:g} s")
    try:
        pipe.recv()
    except EOFError:
        raise WorkerFailed("a process ended") from None


def _work(pipe: Connection, make: Callable[[Any], Runner[Any]], source: Any, threads: int) -> None:
    torch.set_num_threads(threads)
    run = make(source)
    pipe.send(True)
    with _hanging_up(run):
        while (job := _next(pipe)) is not None:
            run(job)
            pipe.send(True)


def _hanging_up(run: Runner[Any]) -> AbstractContextManager[object]:
    """Close a runner that holds connections when its process ends."""
    return closing(run) if hasattr(run, "close") else nullcontext()


def _next(pipe: Connection) -> Any | None:
    try:
        return pipe.recv()
    except EOFError:
        return None
