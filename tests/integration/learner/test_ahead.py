"""Rollouts that run ahead, driven over a real Postgres: what a group that never ends holds up, and what is told of it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def test_what_expires_is_told_with_what_it_waited_for(loop: Callable[..., Loop]) -> None:
    run = loop(lambda group: group["request_no"] in (1, 3))
    assert run.go() == "succeeded"
    (told,) = events(run, "expired")
    assert told["message"] == ("1 group was not ready within the deadline: waiting for 1; "
                               "1 group was not ready within the deadline: waiting for 3")
    assert told["data"] == {"groups": [{"request_no": 1, "waited_for": "waiting for 1"},
                                       {"request_no": 3, "waited_for": "waiting for 3"}]}


def test_what_nobody_takes_is_told_so(loop: Callable[..., Loop]) -> None:
    run = loop(lambda group: group["request_no"] == 1, taken=False)
    assert run.go() == "succeeded"
    assert [event["message"] for event in events(run, "expired")] == [
        "1 group was not ready within the deadline: no rollout worker took it"]
