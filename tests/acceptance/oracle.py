"""A managed run in one process: the same tasks, noise, plans and arithmetic, without services, rows and objects.

A run through the services must have the same weights, bit for bit, and the same learning curve.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hone.algorithms.presets import resolve
from hone.environments import streams
from hone.environments.contract import Observation, Task
from hone.environments.tasks import episode
from hone.models.checkpoint import Checkpoint
from hone.spec.run import RunSpec
from hone.spec.settings import Settings
from hone.text.tokenizer import Tokenizer
from hone.trajectory.records import Call, Trajectory, VersionSpan
from services.inference.native import safe_shapes
from services.inference.native.engine import FusedVersion, NativeEngine
from services.inference.native.weights import fuse
from services.inference.requests import Completion, NoiseKey, Request, Sampling
from services.learner.driver.pacing import eval_due
from services.learner.driver.planning import choose, rollout_plan, supervised_plan
from services.learner.trainer.learner import Learner
from tests.acceptance import shared

_DEFAULTS = Settings()
_SLOTS, _POSITIONS, _TOKEN_BUDGET = _DEFAULTS.engine.slots, _DEFAULTS.engine.max_tokens, _DEFAULTS.trainer.tokens
Files = dict[str, bytes]


@dataclass
class Curve:
    """Results of a run: metrics of every step, accuracies of every evaluation, each version's digest, last weights."""

    metrics: list[dict[str, float]] = field(default_factory=list)
    accuracy: dict[int, dict[str, float]] = field(default_factory=dict)
    digests: list[str] = field(default_factory=list)
    files: Files = field(default_factory=dict)


def supervised(spec: RunSpec, files: Files, rows: bytes) -> Curve:
    """Train on the demonstrations in `rows` (JSONL) for the spec's steps, starting from a model's files."""
    tokenizer, slots, curve = Tokenizer(files), resolve(spec.algorithm), Curve()
    learner = Learner.create(files, spec.optimizer.model_dump(), token_budget=_TOKEN_BUDGET)
    ordered = _epochs([json.loads(line) for line in rows.splitlines()], spec.seed)
    for n in range(1, spec.steps + 1):
        shown = [_demonstration(next(ordered), tokenizer) for _ in range(spec.batch.prompts)]
        plan = supervised_plan(spec, slots, n, "")
        curve.metrics.append({**learner.forward_backward(plan, shown), **learner.optim_step(plan.lr, plan.clip_norm)})
    curve.files = {**files, "model.safetensors": learner.weights()}
    return curve


def _epochs(rows: list[dict[str, Any]], seed: int) -> Iterator[dict[str, Any]]:
    epoch = 0
    while True:
        yield from (rows[place] for place in np.random.default_rng([seed, epoch]).permutation(len(rows)))
        epoch += 1


def _demonstration(row: dict[str, Any], tokenizer: Tokenizer) -> Trajectory:
    completion = [*tokenizer.encode(row["completion"]), tokenizer.eos_id]
    prompt = tokenizer.prompt_ids([{"role": "user", "content": row["prompt"]}])
    call = _call(prompt, completion, [], "stop", row["completion"])
    return Trajectory(0, 0, 0, {}, "", row, [call], [], "ok", None, None)


def _call(prompt: list[int], ids: list[int], logp: list[float], reason: str, text: str) -> Call:
    return Call(0, prompt, ids, logp, reason, [VersionSpan("", len(ids))], text, [True] * len(ids))


