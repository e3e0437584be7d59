"""Training over 1, 3 and 10 domains with equal steps, and what it gives on domains that were never trained.

    python -m benchmarks.through_services.domain_counts [--seeds 0 1 2]      train, and store the scores

ScaleEnv's question (arXiv 2602.06820) for tiny policies. Each run begins with random weights; it imitates a teacher who
takes a wrong tool now and then, and goes on by GRPO, on the short packages of its domains. Each is one managed run: its
first stage is supervised. What is held out: tasks of a domain that all arms train, and three domains that none does.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from benchmarks.through_services import domains
from benchmarks.through_services.comparison import Row, Spec
from benchmarks.through_services.session import lines
from hone.client import Client
from hone.models import toy

RESULT, COUNTS = RESULTS / "domain_counts.json", (1, 3, 10)
IMITATED, STEPS, CARELESS, ABREAST = 200, 212, 0.15, 3
_HARNESS: dict[str, Any] = {"name": "tool_loop", "params": {"syntax": "line"}}


def main() -> None:
    """Train each number of domains for every seed, and store what each run scores."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.through_services.domain_counts", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=RESULT)
    args = parser.parse_args()
    began = provenance()
    with stack_run.scratch() as scratch, stack_run.embedded(
            scratch / "state", {}, {"trainer": ABREAST}) as (_, client), ThreadPoolExecutor(ABREAST) as pool:
        bases = _offered(client, scratch, args.seeds)
        begun = [pool.submit(_trained, client, bases[seed], count, seed) for seed, count in product(args.seeds, COUNTS)]
        runs = list[Row]()
        for one in begun:
            runs.append(one.result())
            store(args.out, {**began, "spec": spec(COUNTS[-1]), "trained": domains.TRAINED, "unseen": domains.UNSEEN,
                             "imitated": IMITATED, "careless": CARELESS, "runs": runs})


def spec(count: int) -> Spec:
    """Return the spec of a run over the first `count` domains, without name, base and seed."""
    names = domains.TRAINED[:count]
    return {
        **_played(names), "algorithm": "grpo", "steps": STEPS,
        "sampling": {"max_tokens": 32}, "batch": {"prompts": 16, "samples": 8},
        "optimizer": {"lr": 3e-4}, "snapshot_every": STEPS,
        "stages": [{"name": "imitate", "until": IMITATED, "algorithm": "sft", "lr": 3e-3,
                    "batch": {"prompts": 48, "samples": 1}, "task": _together([
                        {"name": name, "dataset": f"shown-{name}"} for name in names])}],
        "eval": {"prompts": 10, "samples": 4, "every": IMITATED, "sources": [
            _source(name) for name in (domains.TRAINED[0], *domains.UNSEEN)]},
    }


def _played(names: Sequence[str]) -> dict[str, Any]:
    return {"task": _together([_source(name) for name in names])} if len(names) > 1 else {
        "task": {key: value for key, value in _source(names[0]).items() if key not in ("name", "harness")},
        "harness": _HARNESS}


def _together(sources: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the task of several sources, equally often; one source is the task itself."""
    if len(sources) == 1:
        return {key: value for key, value in sources[0].items() if key != "name"}
    return {"mixture": [{"weight": 1, **one} for one in sources]}


def _source(name: str) -> dict[str, Any]:
    return {"name": name, "environment": "package", "params": {"package": name, "turns": 1}, "harness": _HARNESS}


def _offered(client: Client, scratch: Path, seeds: Sequence[int]) -> dict[int, str]:
    """Add each domain's package, and what a teacher shows of those that are trained. Return an untaught base a seed."""
    packages = {name: domains.short_package(name) for name in (*domains.TRAINED, *domains.UNSEEN)}
    for name, package in packages.items():
        folder = scratch / name
        folder.mkdir()
        for file, data in package.files.items():
            (folder / file).write_bytes(data)
        client.add_package(name, folder)
    for name in domains.TRAINED:
        rows = domains.shown(packages[name], domains.TASKS, CARELESS)
        client.upload_dataset(f"shown-{name}", lines(list(rows)))
    symbols = domains.symbols(list(packages.values()))
    sizes: dict[str, Any] = {"vocab_size": -(-len(symbols) // 64) * 64, "symbols": symbols}
    return {seed: client.upload_model(f"untrained-{seed}", toy.write(scratch / f"untrained-{seed}", seed, **sizes)).name
            for seed in seeds}


def _trained(client: Client, base: str, count: int, seed: int) -> Row:
    made = client.create_run({**spec(count), "name": f"{count} domains {seed}", "seed": seed, "model": {"base": base}})
    run = stack_run.wait_for_end(client, made.id)
    seconds = ((run.ended_at or run.created_at) - (run.started_at or run.created_at)).total_seconds()
    series = client.metrics(run.id).series
    scores = {name: dict(values) for name, values in series.items() if "eval/" in name}
    print(f"{run.name}: {seconds:.0f} s, {scores}", flush=True)
    return {"domains": count, "seed": seed, "wall_s": round(seconds, 1), "scores": scores,
            "reward": series.get("reward/mean", [])}


if __name__ == "__main__":
    main()
