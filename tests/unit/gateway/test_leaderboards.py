"""A leaderboard is made of stored answers to the tasks of a benchmark, and shown as lines and as pages."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hone.algorithms.proportions import wilson
from hone.cli import benchmarks as lines
from hone.environments.benchmarks import BENCHMARKS
from hone.resolution import resolve
from hone.spec.files import as_json
from services.gateway import leaderboards
from services.gateway.admission.examinations import WantedExamination, spec
from services.gateway.leaderboards import Prices

DESK = BENCHMARKS["desk"]
BEGUN = datetime(2026, 11, 27, tzinfo=UTC)
FREE, PRICED = Prices(0, 0, "EUR"), Prices(1.0, 2.0, "EUR")


def run(id: str, model: str = "base", **changes: Any) -> dict[str, Any]:
    wanted = WantedExamination(model=model, **changes)
    return {"id": id, "name": f"run of {model}", "spec": as_json(resolve(spec(DESK, wanted))), "base_run": None,
            "base_number": None}


def answers(run_id: str, scores: Sequence[float | None], step: int = 0, group: int = 0) -> list[dict[str, Any]]:
    return [{"run_id": run_id, "step": step, "task_hash": task, "group_id": group + place, "index": 0, "score": score,
             "created_at": BEGUN, "ready_at": BEGUN + timedelta(seconds=30), "prompt_tokens": 1000,
             "completion_tokens": 100} for place, (task, score) in enumerate(zip(DESK.by_hash, scores, strict=False))]


def parts(rows: list[dict[str, Any]], **components: float) -> list[dict[str, Any]]:
    return [{"group_id": row["group_id"], "index": 0, "components": {
        "first_pass": float(row["score"] == 1.0), "tool_calls": 4.0, "fault.malformed": 1.0,
        "failure.wrong_object": 2.0 * (row["score"] != 1.0), **components}} for row in rows]


@pytest.fixture(scope="module")
def found() -> Any:
    good = answers("run_1", [1.0] * 40 + [0.0] * 2)
    near = answers("run_2", [1.0] * 39 + [0.0] * 3, step=50, group=100)
    poor = answers("run_3", [0.5] * 42, group=200)
    half = answers("run_4", [1.0] * 20 + [None], group=300)
    given = [*half, *poor, *near, *good]
    runs = [run(f"run_{number}", f"m{number}") for number in (4, 3, 2, 1)]
    runs[1]["spec"] |= {"sampling": {"max_tokens": 7}}
    return leaderboards.make(DESK, "sampled", runs, given, parts(given), PRICED)


def test_checkpoints_are_ranked_by_their_scores_and_incomplete_ones_come_last(found: Any) -> None:
    assert [(one.model, one.rank) for one in found.standings] == [("m1", 1), ("run_2@50", 2), ("m3", 3), ("m4", None)]
    first, near, poor, half = found.standings
    assert first.score.value == pytest.approx(100 * 40 / 42)
    assert first.score.low < first.score.value < first.score.high
    assert (first.passed.low, first.passed.high) == wilson(40 / 42, 42)
    assert not near.behind.real, "one task of 42 says nothing"
    assert poor.behind.real
    assert (half.complete, half.tasks, half.masked) == (False, 20, 1)
    assert found.differing == ["max_tokens"]
    assert not found.truncated


def test_a_score_of_equal_tasks_has_an_interval_too(found: Any) -> None:
    perfect = next(one.score for one in found.standings[0].families if one.score.value == 100)
    assert perfect.low == pytest.approx(100 * wilson(1.0, 6)[0])
    assert perfect.high == 100


def test_a_checkpoint_has_its_cost_its_calls_and_its_failures(found: Any) -> None:
    first = found.standings[0]
    assert (first.cost.prompt_tokens, first.cost.seconds, first.cost.money) == (1000, 30, pytest.approx(0.0012))
    assert (first.reliability.calls, first.reliability.failed) == (4, 0.25)
    assert first.reliability.faults["malformed"] == 0.25
    assert first.failures == {"wrong_object": pytest.approx(4 / 42)}
    assert {one.name: one.tasks for one in first.families} == found.benchmark.families
    assert {one.name: one.tasks for one in first.difficulties} == found.benchmark.difficulties
    assert first.conditions["harness"] == "tool_loop"


def test_an_evaluation_is_shown_answer_by_answer() -> None:
    rows = answers("run_1", [1.0, 0.25])
    made = leaderboards.examination(DESK, [run("run_1")], rows, parts(rows), FREE)
    assert made is not None
    assert [(one.group_id, one.score, one.passed) for one in made.answers] == [(0, 100, True), (1, 25, False)]
    assert made.standing.cost.money is None
    assert leaderboards.examination(DESK, [run("run_1")], answers("run_1", [None]), [], FREE) is None


def test_lines_of_a_terminal_say_what_cannot_be_ranked(found: Any) -> None:
    shown = [lines.line(one) for one in found.standings]
    assert shown[1][5] == "2.4, may be 0"
    assert shown[2][5].startswith("45.2 (")
    assert shown[3][1] == "m4 (20 tasks alone)"
    assert "max_tokens differ" in " ".join(lines.below(found))


def test_wilsons_interval_is_that_of_the_literature() -> None:
    assert wilson(0.8, 40) == pytest.approx((0.6524, 0.8950), abs=1e-3)
    assert wilson(0.0, 10)[0] == 0.0
    with pytest.raises(ValueError, match="at least 1"):
        wilson(0.5, 0)
