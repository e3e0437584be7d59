"""The matrix of a run as lines of a terminal."""

from collections.abc import Iterator, Sequence

from hone.client.matrix import Estimate, Matrix, MatrixCell, MatrixRow


def columns(found: Matrix) -> list[str]:
    """Return the titles of the table's columns."""
    return ["after", "step", *found.sources, "average", "held-in gain", "held-out gain", "overall gain"]


def lines(found: Matrix) -> Iterator[Sequence[str]]:
    """Yield the lines of the table, the base first. A star marks the sources that a stage trained."""
    for row in found.rows:
        yield [row.stage, str(row.step), *map(_cell, row.cells), _number(row.average), *map(interval, _gains(row))]


def below(found: Matrix) -> Iterator[str]:
    """Yield what is said below the table."""
    answers = f"{found.samples} {found.series} answer{'s' * (found.samples != 1)} to each task"
    yield f"{answers}; 95 % intervals over tasks; * trained in the stage; a gain in brackets may be none"
    for name, of in (("change since a source was trained last", found.backward),
                     ("gain before a source was trained first", found.forward)):
        if of.value is not None:
            yield f"{name}: {interval(of)}"
    if found.incomplete:
        yield "incomplete: a source has no score after a stage"


def interval(found: Estimate) -> str:
    """Return a difference with its interval; in brackets where the interval has 0 in it."""
    if found.value is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:+.3f}"
    shown = f"{found.value:+.3f} {found.low:+.3f}…{found.high:+.3f}"
    return shown if found.real else f"({shown})"


def _gains(row: MatrixRow) -> Sequence[Estimate]:
    return row.held_in, row.held_out, row.overall


def _cell(cell: MatrixCell) -> str:
    if cell.score.value is None:
        return "-"
    spread = "" if cell.score.low is None else f" {cell.score.low:.3f}…{cell.score.high:.3f}"
    return f"{cell.score.value:.3f}{'*' * cell.trained}{spread}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
