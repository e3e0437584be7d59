"""Checks which rows of a run's datasets are held out for evaluation, and that both sides of the split have rows."""

from collections.abc import Iterator, Mapping, Sequence

from hone.spec.problems import Problem
from hone.spec.run import EvalSpec, RunSpec
from hone.store.disk_arrays import contained
from services.gateway.admission.task_rows import CheckedDataset, Hashes, RowFindings


def check(spec: RunSpec, rows: Sequence[CheckedDataset]) -> tuple[list[Problem], list[str]]:
    """Return the problems of a resolved spec's split, and sentences that tell how many rows are on each side.

    The driver splits by the same rule: hone.environments.tasks.RowSplit.
    """
    found = {one.at: one.findings for one in rows if not one.findings.problems}
    if spec.eval is None:
        return [], []
    at, source = ("eval.source", spec.eval.source) if spec.eval.source else ("task", spec.task)
    if source.dataset is None or at not in found:
        return [], []
    held = found[at].held if at == "task" else found[at].tasks
    if not len(held):
        return [_undivided(source.dataset, found[at])], []
    asked = _asked(spec.eval, source.dataset, len(held))
    problems, sentences = _trained(spec, found, held)
    return problems, [*sentences, asked]


def _undivided(dataset: str, findings: RowFindings) -> Problem:
    rows = "1 row" if findings.rows == 1 else f"{findings.rows} rows"
    return Problem("task.dataset", f"{dataset}, whose {rows} make {len(findings.tasks)} task", "at least 2 different "
                   "tasks, one to train on and one to hold out for evaluation; or an eval.source; or eval: null")


def _asked(evaluation: EvalSpec, dataset: str, held: int) -> str:
    used = f"all {held}" if evaluation.prompts >= held else f"{evaluation.prompts} of {held}"
    tasks = "different held-out tasks" if held > 1 else "held-out task"
    return f"dataset {dataset!r}: each evaluation asks {used} {tasks} (eval.prompts is {evaluation.prompts})"


def _trained(spec: RunSpec, found: Mapping[str, RowFindings], held: Hashes) -> tuple[list[Problem], list[str]]:
    problems, sentences = [], list[str]()
    for at, dataset in _datasets(spec):
        if at not in found:
            continue
        rows = found[at].rows
        left = rows - _held_rows(found[at], held)
        if not left:
            problems.append(Problem(f"{at}.dataset", f"{dataset}, whose every row is held out for evaluation",
                                    "a dataset with at least one row to train on"))
        held_out = f"{rows - left} {'is' if rows - left == 1 else 'are'} held out"
        sentences.append(f"dataset {dataset!r}: {left} of {rows} rows train, {held_out} for evaluation")
    return problems, list(dict.fromkeys(sentences))


def _held_rows(findings: RowFindings, held: Hashes) -> int:
    """Return how many rows make a task that is held out."""
    begin, rows = 0, 0
    for block in contained(findings.tasks, held):
        rows += int(findings.counts[begin:begin + len(block)][block].sum())
        begin += len(block)
    return rows


def _datasets(spec: RunSpec) -> Iterator[tuple[str, str]]:
    """Yield the field and the name of each dataset whose rows train."""
    last = spec.stages[-1].until if spec.stages else 0
    if spec.task.dataset and (last < spec.steps or any(stage.task == spec.task for stage in spec.stages)):
        yield "task", spec.task.dataset
    for place, stage in enumerate(spec.stages):
        if stage.task is not None and stage.task.dataset:
            yield f"stages[{place}].task", stage.task.dataset
