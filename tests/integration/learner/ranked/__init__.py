"""Cases of a learner that two ranks play, and one process, for tests. `__main__` is one of the two ranks."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from torch.distributed.tensor import DTensor

from hone.models import toy
from hone.models.adapter import Lora
from hone.trajectory import parts
from hone.trajectory.plan import StepPlan
from services.learner.trainer.learner import Learner
from services.learner.trainer.rank_group import RankGroup
from services.learner.trainer.snapshot import Start
from services.learner.trainer.training_step import RejectedPlan
from tests.unit.trajectory.samples import random_step, with_teacher

OPTIMIZER = {"lr": 1e-3, "weight_decay": 0.01}
SMALL: dict[str, Any] = {"hidden": 32, "heads": 2, "head_dim": 16, "ffn": 64}
KL = {"regularizers": [{"name": "kl", "params": {"coefficient": 0.1}}]}
TOKEN_KL = {"preset": "reinforce_pp", "advantage": {"name": "reinforce_pp", "params": {"beta": 0.1}}}
DYNAMO = {"preset": "dynamo", "correction": {"name": "tis", "params": {"normalize": True}}}
BYPASS = {"preset": "gspo", "correction": {"name": "bypass"}}
SCOPE = {"preset": "scope"}
SCOPE_IN_LOSS = {"preset": "scope", "advantage": {"name": "scope", "params": {"teacher_path": "in_loss_top_k"}}}
CRITIC = {"optimizer": {"lr": 1e-3, "clip_norm": 0.5}, "clip": 0.1}
LORA = Lora(2, 4.0, ("q_proj", "down_proj"))
SEQUENCES = [[1, 2, 3, 4, 5], [6, 7], [8, 9, 10]]


@dataclass(frozen=True)
class Case:
    """A few steps of one learner."""

    algorithm: Mapping[str, Any] | None = None
    token_budget: int = 40  # several rounds of two, the last of them with one micro-batch where `groups` is odd
    groups: int = 7
    lora: Lora | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    flat: int = 0  # groups whose samples have equal rewards
    critic: Mapping[str, Any] | None = None
    taught: bool = False  # a teacher has a word on most calls, and its three likeliest ids


CASES = {
    "ragged": Case(),
    "again": Case(),
    "fewer micro-batches than ranks": Case(token_budget=10_000, groups=3),
    "some groups skipped": Case(flat=4),
    "every group skipped": Case(flat=7),
    "kl": Case(KL),
    "token kl": Case(TOKEN_KL),
    "a forward before the step": Case(DYNAMO),
    "sequences, from the sampler on": Case(BYPASS),
    "turns": Case({"preset": "gigpo"}),
    "adapter": Case(KL, lora=LORA),
    "critic": Case({"preset": "ppo"}, critic=CRITIC),
    "critic beside an adapter, fewer micro-batches than ranks": Case(
        {"preset": "ppo"}, token_budget=10_000, groups=3, lora=LORA, critic=CRITIC),
    "critic of what the policy skips": Case({"preset": "ppo"}, flat=7, critic=CRITIC),
    "untied, shared keys": Case(model={"tied": False, "kv_heads": 1}),
    "tracks": Case(SCOPE, taught=True),
    "tracks, of which one reads the likeliest ids": Case(SCOPE_IN_LOSS, taught=True),
}
TILES = ("kl", "a forward before the step", "adapter", "critic", "untied, shared keys",
         "tracks, of which one reads the likeliest ids")
"""Cases whose forwards differ."""


def step(case: Case, number: int) -> tuple[StepPlan, bytes]:
    """Return a step's plan, whose one part has these bytes."""
    plan, trajectories = random_step(groups=case.groups, seed=number, algorithm=case.algorithm)
    if case.taught:
        plan, trajectories = plan.model_copy(update={"teacher": "model"}), with_teacher(trajectories)
    groups = [group.model_copy(update={"parts": ["part"], **({"rewards": [1.0] * 4} if place < case.flat else {})})
              for place, group in enumerate(plan.groups)]
    return plan.model_copy(update={"parts": ["part"], "groups": groups}), parts.encode(trajectories)


