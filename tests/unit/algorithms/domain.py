"""Random inputs of every slot's methods, from their whole documented domain, with many extreme values."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.aggregations import AggregationInputs
from hone.algorithms.inputs import (
    AdvantageInputs,
    CorrectionInputs,
    FilterInputs,
    Flags,
    Floats,
    Ints,
    LossInputs,
    ModulationInputs,
    RegularizerInputs,
    RewardInputs,
    Support,
)
from hone.algorithms.method import Params
from hone.trajectory.turns import Turns

KINDS: Mapping[str, tuple[str, ...]] = {
    "skill1": ("query", "rerank", "play", "distill"), "memocr": ("draft", "read_std", "read_augM", "read_augQ"),
    "heavyskill": ("attempt", "deliberate")}
"""Kinds of turns that an estimator knows; any for the others."""

COMPONENTS = ("r_rank", "r_dist", "std", "augM", "augQ", "exec", "fmt", "schema")
LARGEST = 1e100
"""Of a reward; beyond 1e150 squares are infinite."""


def variants(params: type[Params]) -> Iterator[dict[str, Any]]:
    """Yield the defaults, then each flag and each choice changed by itself; what is off by default is switched on."""
    off = {name: 1.0 for name, field in params.model_fields.items() if field.default == 0.0 and name in
           {"coefficient", "beta", "c"}}
    yield off
    for name, field in params.model_fields.items():
        if field.annotation is bool:
            yield {**off, name: not field.default}
        elif get_origin(field.annotation) is Literal:
            yield from ({**off, name: choice} for choice in get_args(field.annotation) if choice != field.default)


def rewards(random: np.random.Generator, count: int) -> Floats:
    """Return equal, tiny, huge, binary or usual rewards."""
    shape = random.choice(["equal", "tiny", "huge", "binary", "usual", "one of them"])
    if shape == "equal":
        return np.full(count, random.choice([0.0, 1.0, -LARGEST]))
    if shape == "one of them":
        return np.where(np.arange(count) == random.integers(count), 1.0, 0.0)
    scale = {"tiny": 1e-12, "huge": LARGEST, "usual": 1.0, "binary": 1.0}[shape]
    drawn = random.integers(2, size=count) if shape == "binary" else random.standard_normal(count)
    return np.asarray(scale * drawn, np.float64)


def logprobs(random: np.random.Generator, count: int, impossible: float = 0.0) -> Floats:
    """Return nats from 0 to -60, some of them exactly that; -inf with the given chance."""
    drawn = random.choice([0.0, -1e-9, -1.0, -60.0], count) - random.exponential(1.0, count) * random.integers(2)
    return np.where(random.random(count) < impossible, -np.inf, np.maximum(drawn, -60.0))


def _sizes(random: np.random.Generator, fewest: int = 1) -> Ints:
    return np.array(random.choice([1, 1, 2, 3, 8], random.integers(fewest, 5)), np.int64)


def _turns(random: np.random.Generator, tokens: Ints, kinds: tuple[str, ...]) -> Turns:
    """Cut each trajectory into one to three turns, some without a token."""
    lengths = []
    for total in tokens:
        cuts = np.sort(random.integers(0, total + 1, random.integers(0, 3)))
        lengths.append(np.diff([0, *cuts, total]))
    owner = np.repeat(np.arange(len(tokens)), [len(each) for each in lengths])
    count = len(owner)
    reward = rewards(random, count)
    return Turns(owner, np.concatenate(lengths), reward, random.integers(0, 3, count),
                 tuple(str(kind) for kind in random.choice(kinds, count)), {"one": reward, "other": np.zeros(count)})


def _parts(random: np.random.Generator, count: int) -> dict[str, Floats]:
    parts = {name: rewards(random, count) for name in COMPONENTS}
    parts["r_rank"] = random.random(count)
    return {name: np.where(random.random(count) < 0.2, np.nan, values) for name, values in parts.items()}


def advantages(random: np.random.Generator, name: str) -> AdvantageInputs:
    """Return a step with all that any estimator needs; groups of one and trajectories of one token are common."""
    group = np.repeat(np.arange(len(sizes := _sizes(random))), sizes)
    tokens = np.array(random.choice([1, 1, 2, 30], len(group)), np.int64)
    count, total = len(group), int(tokens.sum())
    old = logprobs(random, total)
    return AdvantageInputs(
        rewards(random, count), group, tokens, np.where(random.random(count) < 0.5, np.nan, rewards(random, count)),
        old - logprobs(random, total), old, logprobs(random, total, impossible=0.2), rewards(random, total),
        _parts(random, count), {"schema": random.random(total) < random.choice([0.0, 0.5, 1.0])},
        _turns(random, tokens, KINDS.get(name, ("say",))), step=int(random.integers(10)), steps=10)


def modulations(random: np.random.Generator) -> ModulationInputs:
    """Return the tokens of a step; some trajectories have none."""
    tokens = np.array(random.choice([0, 1, 2, 9], random.integers(1, 6)), np.int64)
    total = int(tokens.sum())
    known: Flags = random.random(total) < 0.5
    return ModulationInputs(
        rewards(random, total), tokens, logprobs(random, total), logprobs(random, total),
        random.choice([0.0, 1e-12, 1.0, 12.0], total), random.uniform(-1, 1, total),
        logprobs(random, total, impossible=0.2), known if random.integers(2) else None, int(random.integers(100)),
        segment=random.integers(-1, 3, total), score=random.random(3), group=random.integers(0, 3, len(tokens)),
        kind=random.choice(["answer", "invoke", "skip"], len(tokens)).tolist())


def losses(random: np.random.Generator) -> LossInputs:
    """Return the tokens of a micro-batch; `logp` takes gradients. Advantages are at most 1e6: float32 ends at 3e38."""
    sizes = _sizes(random)
    known, support = _likeliest(random, int(sizes.sum()))
    total = int(sizes.sum())
    advantage = _float(rewards(random, total).clip(-1e6, 1e6))
    return LossInputs(
        _float(logprobs(random, total)).requires_grad_(), _float(logprobs(random, total)), advantage,
        torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes)), len(sizes),
        advantage * 2 if random.integers(2) else None, _float(logprobs(random, total, impossible=0.2)), known, support)


def corrections(random: np.random.Generator) -> CorrectionInputs:
    """Return the tokens of whole trajectories; the last of these may have none."""
    sizes = _sizes(random)
    total = int(sizes.sum())
    return CorrectionInputs(
        _float(logprobs(random, total)), _float(logprobs(random, total)),
        torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes)), len(sizes) + int(random.integers(2)),
        float(random.choice([1.0, 1e-6, 5.0])))


def regularizers(random: np.random.Generator) -> RegularizerInputs:
    """Return the tokens of a micro-batch with a teacher's word on the sampled token and on three likely ones."""
    total = int(random.choice([1, 2, 9]))
    known, support = _likeliest(random, total)
    return RegularizerInputs(
        _float(logprobs(random, total)).requires_grad_(), _float(logprobs(random, total)),
        _float(random.choice([0.0, 1e-9, 12.0], total)).requires_grad_(), _float(logprobs(random, total)),
        _float(logprobs(random, total, impossible=0.2)), known, support)


