"""Checks which rows of a run's datasets are held out for evaluation, and that both sides of the split have rows."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hone.resolution import sources, stages
from hone.resolution.sources import Source
from hone.spec.problems import Problem
from hone.spec.run import EvalSpec, RunSpec
from hone.store.disk_arrays import contained
from services.gateway.admission.task_rows import CheckedDataset, Hashes, RowFindings


def check(spec: RunSpec, rows: Sequence[CheckedDataset]) -> tuple[list[Problem], list[str]]:
    """Return the problems of a resolved spec's split, and sentences that tell how many rows are on each side.

    The driver splits by the same rule: hone.environments.tasks.RowSplit.
    """
    found = {one.at: one.findings for one in rows if not one.findings.problems}
    problems, sentences, held = list[Problem](), list[str](), list[Hashes]()
    for source in sources.held_out(spec):
        dataset = source.spec.task.dataset
        if dataset is None or source.at not in found:
            continue
        findings = found[source.at]
        tasks = findings.tasks if source.held_out_alone else findings.held
        if not len(tasks):
            problems.append(_undivided(source, findings))
        elif spec.eval is not None:
            held.append(tasks)
            sentences.append(_asked(spec.eval, dataset, len(tasks)))
    if problems or not held:
        return problems, []
    untrained, trained = _trained(spec, found, held)
    return untrained, list(dict.fromkeys([*trained, *sentences]))


def _undivided(source: Source, findings: RowFindings) -> Problem:
    rows = "1 row" if findings.rows == 1 else f"{findings.rows} rows"
    return Problem(f"{source.at}.dataset", f"{source.spec.task.dataset}, whose {rows} make {len(findings.tasks)} task",
                   "at least 2 different tasks, to train on and to hold out for evaluation; or an eval.source; "
                   "or eval: null")


def _asked(evaluation: EvalSpec, dataset: str, held: int) -> str:
    used = f"all {held}" if evaluation.prompts >= held else f"{evaluation.prompts} of {held}"
    tasks = "different held-out tasks" if held > 1 else "held-out task"
    return f"dataset {dataset!r}: each evaluation asks {used} {tasks} (eval.prompts is {evaluation.prompts})"


def _trained(
    spec: RunSpec, found: Mapping[str, RowFindings], held: Sequence[Hashes],
) -> tuple[list[Problem], list[str]]:
    problems, sentences = [], list[str]()
    for at, dataset in _datasets(spec):
        if at not in found:
            continue
        rows = found[at].rows
        left = rows - _held_rows(found[at], held)
        if not left:
            problems.append(Problem(f"{at}.dataset", f"{dataset}, with every row held out for evaluation",
                                    "a dataset with at least one row to train on"))
        held_out = f"{rows - left} {'is' if rows - left == 1 else 'are'} held out"
        sentences.append(f"dataset {dataset!r}: {left} of {rows} rows train, {held_out} for evaluation")
    return problems, list(dict.fromkeys(sentences))


def _held_rows(findings: RowFindings, held: Sequence[Hashes]) -> int:
    """Return how many rows make a task that is held out, in one of several sets."""
    begin, rows = 0, 0
    for blocks in zip(*(contained(findings.tasks, one) for one in held), strict=True):
        block = np.logical_or.reduce(blocks)
        rows += int(findings.counts[begin:begin + len(block)][block].sum())
        begin += len(block)
    return rows


def _datasets(spec: RunSpec) -> Iterator[tuple[str, str]]:
    """Yield the field and the name of each dataset whose rows train."""
    last, found = spec.stages[-1].until if spec.stages else 0, list[Source]()
    if last < spec.steps or any(stage.task == spec.task for stage in spec.stages):
        found += sources.of(spec)
    for place, stage in enumerate(spec.stages):
        if stage.task is not None:
            found += [one.inside(f"stages[{place}].") for one in sources.of(stages.stage_spec(spec, stage))]
    yield from ((one.at, one.spec.task.dataset) for one in found if one.spec.task.dataset)
