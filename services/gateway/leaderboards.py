"""The leaderboard of a benchmark, made of the stored answers of evaluations."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any

import numpy as np

from hone.algorithms import transfer
from hone.algorithms.proportions import wilson
from hone.client.benchmark_resources import (
    AnswerCost,
    CallReliability,
    Examination,
    ExaminedTask,
    Leaderboard,
    Standing,
    TaskGroup,
)
from hone.client.benchmark_resources import Benchmark as BenchmarkResource
from hone.client.matrix import Estimate
from hone.environments.benchmarks import Benchmark, BenchmarkItem
from hone.environments.tools import FAULTS
from hone.spec.run import RunSpec
from hone.store.database import Row

MOST_RUNS, MOST_ANSWERS = 200, 20_000
"""Runs and answers that a leaderboard reads."""
_SEED = 0  # of the bootstrap: equal answers give equal intervals
_SHOWN = ("max_turns", "max_context", "syntax")
"""Parameters of a harness that are shown."""
_FAILURE, _FAULT, _FALSE = "failure.", "fault.", "failure.reported_but_not_done"


@dataclass(frozen=True)
class Answer:
    """One stored answer to a task of a benchmark."""

    row: Row
    item: BenchmarkItem
    components: Mapping[str, float]

    @property
    def score(self) -> float | None:
        """From 0 to 100; None: it is masked."""
        return None if self.row["score"] is None else 100 * float(self.row["score"])

    def part(self, name: str) -> float:
        """Return a component of the grade; 0 where it has none."""
        return float(self.components.get(name, 0.0))

    def parts(self, beginning: str) -> dict[str, float]:
        """Return the components that begin so, by the rest of their names, without zeros."""
        return {name.removeprefix(beginning): value for name, value in self.components.items()
                if name.startswith(beginning) and value}


@dataclass(frozen=True)
class Prices:
    """Cost of a million tokens."""

    prompt: float
    completion: float
    currency: str


def resource(benchmark: Benchmark) -> BenchmarkResource:
    """Return a benchmark as clients see it."""
    items = list(benchmark.by_hash.values())
    return BenchmarkResource(
        name=benchmark.name, environment=benchmark.environment, summary=benchmark.summary, version=benchmark.version,
        tasks=len(items), families=dict(Counter(one.family for one in items)), dataset=benchmark.dataset,
        difficulties=dict(Counter(kind for one in items for kind in one.difficulties)))


def make(
    benchmark: Benchmark, series: str, runs: Sequence[Row], answers: Sequence[Row], parts: Sequence[Row],
    prices: Prices,
) -> Leaderboard:
    """Return the leaderboard, the best first. Of runs and answers there may be one too many."""
    made = evaluations(benchmark, runs[:MOST_RUNS], answers[:MOST_ANSWERS], parts, prices)
    ranked = rank(made)
    conditions = [one.conditions for one, _ in made]
    differing = sorted({name for one in conditions for name in one if any(one[name] != of[name] for of in conditions)})
    return Leaderboard(benchmark=resource(benchmark), series=series, standings=ranked, differing=differing,
                       truncated=len(runs) > MOST_RUNS or len(answers) > MOST_ANSWERS)


def examination(
    benchmark: Benchmark, runs: Sequence[Row], answers: Sequence[Row], parts: Sequence[Row], prices: Prices,
) -> Examination | None:
    """Return the only evaluation of the answers; None where there is none."""
    made = evaluations(benchmark, runs, answers, parts, prices)
    if not made:
        return None
    ((standing, given),) = made
    order = {family: place for place, family in enumerate(resource(benchmark).families)}
    listed = sorted(given, key=lambda one: (order[one.item.family], one.item.row["seed"], one.row["index"]))
    return Examination(standing=standing, answers=[_examined(one) for one in listed])


Made = tuple[Standing, Sequence[Answer]]


def evaluations(
    benchmark: Benchmark, runs: Sequence[Row], answers: Sequence[Row], parts: Sequence[Row], prices: Prices,
) -> list[Made]:
    """Return each evaluation with its answers, without ranks. Rows of one evaluation stand together."""
    known = {(row["group_id"], row["index"]): row["components"] for row in parts}
    by_id = {row["id"]: row for row in runs}
    found = list[Made]()
    for (run_id, _), rows in groupby(answers, lambda row: (row["run_id"], row["step"])):
        own = [Answer(row, benchmark.by_hash[row["task_hash"]], known.get((row["group_id"], row["index"]), {}))
               for row in rows]
        if any(one.score is not None for one in own):
            found.append((_standing(benchmark, by_id[run_id], own, prices), own))
    return found


def rank(made: Sequence[Made]) -> list[Standing]:
    """Return the standings, the best first, each with its rank and its distance to the first."""
    ordered = sorted(made, key=lambda one: (not one[0].complete, -(one[0].score.value or 0.0)))
    if not ordered:
        return []
    best = _by_task(ordered[0][1])
    return [standing.model_copy(update={
        "rank": place if standing.complete else None, "behind": _behind(best, _by_task(answers))})
        for place, (standing, answers) in enumerate(ordered, 1)]


def _behind(best: Mapping[str, float], own: Mapping[str, float]) -> Estimate:
    return _estimate([best[task] - own[task] for task in best if task in own])


def _standing(benchmark: Benchmark, run: Row, answers: Sequence[Answer], prices: Prices) -> Standing:
    spec, scored = RunSpec.model_validate(run["spec"]), [one for one in answers if one.score is not None]
    step, tasks = answers[0].row["step"], _by_task(answers)
    ready = [one.row["ready_at"] for one in answers if one.row["ready_at"] is not None]
    return Standing(
        rank=None, model=_model(run, spec, step), run_id=run["id"], run_name=run["name"], step=step,
        evaluated_at=max(ready, default=None), complete=len(tasks) == len(benchmark.by_hash), tasks=len(tasks),
        answers=len(answers), masked=len(answers) - len(scored), score=_score(list(tasks.values())),
        passed=_passed(scored), behind=Estimate(value=None),
        families=_groups(scored, lambda item: [item.family]),
        difficulties=_groups(scored, lambda item: item.difficulties),
        reliability=_reliability(scored), cost=_cost(answers, prices),
        failures=_means(one.parts(_FAILURE) for one in scored),
        false_claims=fmean(one.part(_FALSE) > 0 for one in scored),
        collateral=fmean(one.part("collateral") for one in scored), conditions=_conditions(spec, benchmark))


def _model(run: Row, spec: RunSpec, step: int) -> str:
    """Return the name of a checkpoint: of a run's weights, or of the model that the run starts from."""
    if step:
        return f"{run['id']}@{step}"
    return spec.model.base if run["base_run"] is None else f"{run['base_run']}@{run['base_number']}"


