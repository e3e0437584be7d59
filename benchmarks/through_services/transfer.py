"""Three sources of tasks learned together and one after the other, through the services: docs/transfer.md.

    python -m benchmarks.through_services.transfer [--seeds 0 1 2] [--out FILE]     train, and store the matrices
    python -m benchmarks.through_services.transfer --page                          write the page from what is stored

Every arm has the same base, number of steps and rollouts. The base is taught all three by one supervised run on a
mixture of demonstrations, half of which are right.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, load, store
from benchmarks.through_services import sorting
from benchmarks.through_services.comparison import Row, Spec
from benchmarks.through_services.session import lines
from hone.cli import matrix as shown
from hone.client import Client
from hone.client.matrix import Matrix
from hone.environments import streams
from hone.environments.tasks import episode
from hone.models import toy

RESULT, PAGE = RESULTS / "transfer.json", Path("docs/transfer.md")
STEPS, ABREAST, TAUGHT, BATCH = 45, 2, 150, 64
EVEN: dict[str, Any] = {"environment": "even_digits", "params": {"digits": 4}}
FOUR: dict[str, Any] = {"environment": "sort_digits", "params": {"digits": 4}}
SOURCES: Mapping[str, Mapping[str, Any]] = {"four": FOUR, "five": sorting.TASK, "even": EVEN}
ORDERS: Mapping[str, Sequence[str]] = {"four, five, even": ("four", "five", "even"),
                                       "even, five, four": ("even", "five", "four")}
_HEAD = """# Together and one after the other

Made by `python -m benchmarks.through_services.transfer`; not edited by hand. Three sources of tasks are trained by GRPO
through the services, on [mixtures](mixtures.md): `four` and `five` sort four and five digits (right or wrong), `even`
is paid the share of even digits in its answer. *joint* draws each group's task from one of the three; the others train
one source after the other, a third of the steps each. All arms have the same base, steps and rollouts. Scores are means
over held-out tasks, each of four sampled answers at temperature 1.

The model is a toy of half a million parameters: the page shows that the protocol runs and what it reports, not what
transfers at scale.
"""


def main() -> None:
    """Train every arm for every seed, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.through_services.transfer", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--page", action="store_true")
    args = parser.parse_args()
    if args.page:
        PAGE.write_text(page(load(args.out)) + "\n")
        return
    with stack_run.scratch() as scratch, stack_run.embedded(
            scratch / "state", {}, {"trainer": ABREAST}) as (_, client), ThreadPoolExecutor(ABREAST) as pool:
        base = _taught(client, scratch)
        made = {arm: [pool.submit(_trained, client, arm, {**spec, "model": {"base": base}, "seed": seed})
                      for seed in args.seeds] for arm, spec in arms().items()}
        raw = {arm: [one.result() for one in runs] for arm, runs in made.items()}
    store(args.out, {**provenance(), "arms": {arm: {"spec": spec, "raw": raw[arm]} for arm, spec in arms().items()}})


def arms() -> dict[str, Spec]:
    """Return each arm's spec, without name, base and seed."""
    mixture = [{"name": name, "weight": 1, **tasks} for name, tasks in SOURCES.items()]
    joint: Spec = {
        "task": {"mixture": mixture}, "algorithm": "grpo", "steps": STEPS, "sampling": {"max_tokens": 8},
        "batch": {"prompts": 24, "samples": 8}, "optimizer": {"lr": 3e-4}, "snapshot_every": STEPS,
        "eval": {"prompts": 64, "samples": 4, "every": STEPS}}
    third = STEPS // 3
    return {"joint": joint, **{arm: {**joint, "stages": [
        {"name": name, "until": third * (place + 1), "task": SOURCES[name]} for place, name in enumerate(order)]}
        for arm, order in ORDERS.items()}}


