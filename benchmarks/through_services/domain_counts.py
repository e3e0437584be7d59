"""Training over 1, 3 and 10 domains with equal steps and tasks, and what it gives on domains that were never trained.

    python -m benchmarks.through_services.domain_counts [--seeds 0 1 2] [--base DIR]      train, and store scores

ScaleEnv's question (arXiv 2602.06820) for tiny policies. All runs begin with one base, which can copy names and has
seen no domain (`copying`); without `--base` it is made first. A run imitates a teacher who takes a wrong tool now and
then, and goes on by GRPO, on the short packages of its domains. Each is one managed run: its first stage is supervised.
Every run has `TASKS` tasks in all. A seed has a domain that all its runs train, and further ones of its own. Held out
are other tasks of that domain, about other ids, and three domains that no run trains. Step 0 is the base itself.
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
from benchmarks.through_services import copying, domains
from benchmarks.through_services.comparison import Row, Spec
from benchmarks.through_services.session import lines
from hone.client import Client
from hone.environments.packages.package import Package

RESULT, COUNTS = RESULTS / "domain_counts.json", (1, 3, 10)
IMITATED, STEPS, CARELESS, ABREAST = 100, 112, 0.15, 2
BASE = "copying-base"
_HARNESS: dict[str, Any] = {"name": "tool_loop", "params": {"syntax": "line"}}


def main() -> None:
    """Train each number of domains for every seed, and store what each run scores."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.through_services.domain_counts", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--base", type=Path, help="directory that `copying --out` wrote")
    parser.add_argument("--out", type=Path, default=RESULT)
    args = parser.parse_args()
    began = provenance()
    with stack_run.scratch() as scratch, stack_run.embedded(
            scratch / "state", {}, {"trainer": ABREAST}) as (_, client), ThreadPoolExecutor(ABREAST) as pool:
        copied = _offer_base(client, args.base or scratch / "base", made=args.base is not None)
        _offer_domains(client, scratch, args.seeds)
        begun = [pool.submit(_trained, client, count, seed) for seed, count in product(args.seeds, COUNTS)]
        runs = list[Row]()
        for one in begun:
            runs.append(one.result())
            store(args.out, {**began, "spec": spec(COUNTS[-1], 0), "trained": domains.TRAINED, "unseen": domains.UNSEEN,
                             "tasks": domains.TASKS, "imitated": IMITATED, "careless": CARELESS, "copied": copied,
                             "runs": runs})


def trained(count: int, seed: int) -> list[str]:
    """Return the domains of a run: a run over more domains trains also those of the runs over fewer."""
    first = 3 * seed % len(domains.TRAINED)
    return [*domains.TRAINED[first:], *domains.TRAINED[:first]][:count]


def spec(count: int, seed: int) -> Spec:
    """Return the spec of a run over `count` domains, without name."""
    names = trained(count, seed)
    return {
        **_played([_source(name, f"{name}-of-{count}") for name in names]), "algorithm": "grpo", "steps": STEPS,
        "seed": seed, "model": {"base": BASE},
        "sampling": {"max_tokens": 32}, "batch": {"prompts": 16, "samples": 8},
        "optimizer": {"lr": 3e-4}, "snapshot_every": STEPS,
        "stages": [{"name": "imitate", "until": IMITATED, "algorithm": "sft", "lr": 1e-3,
                    "batch": {"prompts": 48, "samples": 1}, "task": _together([
                        {"name": name, "dataset": f"shown-{name}-of-{count}"} for name in names])}],
        "eval": {"prompts": 10, "samples": 4, "every": IMITATED, "sources": [
            _source(name, f"{name}-held-out") for name in (names[0], *domains.UNSEEN)]},
    }


def _played(sources: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if len(sources) > 1:
        return {"task": _together(sources)}
    return {"task": {key: value for key, value in sources[0].items() if key not in ("name", "harness")},
            "harness": _HARNESS}


def _together(sources: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the task of several sources, equally often; one source is the task itself."""
    if len(sources) == 1:
        return {key: value for key, value in sources[0].items() if key != "name"}
    return {"mixture": [{"weight": 1, **one} for one in sources]}


def _source(name: str, package: str) -> dict[str, Any]:
    return {"name": name, "environment": "package", "params": {"package": package, "turns": 1}, "harness": _HARNESS}


def _offer_base(client: Client, directory: Path, made: bool) -> float:
    """Add the base, which is made first unless it was; return the share of names never seen that it copies."""
    if not made:
        copying.make(directory)
    client.upload_model(BASE, directory)
    return copying.Copier(directory).copies(list(copying.fresh(copying.pieces(), 1024, 1)))


def _offer_domains(client: Client, scratch: Path, seeds: Sequence[int]) -> None:
    """Add the packages of all runs and what a teacher shows of them, and those with held-out tasks."""
    wanted = {(count, name) for seed, count in product(seeds, COUNTS) for name in trained(count, seed)}
    for count, name in sorted(wanted):
        package = domains.short_package(name, domains.TASKS // count)
        _add(client, scratch, f"{name}-of-{count}", package)
        client.upload_dataset(f"shown-{name}-of-{count}", lines(list(domains.shown(package, CARELESS))))
    for name in sorted({*(trained(1, seed)[0] for seed in seeds), *domains.UNSEEN}):
        _add(client, scratch, f"{name}-held-out", domains.short_package(name, domains.HELD_OUT, held_out=True))


def _add(client: Client, scratch: Path, name: str, package: Package) -> None:
    folder = scratch / name
    folder.mkdir()
    for file, data in package.files.items():
        (folder / file).write_bytes(data)
    client.add_package(name, folder)


def _trained(client: Client, count: int, seed: int) -> Row:
    made = client.create_run({**spec(count, seed), "name": f"{count} domains {seed}"})
    run = stack_run.wait_for_end(client, made.id)
    seconds = ((run.ended_at or run.created_at) - (run.started_at or run.created_at)).total_seconds()
    series = client.metrics(run.id).series
    scores = {name: dict(values) for name, values in series.items() if "eval/" in name}
    print(f"{run.name}: {seconds:.0f} s, {scores}", flush=True)
    return {"domains": count, "trained": trained(count, seed), "seed": seed, "wall_s": round(seconds, 1),
            "scores": scores, "reward": series.get("reward/mean", [])}


if __name__ == "__main__":
    main()
