"""One forward and backward of a policy with a large vocabulary: its peak memory and time, printed as JSON.

    python -m benchmarks.probes.logprobs --form FORM --tokens M [--repetitions N] [--limit-gib X] [--values FILE]

One layer under the vocabulary. Log-probabilities carry the gradient, entropies do not. The peak is the kernel's own
record of the largest resident size, less the size with weights and kernels loaded. Times are processor time. The
process gets no more memory than the limit, and reports when that is not enough.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from benchmarks import processes
from hone.models import policy as policies
from hone.models import toy
from hone.models.checkpoint import Checkpoint
from hone.models.policy import Policy
from hone.trajectory.microbatches import MicroBatch, cut
from hone.trajectory.packing import sequences
from services.learner.trainer import malloc

VOCABULARY, HIDDEN, SEQUENCE = 151936, 256, 512
_SIZES: dict[str, Any] = {"hidden": HIDDEN, "layers": 1, "heads": 4, "head_dim": 64, "ffn": 512, "tied": False}

Head = Callable[[Tensor, Tensor, Tensor, float], tuple[Tensor, Tensor]]
"""States, output matrix, targets and temperature -> log-probabilities and entropies."""


@dataclass(frozen=True)
class Form:
    """A way to the same figures."""

    says: str
    at_once: int = policies._LOGITS_AT_ONCE  # logits that Hone holds at a time
    keeps: bool = False  # whether the process keeps freed memory, as a trainer does
    peer: str = ""  # function of benchmarks.peers.trl_logprobs that stands in


FORMS = {
    "hone": Form("Hone, in tiles, in a process that keeps freed memory: as it trains", keeps=True),
    "hone_plain": Form("Hone, in tiles"),
    "hone_whole": Form("Hone, all logits at once: the same code, its limit lifted", at_once=sys.maxsize),
    "trl_whole": Form("TRL, all logits at once: `selective_log_softmax_and_entropy`", peer="whole"),
    "trl_tiles": Form("TRL, in tiles: as its GRPOTrainer trains", peer="tiled"),
}


class Peer(Policy):
    """A policy whose states become log-probabilities by somebody else's code."""

    head: Head

    def _predicted(self, hidden: Tensor, wanted: Sequence[Tensor], *asked: Any) -> tuple[Tensor, ...]:
        temperature: float = asked[0]
        return self.head(hidden, self._output, wanted[0], temperature)


def made(form: Form, vocabulary: int) -> Policy:
    """Return a policy of one layer whose logits have a standard deviation of about 2.5."""
    checkpoint = Checkpoint.from_files(toy.files(vocab_size=vocabulary, **_SIZES))
    checkpoint.tensors["lm_head.weight"].mul_(8)
    if form.peer:
        peer = Peer(checkpoint.architecture, checkpoint.tensors)
        peer.head = getattr(import_module("benchmarks.peers.trl_logprobs"), form.peer)
        return peer
    policies._LOGITS_AT_ONCE = form.at_once
    return Policy(checkpoint.architecture, checkpoint.tensors)


def asked(tokens: int, vocabulary: int) -> MicroBatch:
    """Return one micro-batch of random sequences in which `tokens` are trained."""
    ids = np.random.default_rng(0).integers(0, vocabulary, (-(-tokens // SEQUENCE), SEQUENCE + 1))
    drawn = sequences(ids.tolist())
    together = replace(drawn, group=np.zeros_like(drawn.group))
    [micro] = cut(together, np.ones(len(ids), np.bool_), ids.size)
    return micro


def trained(policy: Policy, micro: MicroBatch) -> dict[str, Tensor]:
    """Return log-probabilities, entropies and the gradient of the mean log-probability, which is left nowhere else."""
    logp, entropy = policy(micro)
    logp.mean().backward()
    gradients = {name: parameter.grad for name, parameter in policy.trained.items() if parameter.grad is not None}
    policy.zero_grad(set_to_none=True)
    return {"logp": logp.detach(), "entropy": entropy.detach(), **gradients}


def measured(form: Form, tokens: int, repetitions: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return peak and median seconds, and what was computed."""
    trained(made(form, len(toy.SYMBOLS)), asked(SEQUENCE, len(toy.SYMBOLS)))
    policy, micro, seconds = made(form, VOCABULARY), asked(tokens, VOCABULARY), []
    if form.keeps:
        malloc.keep_freed_memory()
    before = processes.restart_peak_mib()
    for _ in range(repetitions):
        found: dict[str, Tensor] = {}
        began = time.process_time()
        found = trained(policy, micro)
        seconds.append(time.process_time() - began)
    peak_mib = processes.peak_mib(os.getpid()) - before
    return {"peak_mib": peak_mib, "seconds": statistics.median(seconds)}, found


def main() -> None:
    """Measure one form and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--form", choices=FORMS, required=True)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--limit-gib", type=float)
    parser.add_argument("--values", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.limit_gib:
        limit = int(args.limit_gib * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        figures, values = measured(FORMS[args.form], args.tokens, args.repetitions)
    except RuntimeError as problem:
        if "can't allocate memory" not in str(problem):
            raise
        print(json.dumps({"limit_gib": args.limit_gib}))
        return
    if args.values:
        safetensors.torch.save_file({name: value.contiguous() for name, value in values.items()}, args.values)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