def _conditions(spec: RunSpec, benchmark: Benchmark) -> dict[str, Any]:
    """Return other conditions of a score: how many answers there are, how long they are, how they are asked for."""
    harness = spec.harness
    own = [one for one in (spec.eval.sources or []) if one.environment == benchmark.environment] if spec.eval else []
    source = own[0] if own else (spec.eval.source if spec.eval else None) or spec.task
    if own and own[0].harness:
        harness = own[0].harness
    sampling = own[0].sampling if own and own[0].sampling else spec.sampling
    return {"samples": spec.eval.samples if spec.eval else 1, "max_tokens": sampling.max_tokens,
            "turns": source.params.get("turns"), "harness": None if harness is None else harness.name,
            "harness_params": {} if harness is None else {
                name: value for name, value in harness.params.items() if name in _SHOWN}}


def _by_task(answers: Iterable[Answer]) -> dict[str, float]:
    """Return the mean score of each task that has a score."""
    found = dict[str, list[float]]()
    for one in answers:
        if one.score is not None:
            found.setdefault(one.row["task_hash"], []).append(one.score)
    return {task: fmean(scores) for task, scores in found.items()}


def _groups(answers: Sequence[Answer], names: Callable[[BenchmarkItem], Iterable[str]]) -> list[TaskGroup]:
    """Return the tasks by family or difficulty, by name."""
    own = dict[str, list[Answer]]()
    for one in sorted(answers, key=lambda answer: (answer.item.family, answer.item.row["seed"])):
        for name in names(one.item):
            own.setdefault(name, []).append(one)
    return [TaskGroup(name=name, tasks=len(_by_task(of)), score=_score(list(_by_task(of).values())),
                      passed=_passed(of)) for name, of in sorted(own.items())]


