"""Log-probabilities and entropies over a vocabulary of 152 thousand: peak memory and time, in parts and all at once.

    python -m benchmarks.chunked_logprobs [--tokens M ...] [--repetitions N] [--out FILE]

Forward and backward of one layer under the vocabulary, one thread, each form in a process of its own
(benchmarks.probes.logprobs), one after the other. Log-probabilities and entropies have to agree within 1e-5 of their
largest value, gradients, which are sums over all tokens, within 1e-4. A form that asks for more memory than is free is
result as such.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import safetensors.torch

from benchmarks.machine import provenance
from benchmarks.probes.logprobs import FORMS, HIDDEN, VOCABULARY
from benchmarks.results import RESULTS, store

TOKENS = (2048, 8192)
TOLERANCES = {"logp": 1e-5, "entropy": 1e-5}
_OF_GRADIENTS = 1e-4
_SPARED_GIB = 2.0


class Disagreement(RuntimeError):
    """Two forms that should compute the same do not; the message says where."""


def measured(form: str, tokens: int, repetitions: int, values: Path) -> dict[str, Any]:
    """Return what a form's own process tells. Raises CalledProcessError."""
    limit_gib = psutil.virtual_memory().available / 2**30 - _SPARED_GIB
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.probes.logprobs", "--form", form, "--tokens", str(tokens),
         "--repetitions", str(repetitions), "--limit-gib", f"{limit_gib:.1f}", "--values", str(values)],
        check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def gaps(left: Path, right: Path) -> dict[str, float]:
    """Return how far each tensor that two forms computed is apart, as a share of its largest value."""
    ours, theirs = safetensors.torch.load_file(left), safetensors.torch.load_file(right)
    return {name: float((values - theirs[name]).abs().max() / values.abs().max()) for name, values in ours.items()}


def agreed(form: str, found: dict[str, float]) -> dict[str, float]:
    """Return the largest of the gaps of values and of gradients. Raises Disagreement where one is too large."""
    for name, gap in found.items():
        allowed = TOLERANCES.get(name, _OF_GRADIENTS)
        if not gap <= allowed:
            raise Disagreement(f"{form}: {name} is {gap:.1e} apart, expected at most {allowed}")
    return {"value_gap": max(gap for name, gap in found.items() if name in TOLERANCES),
            "gradient_gap": max((gap for name, gap in found.items() if name not in TOLERANCES), default=0.0)}


def compared(tokens: int, repetitions: int) -> dict[str, dict[str, Any]]:
    """Return every form's figures, and how far it is from the first."""
    figures: dict[str, dict[str, Any]] = {}
    with TemporaryDirectory() as scratch:
        first = Path(scratch, "first.safetensors")
        for form in FORMS:
            values = Path(scratch, "other.safetensors") if figures else first
            figures[form] = {"says": FORMS[form].says, **measured(form, tokens, repetitions, values)}
            if "peak_mib" in figures[form]:
                figures[form] |= agreed(form, gaps(first, values))
    return figures


def main() -> None:
    """Measure every form at every size and store what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=TOKENS)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "chunked_logprobs.json")
    chosen = parser.parse_args()
    began = provenance()
    sizes = {str(tokens): compared(tokens, chosen.repetitions) for tokens in chosen.tokens}
    store(chosen.out, {**began, "vocabulary": VOCABULARY, "hidden": HIDDEN, "tokens": sizes})


if __name__ == "__main__":
    main()
