"""Rollouts that run ahead, driven over a real Postgres: how long a group that never ends is waited for, and its event.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.integration.learner.loop import Loop, Row, chance

PROMPTS, AHEAD = 4, 2
Stuck = Callable[[Row], bool]


def answered(group: Row, index: int) -> tuple[str, float, str]:
    return "1", float(chance(group, index) < 0.5), "ok"


@pytest.fixture
def loop(postgres_url: str, postgres_owner_url: str, tmp_path: Path) -> Callable[..., Loop]:
    def made(stuck: Stuck, answer: Any = answered, taken: bool = True, **spec: Any) -> Loop:
        return Loop(postgres_url, postgres_owner_url, tmp_path, answer, stuck, taken, **{
            "algorithm": "grpo", "max_staleness": AHEAD, "batch": {"prompts": PROMPTS, "samples": 4}, "steps": 6,
            **spec})
    return made


def events(loop: Loop, kind: str) -> list[Row]:
    return loop.all("SELECT step, message, data FROM events WHERE run_id = %s AND kind = %s ORDER BY id",
                    loop.rows.run_id, kind)


def test_expired_groups_are_reported_with_the_reason_of_their_waiting(loop: Callable[..., Loop]) -> None:
    run = loop(lambda group: group["request_no"] in (1, 3))
    assert run.go() == "succeeded"
    (event,) = events(run, "expired")
    assert event["message"] == ("1 group was not ready within the deadline: waiting for 1; "
                               "1 group was not ready within the deadline: waiting for 3")
    assert event["data"] == {"groups": [{"request_no": 1, "waited_for": "waiting for 1"},
                                       {"request_no": 3, "waited_for": "waiting for 3"}]}


def test_a_group_that_no_worker_takes_is_reported_as_such(loop: Callable[..., Loop]) -> None:
    run = loop(lambda group: group["request_no"] == 1, taken=False)
    assert run.go() == "succeeded"
    assert [event["message"] for event in events(run, "expired")] == [
        "1 group was not ready within the deadline: no rollout worker took it"]


@pytest.mark.parametrize("restarts", [False, True])
def test_an_evaluation_ends_without_the_answers_that_never_end(loop: Callable[..., Loop], restarts: bool) -> None:
    run = loop(lambda group: group["purpose"] == "eval" and group["step"] == 2 and group["request_no"] % 3 == 0,
               answer=lambda *_: ("1", 1.0, "ok"), eval={"prompts": 3, "every": 2})
    assert run.go(restarts) == "succeeded"
    found = run.all("SELECT step, name, value FROM metrics WHERE run_id = %s AND name LIKE 'eval/%%' ORDER BY 1, 2",
                    run.rows.run_id)
    assert [(row["step"], row["name"], row["value"]) for row in found] == [
        (step, f"eval/{name}", value) for step in (0, 2, 4, 6)
        for name, value in (("greedy", 1.0), ("masked", 2.0 if step == 2 else 0.0), ("sampled", 1.0))]
    assert [(event["step"], event["message"]) for event in events(run, "expired")] == [
        (2, "held-out answers after step 2: 1 group was not ready within the deadline: waiting for 6; "
            "1 group was not ready within the deadline: waiting for 9")]


@pytest.mark.parametrize("restarts", [False, True])
def test_an_evaluation_of_which_nothing_came_is_not_asked_for_again(
    loop: Callable[..., Loop], restarts: bool,
) -> None:
    run = loop(lambda group: group["purpose"] == "eval" and group["step"] == 0, eval={"prompts": 3, "every": 6})
    assert run.go(restarts) == "succeeded"
    assert run.one("SELECT count(*) FROM groups WHERE run_id = %s AND purpose = 'eval' AND step = 0",
                   run.rows.run_id) == 6
    assert [event["message"] for event in events(run, "evaluated")][:1] == [
        "held-out accuracy after step 0: unknown, no answer has a score"]


def test_a_synchronous_evaluation_is_waited_for_as_long_as_the_run_lasts(loop: Callable[..., Loop]) -> None:
    run = loop(lambda group: group["purpose"] == "eval", eval={"prompts": 3, "every": 6}, max_staleness=0)
    with pytest.raises(AssertionError, match="nobody has anything to do"):
        run.go()
    assert events(run, "expired") == []


@pytest.mark.parametrize(("bound", "ahead", "alarms"), [(0.5, AHEAD, []), (0.1, AHEAD, [1, 2]), (0.1, 0, [])])
def test_the_gap_on_the_probe_is_recorded_of_the_worst_engine_and_raises_an_alarm(
    loop: Callable[..., Loop], postgres_owner_url: str, bound: float, ahead: int, alarms: list[int],
) -> None:
    run = loop(lambda _: False, steps=2, gap_alarm_nats=bound, max_staleness=ahead)
    with psycopg.connect(postgres_owner_url) as connection:
        for engine, gap in (("near", 0.1), ("far", 0.2), ("unprobed", None)):
            connection.execute("INSERT INTO engines (id, address, kind) VALUES (%s, '', 'native')",
                               (f"{run.rows.run_id} {engine}",))
            connection.execute(
                "INSERT INTO engine_models (engine_id, model_id, gap_mean, gap_max) VALUES (%s, %s, %s, %s)",
                (f"{run.rows.run_id} {engine}", run.rows.model_id, gap, gap and 2 * gap))
    assert run.go() == "succeeded"
    found = run.all("SELECT step, name, value FROM metrics WHERE run_id = %s AND name LIKE 'gap/%%' ORDER BY 1, 2",
                    run.rows.run_id)
    assert [(row["step"], row["name"], row["value"]) for row in found] == [
        (step, f"gap/probe_{name}", value) for step in (1, 2) for name, value in (("max", 0.4), ("mean", 0.2))]
    assert [event["step"] for event in events(run, "alarm")] == alarms


def test_a_gap_that_nobody_measured_is_not_recorded(loop: Callable[..., Loop]) -> None:
    run = loop(lambda _: False, steps=2)
    assert run.go() == "succeeded"
    assert run.all("SELECT name FROM metrics WHERE run_id = %s AND name LIKE 'gap/%%'", run.rows.run_id) == []


def test_with_a_filter_too_training_goes_on_beside_a_group_that_is_slow(loop: Callable[..., Loop]) -> None:
    def mostly_flat(group: Row, index: int) -> tuple[str, float, str]:
        return "1", 1.0 if group["request_no"] % 4 else float(index % 2), "ok"

    run = loop(lambda group: group["request_no"] == 1, mostly_flat, algorithm="dapo")
    assert run.go() == "succeeded"
    assert run.late == [AHEAD], "until the slow group, of version 0, would be too stale for the step after"
    assert [len(plan["groups"]) for plan in run.steps()] == [PROMPTS] * 6


@pytest.mark.parametrize("restarts", [False, True])
def test_a_run_whose_samples_are_mostly_masked_says_so_once(loop: Callable[..., Loop], restarts: bool) -> None:
    def answer(_: Row, index: int) -> tuple[str, float | None, str]:
        return ("1", None, "infra_error") if index else ("1", 1.0, "ok")

    run = loop(lambda _: False, answer, steps=3, max_staleness=0)
    assert run.go(restarts) == "succeeded"
    (event,) = events(run, "few_samples")
    assert (event["step"], event["data"]) == (1, {"of": "grpo", "left": 4, "samples": 16})
    assert "4 of 16 samples of the step are left to train on: 12 have no score (12 infra_error)" in event["message"]
