from datetime import UTC, datetime, timedelta

import pytest

from benchmarks import overhead

START = datetime(2026, 1, 1, tzinfo=UTC)


def row(requested: float, ready: float, planned: float, committed: float) -> dict[str, datetime]:
    moments = {"requested_at": requested, "ready_at": ready, "planned_at": planned, "committed_at": committed}
    return {name: START + timedelta(seconds=second) for name, second in moments.items()}


ROWS = [row(0, 0, 0, 10), row(11, 15, 15.5, 18), row(18, 24, 24.5, 29)]


def test_stages_cut_each_step_from_commit_to_commit_and_are_averaged() -> None:
    assert overhead.stages(ROWS) == {"asked": 0.5, "rolled_out": 5.0, "planned": 0.5, "trained": 3.5}


def test_the_parts_of_a_step_are_the_whole_step() -> None:
    found = overhead.wall(overhead.stages(ROWS), {"generation": 4.0, "update": 3.0})
    assert found["step_s"] == 9.5
    assert sum(found["parts_s"].values()) == pytest.approx(9.5)
    assert found["parts_s"]["rollout besides generation"] == 1.0
    assert found["shares"]["other"] == pytest.approx(0.0)
    assert found["outside"] == pytest.approx(1 - 7.0 / 9.5)


def test_processor_time_is_what_was_used_between_two_readings_by_step() -> None:
    first = overhead.Reading(2, {"driver-0": 1.0, "trainer-0": 5.0}, 0.0)
    last = overhead.Reading(6, {"driver-0": 2.0, "trainer-0": 12.0}, 0.0)
    found = overhead.cpu(first, last, {"generation": 0.5, "update": 1.0})
    assert found["by_process_s"] == {"driver-0": 0.25, "trainer-0": 1.75}
    assert (found["step_s"], found["outside"]) == (2.0, 0.25)


def test_reading_samples_is_no_arithmetic() -> None:
    series = {"trainer/forward_backward_s": [(1, 2.0), (2, 3.0)], "trainer/optim_step_s": [(1, 0.5), (2, 0.5)],
              "storage/read_s": [(1, 0.25), (2, 0.5)]}
    assert overhead.updates(series) == [2.25, 3.0]
