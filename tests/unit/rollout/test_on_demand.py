"""Waves of a group: each follows from the rewards so far and is recorded before it is sampled, and claims repeat it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from hone.api import reward_pb2
from hone.trajectory.order import Waves
from services.rollout.claims import ClaimLost
from services.rollout.waves import WaveRecord, wanted
from tests.support.rollout.episodes import GROUP

RULE = Waves(predicted=0.6, most=16, cost=1 / 256, mode="jump", bounds=(0.0, 1.0))


class Rows:
    """A group's row, and the retry of what asks for it."""

    def __init__(self, held: bool = True) -> None:
        self.held, self.waves, self.log = held, list[int](), list[str]()

    async def one(self, query: str, number: int, size: int, **_: Any) -> dict[str, int] | None:
        assert (query, number) == ("groups.add_wave", len(self.waves))
        self.waves.append(size)
        self.log.append(f"recorded {size}")
        return {"id": 1} if self.held else None

    async def until_answered(self, _: Any, __: str, ask: Callable[[], Awaitable[Any]]) -> Any:
        return await ask()


def grade(score: float | None) -> reward_pb2.Grade:
    return reward_pb2.Grade() if score is None else reward_pb2.Grade(score=score)


async def played(rows: Rows, scores: list[float | None], rule: Waves = RULE, waves: tuple[int, ...] = ()) -> list[int]:
    """Return the indices of the samples that were played, whose scores are given."""
    async def make(samples: range) -> Any:
        rows.log.append(f"played {samples.start} to {samples.stop}")
        return list(samples), {index: grade(scores[index]) for index in samples}

    order = GROUP.order.model_copy(update={"n": 4, "waves": rule})
    record: Any = WaveRecord(rows, rows)  # type: ignore[arg-type]
    episodes, grades = await record.play(replace(GROUP, order=order, waves=list(waves)), rule, make)
    assert sorted(grades) == episodes
    return list(episodes)


async def test_a_wave_is_recorded_before_it_is_sampled() -> None:
    """Worked number 2: four successes at V = 0.2 ask for ten more; then the mean is contradicted no more."""
    rows = Rows()
    assert await played(rows, [1.0] * 16) == list(range(14))
    assert rows.log[:4] == ["played 0 to 4", "recorded 10", "played 4 to 14"]


async def test_rewards_that_accept_the_prediction_end_the_group() -> None:
    rows = Rows()
    assert await played(rows, [1.0, 1.0, 0.0, 0.0]) == list(range(4))
    assert rows.waves == []


async def test_recorded_waves_are_repeated_whatever_the_rewards_say_now() -> None:
    rows = Rows()
    assert await played(rows, [1.0, 1.0, 0.0, 0.0] * 4, waves=(2, 3)) == list(range(9))
    assert rows.log == ["played 0 to 4", "played 4 to 6", "played 6 to 9"]


async def test_a_claim_that_is_lost_samples_no_further_wave() -> None:
    rows = Rows(held=False)
    with pytest.raises(ClaimLost):
        await played(rows, [1.0] * 16)
    assert rows.log == ["played 0 to 4", "recorded 10"]


@pytest.mark.parametrize(("scores", "sampled", "size"), [
    ([1.0] * 4, 4, 10), ([1.0] * 3 + [None], 4, 10), ([None] * 4, 4, 0), ([float("nan")] * 3, 4, 0), ([1.0] * 4, 14, 2),
])
def test_only_samples_with_a_score_decide_and_none_is_beyond_the_most(
    scores: list[float | None], sampled: int, size: int
) -> None:
    assert wanted(RULE, {index: grade(score) for index, score in enumerate(scores)}, sampled) == size


def test_scores_are_scaled_by_their_range() -> None:
    rule = RULE.model_copy(update={"bounds": (0.0, 10.0)})
    assert wanted(rule, {index: grade(10.0) for index in range(4)}, 4) == 10
