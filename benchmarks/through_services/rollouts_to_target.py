"""Rollouts to a target accuracy on tasks of mixed difficulty: allocators and V0.5 against uniform GRPO.

    python -m benchmarks.through_services.rollouts_to_target --pilot           the baseline alone: it sets the target
    python -m benchmarks.through_services.rollouts_to_target [ARM ...] [--seeds 1 2 3]    train, and store the curves
    python -m benchmarks.through_services.rollouts_to_target --page            the page and the plot of what is stored

Every arm is a managed run on an embedded stack with the same start, rows and learning rate. The target is fixed by the
pilot, whose seed is used nowhere else. What is stored of arms and seeds that are not named stays.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, load
from benchmarks.through_services import levels, reaching, target_page
from benchmarks.through_services.comparison import Row, Spec
from benchmarks.through_services.curves import Point, curve
from benchmarks.through_services.session import lines
from hone.client import Client
from hone.models import toy

RESULT, ABREAST, PILOT = RESULTS / "rollouts_to_target.json", 2, 100
STEPS, LR, EVERY = 60, 3e-4, 2
TAUGHT, CARELESS = 800, 0.01
_EIGHT, _FOUR = {"prompts": 32, "samples": 8}, {"prompts": 64, "samples": 4}
_GRPO = {"preset": "grpo", "aggregation": {"name": "token-mean"}}


def _arm(algorithm: Mapping[str, Any] | str, batch: Mapping[str, int]) -> Spec:
    return {
        "task": {"mixture": levels.trained()}, "algorithm": algorithm, "batch": dict(batch), "steps": STEPS,
        "sampling": {"max_tokens": levels.MAX_TOKENS}, "optimizer": {"lr": LR}, "snapshot_every": STEPS,
        "eval": {"prompts": levels.HELD_OUT, "samples": 2, "every": EVERY, "sources": levels.held_out()}}


ARMS: Mapping[str, Spec] = {
    "uniform, 8": _arm(_GRPO, _EIGHT),
    "uniform, 4": _arm(_GRPO, _FOUR),
    "dynamo": _arm("dynamo", _EIGHT),
    "coba_rl": _arm("coba_rl", _EIGHT),
    "v0": _arm("v0", _EIGHT),
    "v0_5": _arm("v0_5", _FOUR),
}
"""Every arm's spec, without name, base and seed; the first is the baseline."""
BASELINE = next(iter(ARMS))


def main() -> None:
    """Run the pilot or the arms, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.through_services.rollouts_to_target",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arms", nargs="*", choices=[*ARMS, []], default=[], metavar="ARM")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--pilot", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULT)
    args = parser.parse_args()
    if args.page:
        target_page.write(load(args.out))
    elif args.pilot:
        [made] = measured([BASELINE], [PILOT])
        _keep(args.out, piloted(made))
    else:
        for made in measured(args.arms or list(ARMS), args.seeds):
            _keep(args.out, merged(load(args.out), made))


def piloted(made: Mapping[str, Any]) -> Row:
    """Return the pilot with the target that it sets."""
    [run] = made["arms"][BASELINE]["raw"]
    return {"target": reaching.target([Point(**point) for point in run["points"]]), "pilot": dict(made), "arms": {},
            "rows": {"trained": levels.TRAINED, "held_out": levels.HELD_OUT}}


def merged(kept: Mapping[str, Any], made: Mapping[str, Any]) -> Row:
    """Return what is stored with new runs, which replace those of the same arm and seed."""
    arms = dict(kept["arms"])
    for arm, found in made["arms"].items():
        new = {run["seed"] for run in found["raw"]}
        before = [run for run in arms.get(arm, {"raw": []})["raw"] if run["seed"] not in new]
        arms[arm] = {"spec": found["spec"], "raw": sorted([*before, *found["raw"]], key=lambda run: run["seed"])}
    return {**kept, **made, "arms": {arm: arms[arm] for arm in ARMS if arm in arms}}


def measured(arms: Sequence[str], seeds: Sequence[int]) -> Iterator[Row]:
    """Teach the start and train the arms on a stack; yield start, spec and runs of each arm when it is done."""
    counts, settings, known = {"trainer": ABREAST}, {"value_embedder": "hashed"}, provenance()
    with stack_run.scratch() as scratch, stack_run.embedded(
            scratch / "state", settings, counts) as (_, client), ThreadPoolExecutor(ABREAST) as pool:
        base, start = _taught(client, scratch)
        made = {arm: [pool.submit(_trained, client, arm, {**ARMS[arm], "model": {"base": base}, "seed": seed})
                      for seed in seeds] for arm in arms}
        for arm, runs in made.items():
            raw = [one.result() for one in runs]
            yield {**known, "start": start, "arms": {arm: {"spec": ARMS[arm], "raw": raw}}}


def teaching() -> Spec:
    """Return the spec of the supervised run that teaches the start, without the base."""
    return {
        "name": "start", "seed": 0, "task": {"dataset": "shown"}, "algorithm": "sft",
        "batch": {"prompts": 64, "samples": 1}, "steps": TAUGHT, "sampling": {"max_tokens": levels.MAX_TOKENS},
        "snapshot_every": TAUGHT, "optimizer": {"lr": 1e-3, "schedule_params": {"warmup_steps": 10}},
        "eval": {"prompts": levels.HELD_OUT, "samples": 4, "every": TAUGHT, "sources": levels.held_out()}}


def _taught(client: Client, scratch: Path) -> tuple[str, Row]:
    """Upload the rows and teach the start; return the id of the run that did, and the accuracy of each level."""
    model = client.upload_model("untrained", toy.write(scratch / "untrained", **levels.POLICY)).name
    client.upload_dataset("shown", lines(levels.demonstrations(64 * TAUGHT, CARELESS)))
    for name, rows in levels.datasets().items():
        client.upload_dataset(name, lines(rows))
    run = stack_run.wait_for_end(client, client.create_run({**teaching(), "model": {"base": model}}).id)
    found = reaching.by_level(client.metrics(run.id).series, _names())
    reached = {level: one["sampled"][-1] for level, one in found.items()}
    print("start:", {level: round(value, 3) for level, value in reached.items()}, flush=True)
    return run.id, {"spec": teaching(), "sampled": reached}


def _trained(client: Client, arm: str, spec: Spec) -> Row:
    run = stack_run.wait_for_end(client, client.create_run({**spec, "name": f"{arm} {spec['seed']}"}).id)
    seconds = ((run.ended_at or run.created_at) - (run.started_at or run.created_at)).total_seconds()
    series = client.metrics(run.id).series
    points = curve(series)
    print(f"{run.name}: {seconds:.0f} s, {points[-1].rollouts} rollouts, sampled {points[0].sampled:.3f} -> "
          f"{points[-1].sampled:.3f}, with signal {reaching.figures(series)['rollouts/signal_share']:.2f}", flush=True)
    return {"seed": spec["seed"], "wall_s": round(seconds, 1), "points": [asdict(point) for point in points],
            "levels": reaching.by_level(series, _names()), "figures": reaching.figures(series),
            "bands": reaching.bands(series)}


def _keep(path: Path, kept: Row) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept) + "\n")
    print(f"target {kept['target']:.3f}, arms {', '.join(kept['arms']) or 'none'}: written to {path}", flush=True)


def _names() -> list[str]:
    return [levels.name(letters) for letters in levels.LETTERS]


if __name__ == "__main__":
    main()