def train(learner: Learner, case: Case, numbers: range) -> list[dict[str, float]]:
    """Take steps and return the metrics of each."""
    found = []
    for number in numbers:
        plan, stored = step(case, number)
        metrics = learner.forward_backward_stored(plan, [stored], "ver_0")
        del metrics["storage/read_s"]  # no two runs take equally long
        found.append({**metrics, **learner.optim_step(1e-3, 0.5)})
    return found


def start(case: Case) -> Start:
    """Return where a case begins."""
    return Start.first(toy.files(0, **{**SMALL, **case.model}), case.lora, 3, critic=case.critic is not None)


def base(case: Case) -> dict[str, bytes] | None:
    """Return the files of the base of a case's snapshot."""
    return None if case.lora is None else toy.files(0, **{**SMALL, **case.model})


def play(group: RankGroup, name: str, directory: Path, handed: Path | None = None) -> None:
    """Play a case: three steps with a snapshot after the second, its gradient in hand, and one step from `handed`."""
    case = CASES[name]
    learner = group.learner(start(case), OPTIMIZER, case.token_budget, critic=case.critic)
    metrics = train(learner, case, range(2))
    plan, stored = step(case, 2)
    learner.forward_backward_stored(plan, [stored], "ver_0")
    write(directory / "snapshot", learner.snapshot())
    learner.optim_step(1e-3, 0.5)
    logprobs = learner.logprobs(SEQUENCES)
    files = {"metrics.json": json.dumps(metrics).encode(), "logprobs.json": json.dumps(logprobs).encode()}
    write(directory, {**files, **weights(learner)})
    if handed is not None:
        write(directory / "resumed", resumed(group, case, handed))


def weights(learner: Learner) -> dict[str, bytes]:
    """Return the weights of the policy, and of its critic where it has one."""
    critic = {name: data for name, data in learner.snapshot().items() if name == "critic.safetensors"}
    return {"weights.safetensors": learner.weights(), **critic}


def resumed(group: RankGroup, case: Case, handed: Path) -> dict[str, bytes]:
    """Return the weights after the first update from a handed snapshot."""
    files = {path.name: path.read_bytes() for path in handed.iterdir()}
    learner = group.learner(Start.again(files, base(case)), OPTIMIZER, case.token_budget, critic=case.critic)
    learner.optim_step(1e-3, 0.5)
    return weights(learner)


def write(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (directory / name).write_bytes(data)


def refused(group: RankGroup, directory: Path) -> None:
    """Make a call that fails on every rank; the next call must find every rank as it was."""
    case = CASES["ragged"]
    learner, (plan, stored) = group.learner(start(case), OPTIMIZER, 40), step(case, 0)
    try:
        fewer = parts.planned(plan, [stored])[1:]
        learner.forward_backward_stored(plan, [parts.encode(fewer)])
    except RejectedPlan as problem:
        write(directory, {"refused": str(problem).encode()})
    write(directory, {"after": learner.weights()})


def held(learner: Learner) -> float:
    """Return which part of the weights lies on this rank."""
    trained = learner.models.policy.trained.values()
    return sum(cast(DTensor, one).to_local().numel() for one in trained) / sum(one.numel() for one in trained)


def play_each(group: RankGroup, directory: Path, names: Iterable[str]) -> None:
    """Play cases, each going on from the snapshot that one process wrote besides."""
    for name in names:
        play(group, name, directory / name, directory.parent / "alone" / name / "snapshot")


def play_in_tiles(group: RankGroup, directory: Path) -> None:
    """Play the cases whose forwards differ."""
    play_each(group, directory.with_name(f"{directory.name} in tiles"), TILES)


def play_all(group: RankGroup, directory: Path) -> None:
    """Play every case, and the cases for several ranks alone."""
    play_each(group, directory, CASES)
    refused(group, directory)
    learner = group.learner(start(CASES["ragged"]), OPTIMIZER, 40)
    write(directory, {"held": json.dumps(held(learner)).encode()})
