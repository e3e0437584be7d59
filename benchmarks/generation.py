"""Tokens per second of the native engine against transformers `generate`: same weights, prompts and lengths.

    python -m benchmarks.generation [--repetitions N] [--smoke] [--out FILE]

Two settings: every answer 64 tokens long, and lengths as reinforcement learning meets them (exponential, mean 48, at
most 256), where a static batch computes padding until its longest row ends. Sampling at temperature 1 with log-probs
on both sides; lengths are forced, so that both make the same number of useful tokens. Each side runs with one thread
and with two: as one process with two threads, or as two processes that share the prompts. The bound is what the
model's matrix products alone would take as plain products of 256 rows on one thread, by MKL or oneDNN, whichever is
faster on the machine.
"""

import argparse
import itertools
import random
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from benchmarks import checkpoints, figures
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from benchmarks.worker_pool import WorkerPool
from hone.models.architecture import Architecture
from hone.models.checkpoint import Checkpoint
from hone.text.tokenizer import Tokenizer
from services.inference.native import safe_shapes
from services.inference.native.engine import FusedVersion, NativeEngine
from services.inference.native.matrix import Matrix
from services.inference.native.weights import fuse
from services.inference.requests import NoiseKey, Request, Sampling

ROWS = 256
_POSITIONS = 512


@dataclass(frozen=True)
class Setting:
    """Prompts, and how many tokens each answer has."""

    name: str
    prompts: list[list[int]]
    lengths: list[int]

    @property
    def groups(self) -> list[tuple[list[int], int, int]]:
        """Prompt, length and number of answers that ask the same one after the other: one request's samples."""
        asked = zip(self.prompts, self.lengths, strict=True)
        return [(prompt, length, len(list(alike))) for (prompt, length), alike in itertools.groupby(asked)]

    @property
    def useful(self) -> int:
        """Tokens that somebody wants."""
        return sum(self.lengths)

    def shares(self, count: int) -> list["Setting"]:
        """Return `count` settings that hold the prompts together, equal ones side by side."""
        size = len(self.prompts) // count
        return [Setting(self.name, self.prompts[start:start + size], self.lengths[start:start + size])
                for start in range(0, size * count, size)]


