"""The matrix of a run: the scores of each source of held-out tasks after each stage, and what became of them."""

from hone.client.resources import Resource


class Estimate(Resource):
    """A mean with its 95 % interval; null where nothing is known. `real`: the interval excludes 0."""

    value: float | None
    low: float | None = None
    high: float | None = None
    real: bool = False


class MatrixCell(Resource):
    """The score of a source after a stage: the mean over its tasks, each the mean of its samples.

    `trained`: the stage trained on the same tasks. `gain` is the difference to the base, task by task, and
    `error_reduction` its share of what the base lacked to the largest score. `masked` tasks have no score.
    """

    score: Estimate
    tasks: int = 0
    masked: int = 0
    trained: bool = False
    gain: Estimate
    error_reduction: float | None = None


class MatrixRow(Resource):
    """The base, or the weights after a stage. `held_in` is the mean gain on the sources that the stage trained,
    `held_out` that on the others, `overall` that on all, `average` the mean score. A cell has the place of its source.
    """

    stage: str
    step: int
    cells: list[MatrixCell]
    average: float | None
    held_in: Estimate
    held_out: Estimate
    overall: Estimate


class Matrix(Resource):
    """Stages by sources of held-out tasks. `incomplete`: a cell has no score, maybe not yet.

    `backward` is the mean change since a source was trained last; below 0 it was forgotten. `forward` is the mean gain
    on a source before it was trained first. `samples` are the answers to each task.
    """

    run_id: str
    series: str
    samples: int
    sources: list[str]
    rows: list[MatrixRow]
    backward: Estimate
    forward: Estimate
    incomplete: bool
