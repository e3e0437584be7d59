"""Outcomes of real checkpoints: policies trained through the services, all of them graded on all families of prompts.

    python -m benchmarks.value_model.collect
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from benchmarks.through_services.session import lines
from benchmarks.value_model import questions
from benchmarks.value_model.policies import FURTHER, POLICIES, PROMPTS, reinforced
from hone.client import Client, every
from hone.models import toy

OUTCOMES, ABREAST = RESULTS / "value_outcomes.json", 2


def main() -> None:
    """Train every family of policies and store the outcomes of its checkpoints."""
    with stack_run.scratch() as scratch, stack_run.embedded(
            scratch / "state", {}, {"trainer": ABREAST}) as (_, client), ThreadPoolExecutor(ABREAST) as pool:
        for family in questions.ROWS:
            client.upload_dataset(f"held-{family}", lines(questions.held_out(family, PROMPTS)))
        for name, policy in POLICIES.items():
            client.upload_dataset(f"shown-{name}", lines(policy.rows()))
        runs = dict(zip(POLICIES, pool.map(lambda name: _taught(client, scratch, name), POLICIES), strict=True))
        for name, start in FURTHER.items():
            runs[name] = _ended(client, reinforced(name, runs[start]))
        prompts: dict[str, list[str]] = {}
        raw = [one for name, run in runs.items() for one in _checkpoints(client, name, run, prompts)]
    store(OUTCOMES, {**provenance(), "checkpoints": len(raw), "prompts": len(prompts),
                     "raw": {"prompts": list(prompts.values()), "checkpoints": raw}})


def _taught(client: Client, scratch: Path, name: str) -> str:
    policy = POLICIES[name]
    sizes = {"vocab_size": 128, "symbols": questions.SYMBOLS, **policy.sizes}
    base = client.upload_model(f"untrained-{name}", toy.write(scratch / f"untrained-{name}", **sizes)).name
    return _ended(client, policy.spec(name, base))


def _ended(client: Client, spec: Mapping[str, Any]) -> str:
    run = stack_run.wait_for_end(client, client.create_run(spec).id)
    begun, ended = run.started_at or run.created_at, run.ended_at or run.created_at
    reached = {family: round(run.metrics.get(f"source/{family}/eval/sampled", 0.0), 2) for family in questions.FAMILIES}
    print(f"{run.name}: {(ended - begun).total_seconds():.0f} s, {reached}", flush=True)
    return run.id


def _checkpoints(
    client: Client, policy: str, run: str, prompts: dict[str, list[str]]
) -> Iterator[dict[str, Any]]:
    """Yield the scores of each evaluated checkpoint of a run; `prompts` gets the family and the text of new prompts."""
    scores: dict[int, dict[str, float]] = defaultdict(dict)
    for found in every(client.outcomes, run_id=run, purpose="eval", limit=500):
        if found.series == "sampled":
            prompts.setdefault(found.task_hash, [found.source, found.prompt or ""])
            scores[found.step][found.task_hash] = found.score
    places = {task_hash: place for place, task_hash in enumerate(prompts)}
    for step, by_hash in sorted(scores.items()):
        yield {"policy": policy, "step": step, "scores": {str(places[one]): score for one, score in by_hash.items()}}


if __name__ == "__main__":
    main()
