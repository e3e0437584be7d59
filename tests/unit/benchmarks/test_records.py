from dataclasses import replace

import pytest

from benchmarks.records import Record, summary
from benchmarks.workloads import WORKLOADS, shortened


def record() -> Record:
    return Record("TRL", "1 x 1", 0, step_s=[5.0, 1.0, 2.0, 3.0], rewards=[0.0, 0.5, 1.0, 1.0],
                  mean_tokens=[6.0, 6.0, 5.0, 7.0], max_tokens=[6.0, 6.0, 9.0, 6.0], idle_groups=[0.0, 0.0, 4.0, 4.0],
                  phases={"generation": [4.0, 1.0, 1.0, 2.0]})


def test_a_summary_leaves_the_warm_up_out_of_medians_and_in_the_time_to_target() -> None:
    found = summary(record(), replace(WORKLOADS["short"], warm_up=1, window=2, target=0.75))
    assert (found["step_s"], found["phases"]) == (2.0, {"generation": 1.0})
    assert (found["steps_to_target"], found["seconds_to_target"]) == (3, 8.0)
    assert (found["reward_first"], found["reward_last"]) == (0.25, 1.0)
    assert (found["mean_tokens"], found["max_tokens"], found["idle_groups"]) == (6.0, 9.0, 2.0)


def test_a_workload_without_target_says_nothing_of_one() -> None:
    assert "seconds_to_target" not in summary(record(), replace(WORKLOADS["variable"], warm_up=1))


def test_both_sides_ask_what_a_run_of_this_seed_asks() -> None:
    workload = WORKLOADS["short"]
    tasks = workload.tasks(seed=3, steps=2)
    assert len(tasks) == 64
    assert tasks[:32] == workload.tasks(seed=3, steps=1)
    assert tasks[0] != workload.tasks(seed=4, steps=1)[0]


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_every_layout_cuts_a_step_evenly(workload: object) -> None:
    assert all(workload.rows % (one.rows * one.processes) == 0 for one in workload.layouts)  # type: ignore[attr-defined]


def test_a_smoke_run_keeps_a_step_to_measure() -> None:
    assert shortened(WORKLOADS["short"], 3).warm_up == 2
    assert shortened(WORKLOADS["short"], None) is WORKLOADS["short"]
