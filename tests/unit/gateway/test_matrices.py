"""The matrix of a run: which rows and columns it has, its gains, and what is not known."""


import pytest

from hone.cli import matrix as shown
from hone.client.matrix import Matrix
from hone.resolution import resolve
from services.gateway import matrices
from tests.support.gateway.matrices import ROWS, SORT, evaluated, sequence


def test_a_sequence_has_a_row_for_the_base_and_each_stage_with_gains_and_forgetting() -> None:
    found = matrices.make("run_1", sequence(), "sampled", ROWS)
    assert (found.sources, found.samples, found.incomplete) == (["sort", "even"], 8, False)
    assert [(row.stage, row.step) for row in found.rows] == [("base", 0), ("first", 2), ("second", 6)]
    assert [[cell.score.value for cell in row.cells] for row in found.rows] == [[0.25, 0.5], [0.75, 0.5], [0.5, 1.0]]
    assert [[cell.trained for cell in row.cells] for row in found.rows] == [
        [False, False], [True, False], [False, True]]
    first, second = found.rows[1:]
    assert (first.held_in.value, first.held_out.value, first.overall.value, first.average) == (0.5, 0, 0.25, 0.625)
    assert (second.held_in.value, second.held_out.value) == (0.5, 0.25)
    assert (found.backward.value, found.forward.value) == (-0.25, 0)
    assert found.backward.real
    assert not found.forward.real
    gain = first.cells[0].gain
    assert (gain.value, gain.low, gain.high, gain.real) == (0.5, 0.5, 0.5, True)
    assert first.cells[0].error_reduction == pytest.approx(2 / 3)
    assert found == matrices.make("run_1", sequence(), "sampled", ROWS)


def test_what_is_missing_is_null_and_left_out_of_means() -> None:
    rows = [one for one in ROWS if (one["step"], one["source"]) not in ((6, "sort"), (2, "even"))]
    rows += [evaluated(6, "sort", None), evaluated(2, "even", None, 0.5)]
    found = matrices.make("run_1", sequence(), "sampled", rows)
    sort, even = found.rows[2].cells
    assert found.incomplete
    assert (sort.score.value, sort.tasks, sort.masked, sort.gain.value) == (None, 40, 40, None)
    assert (even.score.value, found.rows[2].average, found.rows[2].held_out.value) == (1.0, 1.0, None)
    assert (found.backward.value, found.rows[1].cells[1].masked) == (None, 20)
    assert found.rows[1].held_out.value == 0


def test_a_plain_run_has_one_column_by_the_name_of_its_tasks_and_one_without_evaluation_none() -> None:
    plain = resolve({"name": "a", "model": {"base": "b"}, "steps": 2, "task": SORT})
    found = matrices.make("run_1", plain, "greedy", [evaluated(0, "", 0.5), evaluated(2, "", 1.0)])
    assert (found.sources, [row.stage for row in found.rows], found.samples) == (["sort_digits"], ["base", "grpo"], 1)
    assert (found.rows[1].held_in.value, found.rows[1].held_out.value, found.backward.value) == (0.5, None, None)
    none = matrices.make("run_1", plain.model_copy(update={"eval": None}), "greedy", [])
    assert (none.sources, none.rows, none.incomplete) == ([], [], False)


def test_a_matrix_with_very_many_scores_has_no_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "_MOST_DRAWN", 239)
    found = matrices.make("run_1", sequence(), "sampled", ROWS)
    assert (found.backward.value, found.backward.low, found.backward.real) == (-0.25, None, False)
    assert "-0.250" in " ".join(shown.below(found))


def test_a_terminal_shows_the_matrix_with_what_is_uncertain_in_brackets() -> None:
    found = matrices.make("run_1", sequence(), "sampled", ROWS)
    assert found == Matrix.model_validate_json(found.model_dump_json())
    assert shown.columns(found)[:4] == ["after", "step", "sort", "even"]
    base, first, _ = shown.lines(found)
    assert base[:2] == ["base", "0"]
    assert base[5:] == ["-", "-", "-"]
    assert first[2].startswith("0.750* 0.6")
    assert first[3].startswith("0.500 0.4")
    assert first[5] == "+0.500 +0.500…+0.500"
    assert first[6].startswith("(+0.000 -0.")
    assert "change since a source was trained last: -0.250 -0.250…-0.250" in list(shown.below(found))