def settings(rows: int, longest: int) -> list[Setting]:
    """Return both settings for `rows` answers of at most `longest` tokens."""
    source = random.Random(0)

    def prompts(count: int) -> list[list[int]]:
        return [source.choices(range(4, 512), k=16) for _ in range(count)]

    lengths = [max(1, min(longest, round(source.expovariate(1 / 48)))) for _ in range(rows)]
    shared = [prompt for prompt in prompts(rows // 8) for _ in range(8)]
    return [Setting("equal", prompts(rows), [longest // 4] * rows), Setting("variable", shared, lengths)]


def native(checkpoint: Path, dtype: torch.dtype = torch.float32) -> Callable[[Setting], None]:
    """Return a function that runs a setting on the native engine."""
    read = Checkpoint.from_directory(checkpoint)
    shapes = safe_shapes.measure(read.architecture, ROWS, _POSITIONS, dtype)
    engine = NativeEngine(read.architecture, shapes, ROWS, FusedVersion("v0", fuse(read, dtype), Tokenizer(read.files)))

    def run(setting: Setting) -> None:
        for number, (prompt, length, samples) in enumerate(setting.groups):
            engine.submit(Request(f"{number}", tuple(prompt), samples, Sampling(length), NoiseKey(0, f"{number}")))
        made = 0
        while engine.has_work:
            made += sum(len(one.ids) for answer in engine.step() for one in answer.completions)
        if made != setting.useful:
            raise RuntimeError(f"{made} tokens made, {setting.useful} asked for")

    return run


def stock(checkpoint: Path) -> Callable[[Setting], None]:
    """Return a function that runs a setting as one static batch of transformers."""
    model: Any = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)

    def run(setting: Setting) -> None:
        longest = max(setting.lengths)
        with torch.inference_mode():
            made = model.generate(
                input_ids=torch.tensor(setting.prompts), attention_mask=torch.ones(len(setting.prompts), 16).long(),
                max_new_tokens=longest, min_new_tokens=longest, do_sample=True, temperature=1.0, top_k=0,
                return_dict_in_generate=True, output_scores=True)
            model.compute_transition_scores(made.sequences, made.scores, normalize_logits=True)

    return run


SIDES = (
    ("transformers", stock, 1, 1), ("native", native, 1, 1),
    ("transformers", stock, 1, 2), ("transformers", stock, 2, 1), ("native", native, 2, 1),
)
"""Who runs, in how many processes of how many threads each."""


def bound_s(architecture: Architecture, setting: Setting) -> float:
    """Return the seconds that a setting's matrix products take at full rows, prompts shared, nothing padded."""
    shape = architecture
    layer = sum(_product_s(*size) for size in (
        (shape.hidden, shape.queries + 2 * shape.keys), (shape.queries, shape.hidden),
        (shape.hidden, 2 * shape.ffn), (shape.ffn, shape.hidden)))
    prompt_rows = sum(len(prompt) for prompt in {tuple(prompt) for prompt in setting.prompts})
    decoded_rows = setting.useful - len(setting.lengths)  # the first token comes out of the prompt's pass
    layers_s = (prompt_rows + decoded_rows) * shape.layers * layer
    return layers_s + setting.useful * _product_s(shape.hidden, shape.vocab_size)


def _product_s(inner: int, columns: int) -> float:
    """Return seconds a row of one matrix product of `ROWS` rows, by that of torch's libraries which is faster here."""
    rows, weight = torch.randn(ROWS, inner), torch.randn(columns, inner)
    by_mkl, by_onednn = partial(torch.mm, rows, weight.t().contiguous()), partial(Matrix(weight).times, rows)
    return min(_fastest_s(by_mkl), _fastest_s(by_onednn)) / ROWS


def _fastest_s(work: Callable[[], object]) -> float:
    """Return the seconds of `work`, the fastest fifth of many."""
    taken = []
    for _ in range(100):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.quantiles(taken, n=5)[0]


@dataclass(frozen=True)
class Taken:
    """Seconds of each repetition: of each side, and of the bound, measured between them on the same machine."""

    sides: list[list[float]]
    bound: list[float]


def measure(settings: Sequence[Setting], checkpoint: Path, repetitions: int) -> dict[str, Taken]:
    """Return what each setting took, in alternating repetitions after one of each to warm up."""
    architecture = Checkpoint.from_directory(checkpoint).architecture
    taken = {setting.name: Taken([[] for _ in SIDES], []) for setting in settings}
    with ExitStack() as running:
        pools = [running.enter_context(WorkerPool(make, checkpoint, *shape)) for _, make, *shape in SIDES]
        for pool in pools:
            pool.seconds([Setting("warm-up", settings[0].prompts[:16], [4] * 16)] * pool.size)
        for setting in settings:
            for _ in range(repetitions):
                for pool, seconds in zip(pools, taken[setting.name].sides, strict=True):
                    seconds.append(pool.seconds(setting.shares(pool.size)))
                    if pool.threads == 1:
                        taken[setting.name].bound.append(bound_s(architecture, setting))
    return taken


def summary(setting: Setting, taken: Taken) -> dict[str, Any]:
    """Return each side's tokens a second, and how many times as many the native engine makes with as many threads."""
    rates = [setting.useful / statistics.median(seconds) for seconds in taken.sides]
    bound = setting.useful / statistics.median(taken.bound)
    native_rates = {processes * threads: rate
                    for (name, _, processes, threads), rate in zip(SIDES, rates, strict=True) if name == "native"}
    sides = [{"engine": name, "layout": f"{processes} x {threads} threads", "tokens_per_s": rate,
              "native_over_this": figures.ratio(native_rates[processes * threads], rate)}
             for (name, _, processes, threads), rate in zip(SIDES, rates, strict=True)]
    return {"useful_tokens": setting.useful, "padded_tokens": max(setting.lengths) * len(setting.lengths),
            "sides": sides, "bound_tokens_per_s": bound, "share_of_bound": native_rates[1] / bound}


def main() -> None:
    """Run both settings and store what came out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generation", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--smoke", action="store_true", help="few rows and short answers: does it run?")
    parser.add_argument("--out", type=Path, default=RESULTS / "generation.json")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    began, checkpoint = provenance(), checkpoints.prepare("random_weights")
    asked = settings(32, 32) if chosen.smoke else settings(ROWS, 256)
    taken = measure(asked, checkpoint, chosen.repetitions)
    measured = {setting.name: summary(setting, taken[setting.name]) for setting in asked}
    raw = {name: vars(seconds) for name, seconds in taken.items()}
    store(chosen.out, {**began, "smoke": chosen.smoke, "settings": measured, "raw": raw})


if __name__ == "__main__":
    main()
