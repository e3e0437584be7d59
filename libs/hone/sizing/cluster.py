"""Sizes of a cluster for a number of GPUs: engines, trainer, workers, and what the servers have to take.

Costs besides GPUs come from hone.sizing.costs. How fast a GPU generates and trains is an assumption, as is said in the
plan, until the caller gives rates of their own.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hone.sizing.costs import (
    GROUPS_A_SECOND,
    LOG_BYTES,
    PART_BYTES,
    PROCESSOR_MS,
    ROW_BYTES,
    SNAPSHOT_BYTES,
    VERSION_BYTES,
)
from hone.sizing.gpus import GENERATED, GPUS, TRAINED, Gpu

GPUS_A_NODE = 8
BUSY = 0.5
"""Share of its core that a process may be busy with: bursts need the rest."""
CLAIM_GROUPS, ENGINE_SLOTS = 64, 256
"""Groups that a rollout worker claims, and sequences that an engine decodes at a time: defaults of the settings."""
_ENGINE_BYTES, _TRAINER_BYTES = 2, 16
"""Of a weight: in an engine; in a trainer with its gradient and two moments in float32."""
_ENGINE_SHARE, _TRAINER_SHARE = 0.6, 0.7
"""Of a GPU's memory that weights may take; the rest is for keys and values, or for activations."""
ENGINE_SHARE_IN_TURNS, _WEIGHTS_IN_TURNS, _TRAINER_SHARE_IN_TURNS = 0.4, 0.25, 0.5
"""The same where both are on one GPU: all that the engine takes, its weights in it, and the trainer's."""
_DAY_S = 86400


class TooFew(ValueError):
    """The model does not fit the GPUs."""


class TooLarge(ValueError):
    """The model does not fit an engine, which is on one node."""


@dataclass(frozen=True)
class Workload:
    """Workload of the cluster. Rates are tokens a second of a GPU; 0 means: assume them of `gpu`."""

    gpus: int
    parameters: float = 1.7e9
    tokens: int = 512              # mean answer
    prompt_tokens: int = 256
    samples: int = 512             # of a step
    snapshot_every: int = 1        # steps, as in the run's spec
    group: int = 8                 # samples of a prompt
    gpu: Gpu = GPUS["h100"]
    generate_rate: float = 0.0
    train_rate: float = 0.0

    @property
    def generates(self) -> float:
        """Tokens a second that a GPU generates."""
        return self.generate_rate or GENERATED * self.gpu.bfloat16 / (2 * self.parameters)

    @property
    def trains(self) -> float:
        """Tokens a second that a GPU trains on."""
        return self.train_rate or TRAINED * self.gpu.float32 / (6 * self.parameters)


@dataclass(frozen=True)
class Split:
    """Who gets the GPUs. With `turns`, engines and trainer have the same ones and compute one after the other."""

    engine_gpus: int               # of one engine
    engines: int
    trainer_gpus: int
    turns: bool
    rate: float                    # samples a second
    limit: str = "GPUs"            # what the rate would have to grow with: GPUs or PostgreSQL

    @property
    def trainer_nodes(self) -> int:
        """Nodes that the trainer's ranks are on."""
        return math.ceil(self.trainer_gpus / GPUS_A_NODE)


@dataclass(frozen=True)
class Servers:
    """Load of the servers, bytes a second unless the name says another unit."""

    postgres_cores: float
    postgres_rows: float
    postgres_log: float
    postgres_gb_a_day: float
    groups_share: float            # of the groups that one PostgreSQL was seen to store
    bucket_writes: float
    bucket_reads: float
    bucket_gb_a_day: float         # of trajectories, which are kept


@dataclass(frozen=True)
class Plan:
    """The sizes: replicas of each kind, processor cores they use, and the servers."""

    workload: Workload
    split: Split
    replicas: dict[str, int]
    cores: dict[str, float]
    servers: Servers


def plan(workload: Workload) -> Plan:
    """Return the sizes for a workload. Raises TooFew."""
    split = best_split(workload)
    cores = {kind: split.rate * cost.at(workload.tokens) / 1000 for kind, cost in PROCESSOR_MS.items()}
    return Plan(workload, split, _replicas(workload, split, cores), cores, _servers(workload, split, cores))


