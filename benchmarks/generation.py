"""Tokens per second of the native engine against transformers `generate`: same weights, prompts, lengths, one thread.

    python -m benchmarks.generation [--repetitions N] [--smoke] [--out FILE]

Two settings: every answer 64 tokens long, and lengths as reinforcement learning meets them (exponential, mean 48, at
most 256), where a static batch computes padding until its longest row ends. Sampling at temperature 1 with log-probs
on both sides; lengths are forced, so that both make the same number of useful tokens. The bound is what the model's
matrix products alone would take as plain products of 256 rows, measured in the same process.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from benchmarks import checkpoints, figures
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.models.architecture import Architecture
from hone.models.checkpoint import Checkpoint
from hone.trajectory.tokens import Tokenizer
from services.inference.native import ladder
from services.inference.native.engine import Engine, Version
from services.inference.native.requests import NoiseKey, Request, Sampling
from services.inference.native.weights import fuse

ROWS = 256
_POSITIONS = 512


@dataclass(frozen=True)
class Setting:
    """Prompts, and how many tokens each answer has."""

    name: str
    prompts: list[list[int]]
    lengths: list[int]

    @property
    def useful(self) -> int:
        """Tokens that somebody wants."""
        return sum(self.lengths)


def settings(rows: int, longest: int) -> list[Setting]:
    """Return both settings for `rows` answers of at most `longest` tokens."""
    source = random.Random(0)

    def prompts(count: int) -> list[list[int]]:
        return [source.choices(range(4, 512), k=16) for _ in range(count)]

    lengths = [max(1, min(longest, round(source.expovariate(1 / 48)))) for _ in range(rows)]
    shared = [prompt for prompt in prompts(rows // 8) for _ in range(8)]
    return [Setting("equal", prompts(rows), [longest // 4] * rows), Setting("variable", shared, lengths)]


def native(checkpoint: Path) -> Callable[[Setting], float]:
    """Return a function that runs a setting on the native engine and says how many seconds that took."""
    read = Checkpoint.from_directory(checkpoint)
    shapes = ladder.measure(read.architecture, ROWS, _POSITIONS)
    engine = Engine(read.architecture, shapes, ROWS, Version("v0", fuse(read), Tokenizer(read.files)))

    def run(setting: Setting) -> float:
        started = time.perf_counter()
        for number, (prompt, length) in enumerate(zip(setting.prompts, setting.lengths, strict=True)):
            engine.submit(Request(f"{number}", tuple(prompt), 1, Sampling(length), NoiseKey(0, f"{number}")))
        made = 0
        while engine.has_work:
            made += sum(len(one.ids) for answer in engine.step() for one in answer.completions)
        if made != setting.useful:
            raise RuntimeError(f"{made} tokens made, {setting.useful} asked for")
        return time.perf_counter() - started

    return run


def stock(checkpoint: Path) -> Callable[[Setting], float]:
    """Return a function that runs a setting as one static batch of transformers and says how many seconds it took."""
    model: Any = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)

    def run(setting: Setting) -> float:
        started, longest = time.perf_counter(), max(setting.lengths)
        with torch.inference_mode():
            made = model.generate(
                input_ids=torch.tensor(setting.prompts), attention_mask=torch.ones(len(setting.prompts), 16).long(),
                max_new_tokens=longest, min_new_tokens=longest, do_sample=True, temperature=1.0, top_k=0,
                return_dict_in_generate=True, output_scores=True)
            model.compute_transition_scores(made.sequences, made.scores, normalize_logits=True)
        return time.perf_counter() - started

    return run


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
    """Return seconds a row of one matrix product of `ROWS` rows, the fastest fifth of many."""
    left, right, taken = torch.randn(ROWS, inner), torch.randn(inner, columns), []
    for _ in range(100):
        started = time.perf_counter()
        torch.mm(left, right)
        taken.append(time.perf_counter() - started)
    return statistics.quantiles(taken, n=5)[0] / ROWS


def measure(setting: Setting, sides: dict[str, Callable[[Setting], float]], repetitions: int) -> dict[str, Any]:
    """Return medians of alternating repetitions, after one of each to warm up."""
    for run in sides.values():
        run(Setting("warm-up", setting.prompts[:16], [4] * 16))
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repetitions):
        for name, run in sides.items():
            taken[name].append(run(setting))
    medians = {name: statistics.median(values) for name, values in taken.items()}
    rates = {f"{name}_tokens_per_s": setting.useful / median for name, median in medians.items()}
    return {"useful_tokens": setting.useful, "padded_tokens": max(setting.lengths) * len(setting.lengths), **rates,
            "ratio": figures.ratio(medians["transformers"], medians["native"]), "seconds": taken}


def main() -> None:
    """Run both settings and store what came out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generation", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--smoke", action="store_true", help="few rows and short answers: does it run?")
    parser.add_argument("--out", type=Path, default=RESULTS / "generation.json")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    told = provenance()
    checkpoint = checkpoints.prepare("random_weights")
    architecture = Checkpoint.from_directory(checkpoint).architecture
    sides = {"native": native(checkpoint), "transformers": stock(checkpoint)}
    measured = {}
    for setting in settings(32, 32) if chosen.smoke else settings(ROWS, 256):
        bound = setting.useful / bound_s(architecture, setting)
        found = measure(setting, sides, chosen.repetitions)
        measured[setting.name] = {**found, "bound_tokens_per_s": bound,
                                  "share_of_bound": found["native_tokens_per_s"] / bound}
    raw = {name: found.pop("seconds") for name, found in measured.items()}
    store(chosen.out, {**told, "threads": 1, "smoke": chosen.smoke, "settings": measured, "raw": raw})


if __name__ == "__main__":
    main()
