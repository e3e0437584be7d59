"""The matrix of a run, made of the scores of its evaluations task by task."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hone.algorithms import transfer
from hone.algorithms.inputs import Flags, Floats
from hone.algorithms.transfer import Change
from hone.client.matrix import Estimate, Matrix, MatrixCell, MatrixRow
from hone.resolution import scores, sources
from hone.resolution.sources import Source
from hone.resolution.stages import Stage, stages
from hone.spec.run import RunSpec
from hone.store.database import Row

_MOST_DRAWN = 2**17
"""Scores of tasks in a matrix, above which it has no intervals: they would take too long."""

ByTask = Mapping[str, float]


def steps(spec: RunSpec) -> list[int]:
    """Return the steps whose evaluations are rows: the base's, and the last one of each stage that trains."""
    return [0, *(stage.last for stage in _training(spec))]


def make(run_id: str, spec: RunSpec, series: str, found: Sequence[Row]) -> Matrix:
    """Return the matrix of a run from its evaluations at these steps."""
    held_out, of = sources.held_out(spec), _training(spec)
    if spec.eval is None or not held_out:
        nothing = Estimate(value=None)
        return Matrix(run_id=run_id, series=series, samples=0, sources=[], rows=[], backward=nothing, forward=nothing,
                      incomplete=False)
    scored = {(row["step"], row["source"]): row for row in found}
    made = _Matrix(spec, of, held_out, [[scored.get((step, one.name)) for one in held_out] for step in steps(spec)])
    return Matrix(
        run_id=run_id, series=series, samples=1 if series == "greedy" else spec.eval.samples,
        sources=[_label(one) for one in held_out], rows=made.rows(),
        backward=made.estimate(transfer.backward(made.trained)), forward=made.estimate(transfer.forward(made.trained)),
        incomplete=bool(np.isnan(made.means).any()))


def _training(spec: RunSpec) -> list[Stage]:
    """Return the stages that train: none where a run evaluates its base alone."""
    return [stage for stage in stages(spec) if stage.last >= stage.first]


def _label(source: Source) -> str:
    return source.name or source.spec.task.dataset or source.spec.task.kind


@dataclass(frozen=True)
class _Evaluation:
    """The scores of one source's tasks after one stage. Tasks without a score are counted alone."""

    by_task: ByTask
    masked: int

    @classmethod
    def of(cls, row: Row | None) -> "_Evaluation":
        pairs = [] if row is None else list(zip(row["tasks"], row["scores"], strict=True))
        known = {task: float(score) for task, score in pairs if score is not None}
        return cls(known, len(pairs) - len(known))

    @property
    def scores(self) -> Floats:
        return np.array(list(self.by_task.values()), np.float64)


class _Matrix:
    """Evaluations by row and source: row 0 is the base's, row t that after stage t."""

    def __init__(
        self, spec: RunSpec, of: Sequence[Stage], held_out: Sequence[Source], found: Sequence[Sequence[Row | None]],
    ) -> None:
        self._seed, self._stages, self._sources = spec.seed, of, held_out
        self._cells = [[_Evaluation.of(row) for row in evaluated] for evaluated in found]
        self.trained: Flags = np.array([[_trains(stage, one) for one in held_out] for stage in of], np.bool_)
        self.means: Floats = np.array([[_mean(one.scores) for one in row] for row in self._cells], np.float64)
        drawn = sum(len(one.by_task) for row in self._cells for one in row)
        self._draws = transfer.DRAWS if drawn <= _MOST_DRAWN else 0

    def rows(self) -> list[MatrixRow]:
        """Return every row, the base first."""
        names = [("base", 0), *((stage.name, stage.last) for stage in self._stages)]
        return [self._row(number, name, step) for number, (name, step) in enumerate(names)]

    def _row(self, number: int, name: str, step: int) -> MatrixRow:
        changes = [of(self.trained, number) if number else [] for of in (
            transfer.held_in, transfer.held_out, transfer.overall)]
        held_in, held_out, overall = map(self.estimate, changes)
        return MatrixRow(
            stage=name, step=step, cells=[self._cell(number, place) for place in range(len(self._sources))],
            average=_known(transfer.average(self.means[number])), held_in=held_in, held_out=held_out, overall=overall)

    def _cell(self, number: int, place: int) -> MatrixCell:
        cell, base, mean = self._cells[number][place], self.means[0, place], self.means[number, place]
        top = scores.bounds(self._sources[place].spec)[1]
        reduction = transfer.relative_error_reduction(base, mean, top) if number else math.nan
        return MatrixCell(
            score=self._estimated([cell.scores]), tasks=len(cell.by_task) + cell.masked, masked=cell.masked,
            trained=bool(number and self.trained[number - 1, place]),
            gain=self.estimate([Change(place, 0, number)] if number else []), error_reduction=_known(reduction))

    def estimate(self, changes: Sequence[Change]) -> Estimate:
        """Return the mean of changes, each compared task by task where both rows have a score."""
        return self._estimated([self._differences(one) for one in changes])

    def _differences(self, change: Change) -> Floats:
        before, after = (self._cells[row][change.source].by_task for row in (change.before, change.after))
        return np.array([score - before[task] for task, score in after.items() if task in before], np.float64)

    def _estimated(self, differences: Sequence[Floats]) -> Estimate:
        found = transfer.estimate(differences, self._seed, self._draws)
        return Estimate(value=_known(found.value), low=_known(found.low), high=_known(found.high), real=found.real)


def _trains(stage: Stage, held_out: Source) -> bool:
    """Return whether a stage trains on the tasks of a source of the evaluation: by its name, or by the same tasks."""
    return any((one.name and one.name == held_out.name) or sources.same_tasks(one.spec.task, held_out.spec.task)
               for one in sources.of(stage.spec))


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _known(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)