def best_split(workload: Workload) -> Split:
    """Return the split of the GPUs that gives the most samples a second. Raises TooFew, TooLarge."""
    _expect_fits_node(workload)
    found = [*_side_by_side(workload)] or [*_in_turns(workload)]
    if not found:
        side_by_side = _engine_gpus(workload, _ENGINE_SHARE) + _on_whole_nodes(_trainer_gpus(workload, _TRAINER_SHARE))
        needed = min(side_by_side, _on_whole_nodes(_least_in_turns(workload)))
        raise TooFew(f"a model of {workload.parameters / 1e9:g} billion parameters needs {needed} GPUs or more")
    best = max(found, key=lambda split: (split.rate, split.trainer_gpus))
    stored = GROUPS_A_SECOND * workload.group
    return replace(best, rate=stored, limit="PostgreSQL") if best.rate > stored else best


def _expect_fits_node(workload: Workload) -> None:
    if _engine_gpus(workload, _ENGINE_SHARE) > GPUS_A_NODE:
        needed = _ENGINE_BYTES * workload.parameters / (_ENGINE_SHARE * GPUS_A_NODE) / 1e9
        raise TooLarge(
            f"an engine is on one node of {GPUS_A_NODE} GPUs, so that a model of "
            f"{workload.parameters / 1e9:g} billion parameters needs GPUs of {math.ceil(needed)} GB or more"
        )


def _side_by_side(workload: Workload) -> Iterator[Split]:
    each = _engine_gpus(workload, _ENGINE_SHARE)
    for engines in range(1, workload.gpus // each + 1):
        trainer = _whole_nodes(workload.gpus - engines * each)
        if trainer >= _trainer_gpus(workload, _TRAINER_SHARE):
            generated = engines * each * workload.generates / workload.tokens
            trained = trainer * workload.trains / (workload.prompt_tokens + workload.tokens)
            yield Split(each, engines, trainer, False, min(generated, trained))


def _on_whole_nodes(needed: int) -> int:
    """Return the least GPUs that a trainer can take of which it needs so many."""
    return needed if needed <= GPUS_A_NODE else math.ceil(needed / GPUS_A_NODE) * GPUS_A_NODE


def _whole_nodes(gpus: int) -> int:
    """Return how many of the GPUs a trainer takes: its ranks are as many on each of its nodes."""
    return gpus if gpus <= GPUS_A_NODE else gpus - gpus % GPUS_A_NODE


def _in_turns(workload: Workload) -> Iterator[Split]:
    """Yield the split in which both have the same GPUs, for GPUs that are too few for one beside the other."""
    each, gpus = _engine_gpus(workload, _WEIGHTS_IN_TURNS), _whole_nodes(workload.gpus)
    if gpus >= _least_in_turns(workload) and each <= GPUS_A_NODE:
        generation_s = workload.tokens / (gpus // each * each * workload.generates)
        training_s = (workload.prompt_tokens + workload.tokens) / (gpus * workload.trains)
        yield Split(each, gpus // each, gpus, True, 1 / (generation_s + training_s))


def _least_in_turns(workload: Workload) -> int:
    return max(_engine_gpus(workload, _WEIGHTS_IN_TURNS), _trainer_gpus(workload, _TRAINER_SHARE_IN_TURNS))


def _engine_gpus(workload: Workload, share: float) -> int:
    """Return the GPUs of an engine: the least power of two of which this share of memory holds the weights."""
    least = _ENGINE_BYTES * workload.parameters / (share * workload.gpu.memory)
    return 1 << max(0, math.ceil(math.log2(least)))


def _trainer_gpus(workload: Workload, share: float) -> int:
    return math.ceil(_TRAINER_BYTES * workload.parameters / (share * workload.gpu.memory))


def _replicas(workload: Workload, split: Split, cores: dict[str, float]) -> dict[str, int]:
    in_flight = math.ceil(split.engines * ENGINE_SLOTS / (CLAIM_GROUPS * workload.group))
    least = {"rollout": max(2, in_flight), "reward": 1, "simulation": 1, "value": 1, "driver": 2, "gateway": 2}
    return {kind: max(floor, math.ceil(cores[kind] / BUSY)) for kind, floor in least.items()}


def _servers(workload: Workload, split: Split, cores: dict[str, float]) -> Servers:
    rate, steps = split.rate, split.rate / workload.samples
    rows, parts = rate * ROW_BYTES.at(workload.tokens), rate * PART_BYTES.at(workload.tokens)
    version, snapshot = VERSION_BYTES * workload.parameters, SNAPSHOT_BYTES * workload.parameters
    return Servers(
        postgres_cores=cores["postgres"], postgres_rows=rows, postgres_log=rate * LOG_BYTES.at(workload.tokens),
        postgres_gb_a_day=rows * _DAY_S / 1e9, groups_share=rate / workload.group / GROUPS_A_SECOND,
        bucket_writes=parts + steps * (version + snapshot / workload.snapshot_every),
        bucket_reads=parts + steps * version * split.engines, bucket_gb_a_day=parts * _DAY_S / 1e9)