def _taught(client: Client, scratch: Path) -> str:
    """Teach the base and return the id of the run that did."""
    model = client.upload_model("untrained", toy.write(scratch / "untrained")).name
    some = BATCH * TAUGHT // 3
    rows_of = {"four": sorting.demonstrations(some, careless=0.5, digits=4),
               "five": sorting.demonstrations(some, careless=0.5), "even": _even(some)}
    for name, rows in rows_of.items():
        client.upload_dataset(f"shown-{name}", lines(rows))
    run = client.create_run({
        "name": "base", "model": {"base": model}, "algorithm": "sft", "steps": TAUGHT, "batch": {"prompts": BATCH},
        "task": {"mixture": [{"name": name, "dataset": f"shown-{name}"} for name in SOURCES]},
        "optimizer": {"lr": 3e-3, "schedule_params": {"warmup_steps": 10}}, "snapshot_every": 50,
        "sampling": {"max_tokens": 8}, "eval": {"prompts": 64, "every": TAUGHT, "sources": [
            {"name": f"held-{name}", **tasks} for name, tasks in SOURCES.items()]}})
    return stack_run.wait_for_end(client, run.id).id


def _even(count: int) -> Iterator[Row]:
    """Yield answers of four digits, half of which are even by chance."""
    for place, task in enumerate(streams.draw("even_digits", EVEN["params"], "train", 0, 0, count)):
        chance = random.Random(f"even {place}")
        yield {"prompt": episode(task).reset().messages[0]["content"],
               "completion": "".join(chance.choice("0123456789") for _ in range(4))}


def _trained(client: Client, arm: str, spec: Spec) -> Row:
    run = stack_run.wait_for_end(client, client.create_run({**spec, "name": f"{arm} {spec['seed']}"}).id)
    seconds = ((run.ended_at or run.created_at) - (run.started_at or run.created_at)).total_seconds()
    found = client.matrix(run.id)
    print(f"{run.name}: {seconds:.0f} s, average {found.rows[0].average} -> {found.rows[-1].average}", flush=True)
    return {"seed": spec["seed"], "wall_s": round(seconds, 1), "matrix": found.model_dump(mode="json")}


def page(kept: Mapping[str, Any]) -> str:
    """Return the page of what is stored."""
    found = {arm: [Matrix.model_validate(run["matrix"]) for run in one["raw"]] for arm, one in kept["arms"].items()}
    machine, seeds = kept["machine"], [run["seed"] for run in kept["arms"]["joint"]["raw"]]
    measured = (f"\nMeasured on {kept['date']} by `{kept['command']}`, seeds {', '.join(map(str, seeds))}, on "
                f"{machine['cores']} cores ({machine['cpu']}).\n")
    return "\n".join([_HEAD, _summary(found), measured, *(_matrix(arm, runs[0]) for arm, runs in found.items())])


def _summary(found: Mapping[str, Sequence[Matrix]]) -> str:
    head = ["arm", *(f"{name}, end" for name in SOURCES), "average, base", "average, end", "backward transfer",
            "forward transfer"]
    rows = [[arm, *(_spread([run.rows[-1].cells[place].score.value for run in runs]) for place in range(len(SOURCES))),
             _spread([run.rows[0].average for run in runs]), _spread([run.rows[-1].average for run in runs]),
             _spread([run.backward.value for run in runs], "+"), _spread([run.forward.value for run in runs], "+")]
            for arm, runs in found.items()]
    return "\n".join(["Means over seeds, with the smallest and the largest.\n", *_table(head, rows)])


def _matrix(arm: str, found: Matrix) -> str:
    """Return the first seed's matrix: scores, and gains with their intervals."""
    head = ["after", *found.sources, *(f"gain, {name}" for name in found.sources)]
    rows = [[row.stage, *(f"{cell.score.value:.3f}{'*' * cell.trained}" for cell in row.cells),
             *(shown.interval(cell.gain) for cell in row.cells)] for row in found.rows]
    note = [] if found.backward.value is None else [
        f"\nBackward transfer {shown.interval(found.backward)}, forward transfer {shown.interval(found.forward)}."]
    return "\n".join([f"\n## {arm}\n", "The first seed's matrix. A star marks what the stage trained; a gain in "
                      "brackets has 0 in its 95 % interval.\n", *_table(head, rows), *note])


def _spread(values: Sequence[float | None], sign: str = "") -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    return f"{fmean(known):{sign}.3f} ({min(known):{sign}.3f} to {max(known):{sign}.3f})"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for line in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(line)} |"


if __name__ == "__main__":
    main()
