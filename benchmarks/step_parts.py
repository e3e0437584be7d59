"""The cost of a training step beside its model: step weights and losses, against forward and backward.

    python -m benchmarks.step_parts [--groups N] [--repetitions N] [--out FILE]

A step of the demo's model and task with about 64 thousand trained tokens, 8 answers of 7 tokens to a prompt, packed
under the trainer's own token budget; each part timed by itself, on one thread, in a process that keeps freed memory as
the trainer does. Times are processor time, which other processes disturb less than they do the clock on the wall.
Forwards beside the update's own, over the batch before it or through the reference, stand in a column of their own.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.algorithms.presets import resolve
from hone.algorithms.slots import needs
from hone.demo import task
from hone.environments import streams
from hone.environments.tasks import episode
from hone.models import toy
from hone.models.checkpoint import Checkpoint
from hone.models.policy import Policy
from hone.models.ranks import ALONE
from hone.spec.run import AlgorithmSpec
from hone.spec.settings import Settings
from hone.trajectory.microbatches import MicroBatch, cut
from hone.trajectory.packing import pack
from hone.trajectory.plan import GroupPlan, StepPlan
from hone.trajectory.records import Call, Trajectory, VersionSpan
from services.learner.trainer import malloc
from services.learner.trainer.forward import Forward
from services.learner.trainer.loss import ForwardOutputs, micro_batch_loss
from services.learner.trainer.metric_sums import MetricSums
from services.learner.trainer.reference_pass import ReferencePass
from services.learner.trainer.step_weights import StepWeights, compute_step_weights

PRESETS = ("grpo", "dapo", "maspo", "dynamo", "gigpo", "gspo", "sapo", "gdpo", "rdpo")
PARTS = ("forwards", "step_weights", "loss", "model")
GROUPS, SAMPLES = 1170, 8
COMPONENTS = ("right", "format", "length")
_BUDGET = Settings().trainer.tokens


@dataclass
class Laps:
    """Processor seconds of each part of one step."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        began = time.process_time()
        yield
        self.seconds[part] += time.process_time() - began


@dataclass(frozen=True)
class Workload:
    """The same trajectories for every preset."""

    groups: list[GroupPlan]
    trajectories: list[Trajectory]

    @classmethod
    def drawn(cls, groups: int) -> "Workload":
        """Return answers of random digits to the demo's questions, with random rewards in parts."""
        source = random.Random(0)
        tasks = streams.draw(task.NAME, dict(task.PARAMS), "train", 0, 0, groups)
        prompts = [_ids(episode(one).reset().messages[0]["content"]) for one in tasks]
        plans = [_group(number, source) for number in range(groups)]
        answers = [_answer(number, index, prompt, source)
                   for number, prompt in enumerate(prompts) for index in range(SAMPLES)]
        return cls(plans, answers)

    def plan(self, preset: str) -> StepPlan:
        """Return the step that trains on them as a preset says."""
        slots = resolve(AlgorithmSpec(preset=preset))
        return StepPlan(n=1, steps=task.STEPS, builder="rollouts", parts=[], groups=self.groups, slots=slots, lr=2e-4,
                        clip_norm=1.0, temperature=1.0, max_tokens=8)


def _ids(text: str) -> list[int]:
    return [toy.SYMBOLS.index(symbol) for symbol in text]


def _group(number: int, source: random.Random) -> GroupPlan:
    parts = [{name: source.random() for name in COMPONENTS} for _ in range(SAMPLES)]
    return GroupPlan(group_id=number, request_no=number, task_hash=f"{number}", grade_ids=[1] * SAMPLES,
                     rewards=[sum(each.values()) for each in parts], components=parts)


def _answer(group: int, index: int, prompt: list[int], source: random.Random) -> Trajectory:
    digits = "".join(source.choices("0123456789", k=task.PARAMS["digits"]))
    ids = [*_ids(digits), toy.EOS]
    call = Call(
        index=0, prompt_ids=prompt, completion_ids=ids, logp_sample=[source.gauss(-3.4, 0.2) for _ in ids],
        finish_reason="stop", versions=[VersionSpan("ver_0", len(ids))], text=digits, train_mask=[True] * len(ids))
    return Trajectory(
        group_id=group, index=index, request_no=group, task={}, task_hash=f"{group}", item={}, calls=[call], steps=[],
        status="ok", score=1.0, grade_id=1)


def step(policy: Policy, plan: StepPlan, trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Add a step's gradient to the policy's and return the processor seconds of each part."""
    laps, batch = Laps(), pack(plan, trajectories)
    with laps("forwards"):
        before = ReferencePass(Forward(_BUDGET, 1, ALONE), policy, _reference(policy)).run(plan, batch, trajectories)
    with laps("step_weights"):
        weights = compute_step_weights(batch, plan, before, {})
    sums = MetricSums()
    for micro in cut(batch, np.ones(len(batch.rows), np.bool_), _BUDGET):
        _trained(policy, micro, plan, weights, sums, laps)
    return laps.seconds


def _trained(
    policy: Policy, micro: MicroBatch, plan: StepPlan, weights: StepWeights, sums: MetricSums, laps: Laps,
) -> None:
    """Add a micro-batch's gradient. The loss has its own graph, which begins at the log-probabilities."""
    with laps("model"):
        logp, entropy = policy(micro, plan.temperature)
    with laps("forwards"):
        ref = _reference(policy)(micro, plan.temperature) if "logp_ref" in needs(plan.slots, "regularizers") else None
    with laps("loss"):
        leaf = logp.detach().requires_grad_()
        part = micro_batch_loss(micro, ForwardOutputs(leaf, entropy, ref), weights, plan, {}, sums)
        gradient, = torch.autograd.grad(part, leaf)
    with laps("model"):
        logp.backward(gradient)


def _reference(policy: Policy) -> Callable[[MicroBatch, float], Tensor]:
    """Return the forward of a reference as large as the policy."""
    def logp(micro: MicroBatch, temperature: float) -> Tensor:
        with torch.no_grad():
            found: Tensor = policy(micro, temperature)[0]
        return found

    return logp


def measured(policy: Policy, workload: Workload, repetitions: int) -> dict[str, dict[str, float]]:
    """Return each preset's medians by part, seconds; presets take turns, after one of each to warm up."""
    plans = {preset: workload.plan(preset) for preset in PRESETS}
    taken: dict[str, list[dict[str, float]]] = {preset: [] for preset in PRESETS}
    for _ in range(repetitions + 1):
        for preset, plan in plans.items():
            taken[preset].append(step(policy, plan, workload.trajectories))
            policy.zero_grad(set_to_none=True)
    return {preset: summary(steps[1:]) for preset, steps in taken.items()}


def summary(steps: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the median of each part over steps, and the share of step weights and loss in the model's time."""
    medians = {f"{part}_s": statistics.median(step[part] for step in steps) for part in steps[0]}
    return {**medians, "share": (medians["step_weights_s"] + medians["loss_s"]) / medians["model_s"]}


def main() -> None:
    """Measure every preset and store what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=GROUPS)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS / "step_parts.json")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    malloc.keep_freed_memory()
    began, checkpoint = provenance(), Checkpoint.from_files(toy.files())
    policy, workload = Policy(checkpoint.architecture, checkpoint.tensors), Workload.drawn(chosen.groups)
    tokens = sum(len(one.calls[0].completion_ids) for one in workload.trajectories)
    store(chosen.out, {**began, "trained_tokens": tokens, "presets": measured(policy, workload, chosen.repetitions)})


if __name__ == "__main__":
    main()
