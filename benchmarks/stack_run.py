"""A training on the real stack: every service a process of its own, asked for over REST, read back over REST."""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import grpc

from benchmarks.records import Record
from benchmarks.workloads import Workload
from hone.client import Client, every
from hone.client.resources import ENDED, Run
from hone.rpc.client import blocking_channel
from hone.stack.embedded import Stack

PHASES = {"forward_backward": "trainer/forward_backward_s", "optim_step": "trainer/optim_step_s"}


class RunFailed(Exception):
    """The run did not succeed; the message is its reason."""


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a directory that goes with the context; the user that PostgreSQL runs as can pass it."""
    with tempfile.TemporaryDirectory(prefix="hone-bench-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def embedded(
    state: Path, settings: Mapping[str, object], counts: Mapping[str, int]
) -> Iterator[tuple[Stack, Client]]:
    """Start an embedded stack in `state` and hand out it and a client; it ends with the context."""
    with Stack(state, settings=settings, counts={"console": 0, "door": 0, **counts}) as started:
        started.wait_ready()
        kept = started.record()
        with Client(kept.gateway_url, kept.api_key) as client:
            yield started, client


def engine_channel(stack: Stack) -> grpc.Channel:
    """Open a channel to the stack's first engine."""
    kept = stack.record()
    return blocking_channel(kept.addresses["inference-0"], kept.stack_token)


def stack(state: Path, workload: Workload) -> AbstractContextManager[tuple[Stack, Client]]:
    """Return the embedded stack of a workload, as `embedded` starts it."""
    return embedded(state, {"trainer_threads": workload.trainer_threads}, {"inference": workload.engines})


def spec(workload: Workload, model: str, name: str, seed: int, skip: bool) -> dict[str, Any]:
    """Return the run spec of a workload: token mean, clipping 0.2 / 0.28, (r - mean) / (std + 1e-4), no KL term.

    Runs that run ahead correct by truncated importance sampling.
    """
    return {
        "name": name, "seed": seed, "model": {"base": model},
        "task": {"environment": workload.environment, "params": workload.params},
        "algorithm": {
            "preset": "grpo", "skip_zero_advantage": skip,
            "advantage": {"name": "grpo", "params": {"eps": 1e-4}},
            "correction": {"name": "tis" if workload.max_staleness else "none"},
            "loss": {"name": "clip_higher", "params": {"low": 0.2, "high": 0.28}},
            "aggregation": {"name": "token-mean"},
        },
        "sampling": {"max_tokens": workload.max_tokens, "temperature": 1.0},
        "batch": {"prompts": workload.prompts, "samples": workload.samples},
        "optimizer": {"lr": workload.lr, "beta1": 0.9, "beta2": 0.95, "weight_decay": 0.0, "clip_norm": 1.0},
        "steps": workload.steps, "eval": None, "snapshot_every": 10, "max_staleness": workload.max_staleness,
    }


def wait_for_end(client: Client, run_id: str, poll_s: float = 2.0) -> Run:
    """Return the run once it has succeeded. Raises RunFailed."""
    while (run := client.run(run_id)).state not in ENDED:
        time.sleep(poll_s)
    if run.state != "succeeded":
        raise RunFailed(f"run {run.name} {run.state}: {run.reason}")
    return run


def train(client: Client, workload: Workload, model: str, seed: int, skip: bool) -> Record:
    """Run a workload on the stack and return what its rows say of each step."""
    name = f"{workload.name}-{workload.max_staleness}-{'skipping' if skip else 'all'}"
    run = wait_for_end(client, client.create_run(spec(workload, model, name, seed, skip)).id)
    trainer = ("Hone, running ahead" if workload.max_staleness else "Hone") + ("" if skip else ", no skipping")
    return read_record(client, run, Record(trainer, _layout(workload), seed))


def _layout(workload: Workload) -> str:
    engines, threads = f"engines {workload.engines} x 1 thread", f"trainer 1 x {workload.trainer_threads} threads"
    return f"{engines}, {'beside' if workload.max_staleness else 'then'} {threads}"


def read_record(client: Client, run: Run, record: Record) -> Record:
    """Fill in a record from the rows of a succeeded run.

    A step's seconds are those between the commits of its version and of the one before; the base is version 0.
    """
    commits = commit_times(client, run.id)
    found = client.metrics(run.id, after_step=0).series
    series = {name: [value for _, value in points] for name, points in found.items()}
    record.setup_s = (commits[0] - (run.started_at or run.created_at)).total_seconds()
    record.step_s = [(after - before).total_seconds() for before, after in pairwise(commits)]
    record.rewards, record.mean_tokens = series["reward/mean"], series["completion/mean_tokens"]
    record.max_tokens = series["completion/max_tokens"]
    record.idle_groups = series["advantage/zero_variance_groups"]
    record.phases = {phase: series[name] for phase, name in PHASES.items() if name in series}
    return record


def commit_times(client: Client, run_id: str) -> list[datetime]:
    """Return when each version of a run's policy was committed, the base first."""
    pages = every(client.checkpoints, run_id=run_id)
    return [version.created_at for version in sorted(pages, key=lambda one: one.number) if version.state == "live"]
