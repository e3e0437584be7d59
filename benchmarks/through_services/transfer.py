"""Three sources of tasks learned together and one after the other, through the services: docs/measured/transfer.md.

    python -m benchmarks.through_services.transfer [NAME ...] [--seeds 0 1 2]      train, and store the matrices
    python -m benchmarks.through_services.transfer --page                          write the page from what is stored

Every arm has the same base, number of steps and rollouts. The base is taught all three by one supervised run on a
mixture of demonstrations, in half of which the teacher errs. What is stored of trios that are not named stays.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, load, store
from benchmarks.through_services.comparison import Row, Spec
from benchmarks.through_services.session import lines
from benchmarks.through_services.trios import TRIOS, Trio
from hone.cli import matrix as shown
from hone.client import Client
from hone.client.matrix import Matrix
from hone.models import toy

RESULT, PAGE, ABREAST = RESULTS / "transfer.json", Path("docs/measured/transfer.md"), 2
_HEAD = """# Together and one after the other

Made by `python -m benchmarks.through_services.transfer`; not edited by hand. Three sources of tasks are trained by GRPO
through the services, on [mixtures](../mixtures.md). *joint* draws each group's task from one of the three; the others
train one source after the other, a third of the steps each. All arms have the same base, steps and rollouts. Scores are
means over held-out tasks, each of four sampled answers at temperature 1.

The models are toys of half a million parameters: the page shows that the protocol runs and what it reports, not what
transfers at scale.
"""


def main() -> None:
    """Train every arm of the named trios for every seed, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.through_services.transfer", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*TRIOS, []], default=[], metavar="NAME")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--page", action="store_true")
    args = parser.parse_args()
    if args.page:
        PAGE.write_text(page(load(RESULT)) + "\n")
        return
    for name in args.names or TRIOS:
        kept = load(RESULT) if RESULT.exists() else {}
        store(RESULT, {**kept, name: measured(TRIOS[name], args.seeds)})


def measured(trio: Trio, seeds: Sequence[int]) -> dict[str, Any]:
    """Train every arm of a trio on a stack of its own and return specs and matrices."""
    with stack_run.scratch() as scratch, stack_run.embedded(
            scratch / "state", {}, {"trainer": ABREAST}) as (_, client), ThreadPoolExecutor(ABREAST) as pool:
        base = _taught(client, scratch, trio)
        made = {arm: [pool.submit(_trained, client, arm, {**spec, "model": {"base": base}, "seed": seed})
                      for seed in seeds] for arm, spec in trio.arms().items()}
        raw = {arm: [one.result() for one in runs] for arm, runs in made.items()}
    return {**provenance(), "arms": {arm: {"spec": spec, "raw": raw[arm]} for arm, spec in trio.arms().items()}}


def _taught(client: Client, scratch: Path, trio: Trio) -> str:
    """Teach the base and return the id of the run that did."""
    rows = trio.shown()
    model = client.upload_model("untrained", toy.write(scratch / "untrained", **trio.policy(rows))).name
    for name, some in rows.items():
        client.upload_dataset(f"shown-{name}", lines(some))
    taught = stack_run.wait_for_end(client, client.create_run({**trio.teaching(), "model": {"base": model}}).id)
    series = client.metrics(taught.id).series
    print("taught:", {name: values[-1][1] for name, values in series.items() if name.startswith("eval/")}, flush=True)
    return taught.id


def _trained(client: Client, arm: str, spec: Spec) -> Row:
    run = stack_run.wait_for_end(client, client.create_run({**spec, "name": f"{arm} {spec['seed']}"}).id)
    seconds = ((run.ended_at or run.created_at) - (run.started_at or run.created_at)).total_seconds()
    found = client.matrix(run.id)
    print(f"{run.name}: {seconds:.0f} s, average {found.rows[0].average} -> {found.rows[-1].average}", flush=True)
    return {"seed": spec["seed"], "wall_s": round(seconds, 1), "matrix": found.model_dump(mode="json")}


def page(kept: Mapping[str, Any]) -> str:
    """Return the page of what is stored."""
    sections = (f"\n## {name}\n\n{trio.about}\n\n{_section(kept.get(name))}" for name, trio in TRIOS.items())
    return "\n".join([_HEAD.rstrip(), *sections])


def _section(kept: Mapping[str, Any] | None) -> str:
    if kept is None:
        return "Not measured yet."
    found = {arm: [Matrix.model_validate(run["matrix"]) for run in one["raw"]] for arm, one in kept["arms"].items()}
    machine, seeds = kept["machine"], [run["seed"] for run in kept["arms"]["joint"]["raw"]]
    said = (f"\nMeasured on {kept['date']} by `{kept['command']}`, seeds {', '.join(map(str, seeds))}, on "
            f"{machine['cores']} cores ({machine['cpu']}).")
    return "\n".join([_summary(found), said, *(_matrix(arm, runs[0]) for arm, runs in found.items())])


def _summary(found: Mapping[str, Sequence[Matrix]]) -> str:
    names = next(iter(found.values()))[0].sources
    head = ["arm", *(f"{name}, end" for name in names), "average, base", "average, end", "backward transfer",
            "forward transfer"]
    rows = [[arm, *(_spread([run.rows[-1].cells[place].score.value for run in runs]) for place in range(len(names))),
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
    return "\n".join([f"\n### {arm}\n", "The first seed's matrix. A star marks what the stage trained; a gain in "
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