def _likeliest(random: np.random.Generator, total: int) -> tuple[Tensor | None, Support]:
    """Return which tokens a teacher speaks of, and both distributions on three ids, which may be all there are."""
    every = bool(random.integers(2))
    vocabulary = torch.tensor(random.choice([0.0, 1.0, 200.0], (total, 3 if every else 5)), dtype=torch.float32)
    student = vocabulary.requires_grad_().log_softmax(-1)
    rest = torch.full((total,), -torch.inf) if every else student[:, 3:].logsumexp(-1)
    teacher = torch.tensor(random.choice([0.0, 5.0, 100.0, np.inf], (total, 5))).neg().log_softmax(-1).nan_to_num(-60.0)
    known = torch.tensor(random.random(total) < 0.5) if random.integers(2) else None
    return known, Support(teacher[:, :3].float(), student[:, :3], rest)


def aggregations(random: np.random.Generator) -> AggregationInputs:
    """Return counts of one trajectory or several; some have no token, perhaps all."""
    tokens = random.choice([0, 0, 1, 2, 100_000], random.integers(1, 6))
    return AggregationInputs(np.asarray(tokens, np.int64), int(random.choice([1, 100_000])))


def samples(random: np.random.Generator) -> RewardInputs:
    """Return the rewards of a step as they come: missing and broken ones are among them."""
    count = int(random.integers(0, 7))
    drawn = [_broken(random, value) for value in rewards(random, count)] if count else []
    return RewardInputs(drawn, [int(each) for each in random.choice([0, 1, 20_000, 10**9], count)],
                        [bool(each) for each in random.integers(2, size=count)])


def groups(random: np.random.Generator) -> FilterInputs:
    """Return candidate groups; some have no sample, some no valid one."""
    found = [rewards(random, size).tolist() if size else [] for size in random.integers(0, 5, random.integers(0, 30))]
    masked = [[None if random.random() < 0.2 else value for value in group] for group in found]
    return FilterInputs(masked, random.choice([0.0, 1.0, 1e6], len(masked)).tolist())


def pieces(tokens: Ints) -> Iterator[slice]:
    """Yield each trajectory's tokens."""
    yield from (slice(start, end) for start, end in pairwise([0, *np.cumsum(tokens).tolist()]))


def _broken(random: np.random.Generator, value: float) -> float | None:
    rewards: list[float | None] = [float(value), float(value), None, float("nan"), float("-inf")]
    return rewards[int(random.integers(len(rewards)))]


def _float(values: Floats) -> Tensor:
    return torch.from_numpy(values).float()
