"""Exports: a version's files as a Hugging Face directory, compared in stock transformers before it is called ready."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from hone.models import adapter
from hone.models import probe as probes
from hone.models.checkpoint import Checkpoint
from hone.models.checkpoint_header import BadCheckpoint
from hone.models.config_fields import Unsupported
from hone.models.policy import Policy
from hone.models.probe import Probe

TOLERANCE = 1e-3
"""Largest difference of a log-probability between stock transformers and the trainer, nats."""

_PROBES, _PROBE_TOKENS = 4, 33
_TIMEOUT_S = 600
_CONFIG = "config.json"
_BESIDE_ADAPTER = (adapter.WEIGHTS, adapter.CONFIG, "chat_template.jinja")
_LEFT_OUT = ("torch_dtype", "_name_or_path", "transformers_version")


class ExportRefused(RuntimeError):
    """The version cannot be exported: its files are not a model, or a stock engine computes other log-probabilities."""


def export_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a directory that stock engines load, from a version's files by name.

    An adapter is exported as PEFT loads it: adapter, adapter_config.json and tokenizer, without the base.
    Raises ExportRefused if the files are not a usable model.
    """
    if adapter.WEIGHTS not in files:
        return hf_files(files)
    _checkpoint(files)
    return {name: data for name, data in files.items() if name in _BESIDE_ADAPTER or "token" in name}


def base_files(files: Mapping[str, bytes]) -> dict[str, bytes] | None:
    """Return the files of an adapter's base; None if the version is a whole model."""
    if adapter.WEIGHTS not in files:
        return None
    return hf_files({name: data for name, data in files.items() if name not in (adapter.WEIGHTS, adapter.CONFIG)})


def hf_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a whole model's directory.

    The weights' bytes stay. The config gets the dtype that holds each of their numbers: stock libraries load in it, and
    would round the float32 norms of a model whose other weights have two bytes. Raises ExportRefused if the files are
    not a usable model.
    """
    checkpoint = _checkpoint(files)
    config = {name: value for name, value in checkpoint.config.items() if name not in _LEFT_OUT}
    whole = reduce(torch.promote_types, {tensor.dtype for tensor in checkpoint.tensors.values()})
    config["dtype"] = str(whole).removeprefix("torch.")
    return {**files, _CONFIG: json.dumps(config, indent=2, sort_keys=True).encode()}


@dataclass(frozen=True)
class Agreement:
    """The largest difference between a stock library's log-probabilities and ours, nats."""

    max_abs_diff: float
    compared_with: Literal["probe", "forward"]  # the version's stored probe too, or our forward alone


def verify(directory: Path, base: Path | None = None, noted: Probe | None = None) -> Agreement:
    """Load `directory` with stock libraries in another process, and compare their log-probabilities with the trainer's.

    PEFT loads an adapter with its `base`, transformers loads a whole model, in float32. Two sets of log-probabilities
    are compared: those of a fixed batch by our own forward over these files, and `noted`, which the trainer computed
    when it made the version. Only `noted` shows that the files are those of the version; it cannot show a wrong
    embedding of an id that is not in it. Raises ExportRefused if the directory does not load or the difference exceeds
    the tolerance.
    """
    asked = [asdict(one) for one in (probe(_read(directory, base)), noted) if one is not None]
    command = [str(directory)] if base is None else [str(base), str(directory)]
    answer = _stock_answer(command, json.dumps(asked))
    difference = float(json.loads(answer)["max_abs_diff"])
    if not difference <= TOLERANCE:
        raise ExportRefused(f"log-probabilities: found a difference of {difference} nats, expected at most {TOLERANCE}")
    return Agreement(difference, "forward" if noted is None else "probe")


def _read(directory: Path, base: Path | None) -> Checkpoint:
    return _checkpoint({path.name: path.read_bytes() for folder in (base, directory) if folder is not None
                        for path in folder.iterdir() if path.is_file()})


def _stock_answer(directories: list[str], probes: str) -> str:
    command = [sys.executable, "-m", "hone.models.verify", *directories]
    try:
        ended = subprocess.run(command, input=probes, text=True, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as late:
        raise ExportRefused(f"the stock library did not answer within {_TIMEOUT_S} s") from late
    if ended.returncode:
        raise ExportRefused(f"the stock library does not load it: {ended.stderr.strip()[-2000:]}")
    return ended.stdout


def probe(checkpoint: Checkpoint) -> Probe:
    """Return a fixed batch with the log-probabilities of our own forward over a checkpoint."""
    random = np.random.Generator(np.random.PCG64(0))
    shape = checkpoint.architecture
    length = min(_PROBE_TOKENS, shape.max_positions)
    ids: list[list[int]] = random.integers(0, shape.vocab_size, (_PROBES, length)).tolist()
    return Probe(ids, probes.logp(Policy(shape, checkpoint.tensors), ids))


def _checkpoint(files: Mapping[str, bytes]) -> Checkpoint:
    try:
        return Checkpoint.from_files(files)
    except (BadCheckpoint, Unsupported) as problem:
        raise ExportRefused(str(problem)) from problem