class Reinforcement:
    """A run that learns from rewards, moved on step by step, from its start or from a snapshot after a step."""

    def __init__(self, spec: RunSpec, files: Files, snapshot: Files | None = None, committed: int = 0) -> None:
        self.spec, self.curve, self._committed = spec, Curve(files=files), committed
        self._slots, self._tokenizer = resolve(spec.algorithm), Tokenizer(files)
        begin = Learner.create if snapshot is None else Learner.restore
        self._learner = begin(snapshot or files, spec.optimizer.model_dump(), token_budget=_TOKEN_BUDGET)
        version = self._version(committed)
        architecture = Checkpoint.from_files(files).architecture
        shapes = safe_shapes.measure(architecture, _SLOTS, _POSITIONS)
        self._engine = NativeEngine(architecture, shapes, _SLOTS, version)

    def run(self) -> Curve:
        """Evaluate, sample, train and load the new weights until the spec's last step."""
        self._evaluate(self._committed)
        for n in range(self._committed + 1, self.spec.steps + 1):
            self._train(n)
            if eval_due(self.spec.eval, {self.spec.steps}, n):
                self._evaluate(n)
        self.curve.files = {**self.curve.files, "model.safetensors": self._learner.weights()}
        return self.curve

    def _train(self, n: int) -> None:
        first = (n - 1) * self.spec.batch.prompts
        tasks = self._draw("train", self.spec.seed, first, self.spec.batch.prompts)
        trajectories = self._sampled("train", first, tasks, self.spec.batch.samples, self.spec.sampling.temperature)
        samples = [_row(trajectory, n - 1) for trajectory in trajectories]
        choice = choose(samples, self._slots, len(tasks), {})
        plan, metrics = rollout_plan(self.spec, self._slots, n, choice, lambda _: {})
        planned = {group.group_id for group in plan.groups}
        metrics |= self._learner.forward_backward(plan, [each for each in trajectories if each.group_id in planned])
        self.curve.metrics.append({**metrics, **self._learner.optim_step(plan.lr, plan.clip_norm)})
        self._engine.offer(self._version(n))

    def _evaluate(self, n: int) -> None:
        if self.spec.eval is None:
            return
        tasks = self._draw("held_out", self.spec.eval.seed, 0, self.spec.eval.prompts, distinct=True)
        series = {"greedy": 0.0, "sampled": 1.0}
        self.curve.accuracy[n] = {
            name: float(np.mean([each.score for each in self._sampled(f"{name} {n}", 0, tasks, 1, temperature)]))
            for name, temperature in series.items()}

    def _draw(self, split: Any, seed: int, first: int, count: int, distinct: bool = False) -> list[Task]:
        source = self.spec.task
        return streams.draw(source.environment or "", source.params, split, seed, first, count, distinct)

    def _sampled(self, purpose: str, first: int, tasks: list[Task], n: int, temperature: float) -> list[Trajectory]:
        seen = [episode(task).reset() for task in tasks]
        prompts = [self._tokenizer.prompt_ids(each.messages) for each in seen]
        sampling = Sampling(self.spec.sampling.max_tokens, temperature, stop_ids=tuple(self._tokenizer.stop_ids))
        for place, prompt in enumerate(prompts):
            name = f"{purpose}/{first + place}"
            self._engine.submit(Request(str(place), tuple(prompt), n, sampling, NoiseKey(self.spec.seed, name)))
        answers = self._drained()
        return [self._trajectory(first + place, task, seen[place], prompts[place], completion)
                for place, task in enumerate(tasks) for completion in answers[str(place)]]

    def _drained(self) -> dict[str, list[Completion]]:
        answers = []
        while self._engine.has_work:
            answers += self._engine.step()
        return {answer.request.request_id: answer.completions for answer in answers}

    def _trajectory(
        self, number: int, task: Task, seen: Observation, prompt: list[int], made: Completion
    ) -> Trajectory:
        text, item = self._tokenizer.decode(made.ids), seen.item or {}
        reason = made.finish_reason.value if made.finish_reason else ""
        return Trajectory(
            number, made.index, number, {}, task.content_hash, item, [_call(prompt, made.ids, made.logp, reason, text)],
            [], "ok", float(text.strip() == item["answer"]), None)

    def _version(self, n: int) -> FusedVersion:
        weights = self._learner.weights()
        self.curve.digests.append(hashlib.sha256(weights).hexdigest())
        checkpoint = Checkpoint.from_files({**self.curve.files, "model.safetensors": weights})
        return FusedVersion(str(n), fuse(checkpoint), self._tokenizer)


def _row(trajectory: Trajectory, version: int) -> dict[str, Any]:
    [call] = trajectory.calls
    return {"group_id": trajectory.group_id, "index": trajectory.index, "request_no": trajectory.request_no,
            "task_hash": trajectory.task_hash, "part": "", "grade_id": None, "score": trajectory.score,
            "completion_tokens": len(call.completion_ids), "finish_reason": call.finish_reason,
            "oldest": version, "source": ""}


def _write_digests(base: Path, spec: str, path: Path) -> None:
    path.write_text(_asked(spec, str(base)))


def _asked(spec: str, *arguments: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_CBWR": "AUTO,STRICT"}
    command = [sys.executable, "-m", "tests.acceptance.oracle", *arguments]
    return subprocess.run(
        command, env=environment, text=True, input=spec, capture_output=True, timeout=300, check=True).stdout


def digests(base: Path, spec: dict[str, Any]) -> list[str]:
    """Return the digest of each version that one process makes of a spec without evaluations, version 0 first.

    They are kept beside the base.
    """
    asked = _without_names(spec)
    name = f"{base.name}-oracle-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"
    return shared.once(base.with_name(name), partial(_write_digests, base, asked)).read_text().split()


def digests_from(base: Path, snapshot: Path, committed: int, spec: dict[str, Any]) -> list[str]:
    """Return the digests from version `committed` on of a run that goes on from the files of its snapshot."""
    return _asked(_without_names(spec), str(base), str(snapshot), str(committed)).split()


def _without_names(spec: dict[str, Any]) -> str:
    asked = {**spec, "name": "oracle", "eval": None, "model": {**spec["model"], "base": "oracle"}}
    return json.dumps(asked, sort_keys=True)


def _files(directory: str) -> Files:
    return {path.name: path.read_bytes() for path in Path(directory).iterdir()}


def main() -> None:
    """Run the spec of standard input; print each version's digest.

    Arguments: the directory of the base, and for a run that goes on, that of a snapshot and its number of steps.
    """
    torch.set_num_threads(1)
    base, *again = sys.argv[1:]
    begun: tuple[Files, int] | tuple[()] = (_files(again[0]), int(again[1])) if again else ()
    curve = Reinforcement(RunSpec.model_validate(json.load(sys.stdin)), _files(base), *begun).run()
    print("\n".join(curve.digests))


if __name__ == "__main__":
    main()