def _passed(answers: Sequence[Answer]) -> Estimate:
    """Return the mean over tasks of the share that passed, with Wilson's interval for so many tasks."""
    by_task = dict[str, list[float]]()
    for one in answers:
        by_task.setdefault(one.row["task_hash"], []).append(one.part("first_pass"))
    if not by_task:
        return Estimate(value=None)
    share = fmean(map(fmean, by_task.values()))
    low, high = wilson(share, len(by_task))
    return Estimate(value=share, low=low, high=high)


def _reliability(answers: Sequence[Answer]) -> CallReliability:
    calls = sum(one.part("tool_calls") for one in answers)
    faults = {name: sum(one.part(f"{_FAULT}{name}") for one in answers) for name in FAULTS}
    return CallReliability(calls=calls / len(answers), failed=sum(faults.values()) / calls if calls else 0.0,
                           faults={name: count / calls if calls else 0.0 for name, count in faults.items()})


def _cost(answers: Sequence[Answer], prices: Prices) -> AnswerCost:
    prompt, completion = (fmean(one.row[name] for one in answers) for name in ("prompt_tokens", "completion_tokens"))
    begun, ended = min(one.row["created_at"] for one in answers), [
        one.row["ready_at"] for one in answers if one.row["ready_at"] is not None]
    free = not prices.prompt and not prices.completion
    money = None if free else (prompt * prices.prompt + completion * prices.completion) / 1e6
    return AnswerCost(prompt_tokens=prompt, completion_tokens=completion, money=money,
                      seconds=(max(ended) - begun).total_seconds() if ended else 0.0,
                      currency=None if free else prices.currency)


def _means(found: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each name over all mappings; a missing one counts 0."""
    each = list(found)
    sums = Counter[str]()
    for one in each:
        sums.update(one)
    return {name: value / len(each) for name, value in sorted(sums.items(), key=lambda pair: -pair[1])}


def _score(scores: Sequence[float]) -> Estimate:
    """Return a mean score from 0 to 100. Of equal scores a bootstrap has no width: a task is one trial then."""
    if len(set(scores)) != 1:
        return _estimate(scores)
    low, high = wilson(scores[0] / 100, len(scores))
    return Estimate(value=scores[0], low=100 * low, high=100 * high, real=low > 0)


def _estimate(values: Sequence[float]) -> Estimate:
    if not values:
        return Estimate(value=None)
    found = transfer.estimate([np.array(values, np.float64)], _SEED)
    return Estimate(value=found.value, low=found.low, high=found.high, real=found.real)


def _examined(one: Answer) -> ExaminedTask:
    return ExaminedTask(
        family=one.item.family, seed=one.item.row["seed"], difficulties=list(one.item.difficulties),
        group_id=one.row["group_id"], index=one.row["index"], score=one.score, passed=one.part("first_pass") > 0,
        calls=one.part("tool_calls"), failed_calls=sum(one.parts(_FAULT).values()),
        completion_tokens=one.row["completion_tokens"], failures=one.parts(_FAILURE), collateral=one.part("collateral"))
