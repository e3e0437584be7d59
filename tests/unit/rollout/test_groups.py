"""The parts of a group's requests, calls and trajectories."""

from typing import Any, cast

import pytest

from hone.api import reward_pb2, simulation_pb2, trajectory_pb2
from hone.graders.sample import answering
from hone.harnesses.seat import Ask, Seat
from hone.trajectory.records import Call, VersionSpan
from services.rollout.branches import Branch, Episode, Made
from services.rollout.calls import FINISH_REASONS, sampling
from services.rollout.clients import STATUSES, score
from services.rollout.groups import trajectory
from services.rollout.start import GroupStart
from tests.support.rollout.groups import claim


class Stops:
    stop_ids = (2,)


def test_the_request_names_the_noise_whatever_the_attempt() -> None:
    assert claim(attempt=1).order.request == claim(attempt=9, id=5).order.request == "train/17"


def test_sampling_left_out_is_plainsampling() -> None:
    made = sampling(claim().order.sampling, Stops())  # type: ignore[arg-type]
    assert made == trajectory_pb2.Sampling(max_tokens=4, temperature=1, top_p=1, top_k=0, stop_ids=[2])


def test_greedy_is_asked_for_as_zero() -> None:
    made = sampling({"max_tokens": 4, "temperature": 0}, Stops())  # type: ignore[arg-type]
    assert made.temperature == 0


@pytest.mark.parametrize(("grader", "expected"), [
    (None, '{"type":"environment"}'), ({"type": "exact", "name": "a"}, '{"name":"a","type":"exact"}')])
def test_the_runs_grader_goes_before_the_environments(grader: dict[str, Any] | None, expected: str) -> None:
    session = simulation_pb2.Session(observation=simulation_pb2.Observation(grader_json='{"type": "environment"}'))
    assert GroupStart(claim(grader=grader), cast(Any, None), session, 0).grader.json == expected


@pytest.mark.parametrize("status", ["ok", "no_answer", "timeout_candidate", "infra_error", "judge_error",
                                    "timeout_grader", "invalid_spec"])
def test_every_status_of_the_contract_has_its_row_value(status: str) -> None:
    assert status in STATUSES.values()
    assert len(STATUSES) == 7


def test_a_masked_grade_has_no_score_and_zero_is_one() -> None:
    assert score(reward_pb2.Grade(status=reward_pb2.GRADE_STATUS_INFRA_ERROR)) is None
    assert score(reward_pb2.Grade(status=reward_pb2.GRADE_STATUS_NO_ANSWER, score=0)) == 0


def test_finish_reasons_are_the_stored_words() -> None:
    assert set(FINISH_REASONS.values()) == {"stop", "length", "abort"}


@pytest.mark.parametrize(("observation", "single"), [
    ({"turns_left": 1, "item_json": '{"answer": "a"}'}, True), ({"turns_left": 1}, True), ({"turns_left": 2}, False),
    ({"turns_left": 1, "item_json": '{"answer": "a", "verified": 0.0}'}, False),
    ({"turns_left": 1, "ask": {"role": "user"}}, False),
])
def test_an_environment_that_scores_itself_sees_the_answer_even_if_it_is_the_only_one(
    observation: dict[str, Any], single: bool
) -> None:
    session = simulation_pb2.Session(observation=simulation_pb2.Observation(**observation))
    assert GroupStart(claim(), None, session, 0).single_turn is single  # type: ignore[arg-type]


def test_the_policys_last_answer_is_graded_and_listed_though_somebody_else_spoke_last() -> None:
    calls = [made_call("policy", "a"), made_call("user", "sold")]
    start = GroupStart(claim(grader={"type": "exact"}), cast(Any, None), simulation_pb2.Session(), 0)
    seat = cast(Seat, None)
    made = [Made(cast(Ask, None), call, None, []) for call in calls]
    episode = Episode(start, 0, {"": Branch(seat, made=made)}, "{}", calls=calls, ended="done")
    assert answering(episode.calls).text == "a"
    assert answering(trajectory(episode, {}, calls, None).calls).text == "a"


def made_call(role: str, text: str) -> Call:
    return Call(index=0, role=role, prompt_ids=[1], completion_ids=[2], logp_sample=[-1.0], finish_reason="stop",
                text=text, versions=[VersionSpan("ver", 1)], train_mask=[True], engine="e")
