"""Runs on one stack: starts are taught once and shared, and equal runs are made once."""

import json
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks import stack_run
from benchmarks.through_services.comparison import Comparison, Spec, Start
from benchmarks.through_services.curves import components, curve, further
from benchmarks.through_services.starts import DATASETS, STARTS, UNTAUGHT
from hone.client import Client
from hone.client.resources import Run
from hone.environments.hashing import canonical
from hone.models import toy

Outcome = dict[str, Any]
UNTRAINED = "untrained"
"""The toy model with random weights, from which the first starts are taught."""

BATCH = 64
"""Demonstrations of a step that teaches a start."""


class Session:
    """What one benchmark asks of one stack. `abreast` runs go on at a time."""

    def __init__(self, client: Client, scratch: Path, abreast: int) -> None:
        self._client, self._scratch = client, scratch
        self._pool = ThreadPoolExecutor(abreast)
        self._starts: dict[str, Run] = {}
        self._untaught: dict[str, str] = {}
        self._uploaded = set[str]()
        self._made: dict[str, Future[Outcome]] = {}

    def begin(self, comparison: Comparison, seeds: list[int]) -> dict[str, list[Future[Outcome]]]:
        """Have a comparison's starts taught and its runs begun; return those by arm, one a seed."""
        for spec in comparison.arms.values():
            self._upload(spec["task"])
            for name in starts_of(spec):
                self._taught(name)
        return {arm: [self._begun(arm, spec, seed) for seed in seeds] for arm, spec in comparison.arms.items()}

    def starts(self) -> dict[str, Outcome]:
        """Return what became of every start: its held-out accuracy, and how it was taught."""
        specs = {name: supervised(name, STARTS[name], STARTS[name].of or UNTRAINED) for name in self._starts}
        return {name: {"spec": specs[name], "wall_s": _seconds(run), **_reached(run)}
                for name, run in self._starts.items()}

    def _begun(self, arm: str, spec: Spec, seed: int) -> Future[Outcome]:
        whole = {**spec, "seed": seed}
        key = canonical(whole)
        if key not in self._made:
            self._made[key] = self._pool.submit(self._run, {**whole, "name": f"{arm}-{seed}"})
        return self._made[key]

    def _run(self, spec: Spec) -> Outcome:
        run = stack_run.wait_for_end(self._client, self._client.create_run(self._named(spec)).id)
        series = self._client.metrics(run.id).series
        points = [asdict(point) for point in curve(series, trained_calls(spec))]
        print(f"{run.name}: {_seconds(run)} s, sampled {points[0]['sampled']:.3f} -> {points[-1]['sampled']:.3f}, "
              f"greedy {points[0]['greedy']:.3f} -> {points[-1]['greedy']:.3f}", flush=True)
        return {"seed": spec["seed"], "wall_s": _seconds(run), "points": points, "components": components(series),
                "further": further(series)}

    def _named(self, spec: Spec) -> Spec:
        """Return the spec with the runs that taught its starts in their places."""
        base = spec["model"]["base"]
        known = self._untrained(UNTAUGHT[base]) if base in UNTAUGHT else self._starts[base].id
        named = {**spec, "model": {**spec["model"], "base": known}}
        if teacher := _teacher(spec):
            role = {**spec["roles"]["teacher"], "model": self._starts[teacher].id}
            named["roles"] = {**spec["roles"], "teacher": role}
        return named

    def _taught(self, name: str) -> None:
        if name in self._starts:
            return
        start = STARTS[name]
        if start.of:
            self._taught(start.of)
        base = self._starts[start.of].id if start.of else self._untrained(start.policy)
        self._upload(start.source)
        self._client.upload_dataset(f"shown-{name}", lines(start.rows()))
        run = self._client.create_run(supervised(name, start, base))
        self._starts[name] = stack_run.wait_for_end(self._client, run.id)
        print(f"{name}: {_seconds(self._starts[name])} s, {_reached(self._starts[name])}", flush=True)

    def _upload(self, source: Mapping[str, Any]) -> None:
        """Upload the dataset of a source of tasks, once."""
        name = source.get("dataset")
        if name is not None and name not in self._uploaded:
            self._client.upload_dataset(name, lines(DATASETS[name]()))
            self._uploaded.add(name)

    def _untrained(self, policy: Mapping[str, Any]) -> str:
        """Return the name of the toy with random weights of these sizes and symbols."""
        key = canonical(dict(policy))
        if key not in self._untaught:
            name = f"{UNTRAINED}-{len(self._untaught)}" if policy else UNTRAINED
            self._untaught[key] = self._client.upload_model(name, toy.write(self._scratch / name, **policy)).name
        return self._untaught[key]


def trained_calls(spec: Spec) -> int:
    """Return as how many rollouts a sample counts: calls that are trained each by itself, and branches of its turns.

    The two continuations of a branch count as one rollout, because they begin half-way on average.
    """
    algorithm = spec.get("algorithm", {})
    builder = algorithm.get("builder", {}) if isinstance(algorithm, dict) else {}
    return int(spec.get("harness", {}).get("params", {}).get("deliberations", 1)) + int(
        builder.get("params", {}).get("branches", 0))


def supervised(name: str, start: Start, base: str) -> Spec:
    """Return the spec of the run that teaches a start."""
    return {
        "name": name, "seed": 0, "model": {"base": base}, "task": {"dataset": f"shown-{name}"}, "algorithm": "sft",
        "batch": {"prompts": BATCH, "samples": 1}, "steps": start.steps, "sampling": {"max_tokens": 8},
        "snapshot_every": 50, "optimizer": {"lr": start.lr, "schedule_params": {"warmup_steps": 10}},
        "eval": {"prompts": 256, "every": start.steps, "source": dict(start.source)},
        **start.fields,
    }


def starts_of(spec: Spec) -> list[str]:
    """Return the names of the starts that a spec needs; a run may teach a policy of random weights itself."""
    return [name for name in (str(spec["model"]["base"]), _teacher(spec)) if name and name not in UNTAUGHT]


def lines(rows: Any) -> bytes:
    """Return rows as JSONL."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _teacher(spec: Mapping[str, Any]) -> str:
    return str(spec.get("roles", {}).get("teacher", {}).get("model", ""))


def _reached(run: Run) -> dict[str, float]:
    return {figure: run.metrics[f"eval/{figure}"] for figure in ("sampled", "greedy")}


def _seconds(run: Run) -> float:
    ended: datetime = run.ended_at or run.created_at
    return round((ended - (run.started_at or run.created_at)).total_seconds(), 1)
