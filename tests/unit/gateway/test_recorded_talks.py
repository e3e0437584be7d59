"""The talks of an evaluation become rows that feed the same talk to another memory."""

from typing import Any

import pytest

from hone.client.memory import RecordedTalks
from hone.environments.changing_user import ChangingUser, ChangingUserEpisode, ChangingUserParams
from hone.store import objects
from hone.trajectory import parts
from hone.trajectory.records import Call, Step, Trajectory
from services.gateway import recorded_talks
from tests.support.environments.authored import made

WORLD = ChangingUser()
SMALL: dict[str, Any] = {"words": "plain", "life": {
    "variables": 2, "values": 2, "questions": 1, "required": 1, "periods": 2, "changes": 1, "rounds": 1}}
WRITTEN = made()[0]
"""A row with a life that a scripted model wrote."""


def played(group: int, params: dict[str, Any], item: dict[str, Any] | None = None, most: int = 10**6) -> Trajectory:
    """Return the sample of a policy that numbers its replies and answers 1 to each probe, of `most` actions."""
    read = ChangingUserParams.model_validate(params)
    episode = WORLD.episode(read, 7, item)
    taken, calls, steps = episode.reset(), list[Call](), list[Step]()
    left = taken.turns_left
    while left and len(steps) < most:
        probes = [one for one in taken.messages if one.get("name") in {"question", "diagnosis"}]
        for text, kind in [("1", "probe")] * len(probes) or [(f"reply {len(calls)}", "reply")]:
            calls.append(Call(len(calls), [1], [2], [], "stop", [], text, [True], kind=kind))
            after = episode.step(text)
            steps.append(Step(len(steps), len(calls) - 1, text, [], "", "", valid=True))
        taken, left = after.observation, after.observation.turns_left
    return Trajectory(
        group_id=group, index=0, request_no=0, task_hash="", calls=calls, steps=steps, status="ok", score=1.0,
        grade_id=0, item=taken.item, task={
            "environment": "changing_user", "params": params, "seed": 7, "item": item})


def replies(params: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """Return what the assistant of a row's talk says in the first period."""
    seen = WORLD.episode(ChangingUserParams.model_validate(params), 99, row).reset()
    return [one["content"] for one in seen.messages if one["role"] == "assistant"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> RecordedTalks:
    store = objects.connect(f"file://{tmp_path_factory.mktemp('objects')}")
    whole = played(1, SMALL)
    again = played(4, SMALL, {"user_seed": 7, "replies": [one.action for one in whole.steps if one.action != "1"]})
    asked = Trajectory(**{**vars(whole), "group_id": 5, "task": {**whole.task, "params": {**SMALL, "speech": "model"}}})
    store.put("part", parts.encode([whole, played(2, {}, WRITTEN), played(3, SMALL, most=1), again, asked]))
    rows = [{"group_id": group, "index": 0, "step": 4, "part": "part"} for group in range(1, 6)]
    return recorded_talks.make(store, "run_1", "greedy", [
        *rows, {"group_id": 6, "index": 0, "step": 4, "part": None},
        {"group_id": 7, "index": 0, "step": 4, "part": "deleted"}])


def test_whole_talks_are_rows_and_others_are_counted_by_their_reason(found: RecordedTalks) -> None:
    assert (found.run_id, found.step, found.series, found.truncated) == ("run_1", 4, "greedy", False)
    assert found.left_out == {"cut": 1, "recorded": 1, "words_of_model": 1, "not_stored": 2}
    drawn, written = found.rows
    assert set(drawn) == {"user_seed", "replies"}
    assert (drawn["user_seed"], written["life"]) == (7, WRITTEN["life"])


@pytest.mark.parametrize(("place", "params"), [(0, SMALL), (1, {})])
def test_a_row_plays_the_same_talk_again(found: RecordedTalks, place: int, params: dict[str, Any]) -> None:
    heard = replies(params, found.rows[place])
    assert heard
    assert heard == found.rows[place]["replies"][:len(heard)]
    read = ChangingUserParams.model_validate(params)
    again = WORLD.episode(read, 99, found.rows[place])
    own = WORLD.episode(read, 7, WRITTEN if place else None)
    assert isinstance(again, ChangingUserEpisode)
    assert isinstance(own, ChangingUserEpisode)
    assert again.world.hash == own.world.hash


def test_an_evaluation_without_samples_gives_no_row(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = objects.connect(f"file://{tmp_path_factory.mktemp('none')}")
    none = recorded_talks.make(store, "run_1", "sampled", [])
    assert (none.step, none.rows, none.left_out) == (None, [], {})
