"""The toy's task graded by its rule, and by small models of ours that were taught to judge it.

    python -m benchmarks.through_services.judged_run [--seeds 0 1 2] [--abreast 2] [--out FILE]

A judge is a toy with random weights, taught by a supervised run of Hone: one for 3600 steps, one for a third of
them, one for a twelfth. Each is checked on a labelled set, as `hone graders check` does it. Then equal runs learn the
task from one start, by the rule and by each judge. Evaluations are graded by the rule in all of them.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from benchmarks.through_services import judged, noise, sorting
from benchmarks.through_services.comparison import Spec, Start
from benchmarks.through_services.curves import Series, curve, figures
from benchmarks.through_services.session import BATCH, lines, supervised
from benchmarks.through_services.starts import STARTS
from hone.client import Client
from hone.client.check_resources import GraderCheck
from hone.client.resources import Run
from hone.models import toy

RULE = "rule"
JUDGES: Mapping[str, int] = {"thorough judge": 3600, "judge": 1200, "hasty judge": 300}
"""Steps that each judge is taught."""
STEPS, PROMPTS, SAMPLES = 64, 16, 8
_PAIRS, _LAST, _SET = 1000, 8, "judged-answers"


@dataclass(frozen=True)
class Judge:
    """A judge that was taught: the run that taught it, which is its name, and its check."""

    run: str
    taught_s: float
    check: GraderCheck

    def figures(self) -> dict[str, Any]:
        """Return what is kept of it: errors on the labelled set, also by kind."""
        by_kind = {kind: (one.fp + one.tp) / max(1, one.fp + one.tp + one.fn + one.tn)
                   for kind, one in self.check.counts.items()}
        return {"taught_s": self.taught_s, "pairs": self.check.pairs, "accepted": by_kind,
                **self.check.figures.model_dump()}


def main() -> None:
    """Teach judges, check them, train by each of them and by the rule, and store what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.through_services.judged_run", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--abreast", type=int, default=2, help="runs at a time, each with a trainer of its own")
    parser.add_argument("--out", type=Path, default=RESULTS / "judged_run.json")
    args = parser.parse_args()
    began = provenance()
    with stack_run.scratch() as scratch, stack_run.embedded(
            scratch / "state", {}, {"trainer": args.abreast}) as (_, client), ThreadPoolExecutor(args.abreast) as pool:
        client.upload_dataset(_SET, lines(judged.labelled(_PAIRS)))
        base = pool.submit(_taught, client, scratch, "careless", STARTS["careless"])
        made = {name: pool.submit(_judge, client, scratch, name, steps) for name, steps in JUDGES.items()}
        judges = {name: one.result() for name, one in made.items()}
        graders = {RULE: noise.EXACT, **{name: judged.grader(one.run) for name, one in judges.items()}}
        runs = {arm: [pool.submit(_trained, client, arm, spec(base.result()[0], grader, seed)) for seed in args.seeds]
                for arm, grader in graders.items()}
        arms = {arm: [one.result() for one in made] for arm, made in runs.items()}
    store(args.out, {**began, "judges": {name: one.figures() for name, one in judges.items()},
                     "arms": {arm: {"mean": means(raw), "raw": raw} for arm, raw in arms.items()}})


def spec(base: str, grader: Mapping[str, Any], seed: int) -> Spec:
    """Return the spec of a run from a base; arms differ in the grader alone."""
    return {
        "seed": seed, "model": {"base": base}, "task": sorting.TASK, "grader": dict(grader), "steps": STEPS,
        "algorithm": {"preset": "grpo", "aggregation": {"name": "token-mean"}},
        "batch": {"prompts": PROMPTS, "samples": SAMPLES}, "sampling": {"max_tokens": sorting.DIGITS + 2},
        "optimizer": {"lr": 4e-4}, "snapshot_every": STEPS,
        "eval": {"prompts": 256, "every": 8, "sources": [noise.HELD_OUT]}}


def means(runs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of each number over runs."""
    return {name: fmean(run[name] for run in runs) for name, value in runs[0].items()
            if isinstance(value, float | int) and name != "seed"}


def reached(series: Series) -> dict[str, float]:
    """Return what a run reached by the rule, what its grader paid at the end, and its share of masked samples."""
    points = curve(series)
    paid = [value for _, value in series["reward/mean"]][-_LAST:]
    return {**figures(points, points[-1].rollouts), "start": points[0].sampled, "paid": fmean(paid),
            "masked": sum(value for _, value in series["reward/masked"]) / points[-1].rollouts}


def _judge(client: Client, scratch: Path, name: str, steps: int) -> Judge:
    start = Start("", lambda: judged.demonstrations(BATCH * steps), steps, sorting.TASK, lr=2e-3,
                  policy=judged.POLICY, fields={"eval": None})
    run, seconds = _taught(client, scratch, name.replace(" ", "-"), start)
    check = client.check_grader(judged.grader(run), f"dataset:{_SET}")
    while not (check := client.grader_check(check.id)).ended:
        time.sleep(0.5)
    print(f"{name}: {seconds} s, {check.state} {check.reason or ''} {check.figures} {check.counts}", flush=True)
    return Judge(run, seconds, check)


def _taught(client: Client, scratch: Path, name: str, start: Start) -> tuple[str, float]:
    """Return the run that taught a model, which is the model's name, and its seconds."""
    base = client.upload_model(f"untaught-{name}", toy.write(scratch / name, **start.policy)).name
    client.upload_dataset(f"shown-{name}", lines(start.rows()))
    run = stack_run.wait_for_end(client, client.create_run(supervised(name, start, base)).id)
    return run.id, seconds_of(run)


def _trained(client: Client, arm: str, wanted: Spec) -> dict[str, Any]:
    run = stack_run.wait_for_end(client, client.create_run({**wanted, "name": f"{arm} {wanted['seed']}"}).id)
    spent = sum(one.answers for one in client.judge_spending(run.id).data)
    made = {"seed": wanted["seed"], "wall_s": seconds_of(run), "questions": spent, **reached(
        client.metrics(run.id).series)}
    print(run.name, made, flush=True)
    known = 1 - spent / (STEPS * PROMPTS * SAMPLES) if spent else 0.0
    return {**made, "known": known, "points": [vars(one) for one in curve(client.metrics(run.id).series)]}


def seconds_of(run: Run) -> float:
    """Return how long a run took."""
    return round(((run.ended_at or run.created_at) - (run.started_at or run.created_at)).total_seconds(), 1)


if __name__ == "__main__":
    main()
