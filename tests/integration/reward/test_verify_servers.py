"""A verify server gives rewards: a real reward service, a real database, and a server over HTTP that misbehaves."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hone import sealing
from hone.api import reward_pb2
from hone.api.reward_pb2 import Grade, GradeItem, GradeRequest
from hone.api.reward_pb2_grpc import RewardServiceStub
from tests.integration.reward.rows import Run, make_run
from tests.servers.service import running
from tests.servers.verifier import KEY, ScriptedVerifier, listening

TOKEN = "the-token-of-this-stack"
OK, JUDGE_ERROR, INVALID_SPEC = (
    reward_pb2.GRADE_STATUS_OK, reward_pb2.GRADE_STATUS_JUDGE_ERROR, reward_pb2.GRADE_STATUS_INVALID_SPEC)
TERMS = {"protocol": "verify", "timeout_s": 1.5, "attempts": 2}
GRADER = {"type": "verify_server", "server": "gym", "fields": {"expected": "answer"}, "components": ["exact"]}
ROW = json.dumps({"prompt": "two and two?", "answer": "four", "secret": "not sent"})


@pytest.fixture(scope="module")
def verifier() -> Iterator[ScriptedVerifier]:
    with listening() as verifier:
        yield verifier


@pytest.fixture(scope="module")
def reward(postgres_url: str) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HONE_STACK_TOKEN", TOKEN)
        with running("reward", HONE_DATABASE_URL=postgres_url) as service:
            yield RewardServiceStub(service.channel)


@pytest.fixture
def run(postgres_owner_url: str, verifier: ScriptedVerifier) -> Run:
    made = make_run(postgres_owner_url)
    made.do("INSERT INTO secrets (tenant_id, name, sealed) VALUES (%s, 'gym-key', %s)",
            made.tenant_id, sealing.sealed(TOKEN, made.tenant_id, KEY))
    for name, url, terms in (("gym", verifier.url, TERMS), ("model", verifier.url, {"attempts": 1}),
                             ("away", "http://127.0.0.1:9/gym", {**TERMS, "attempts": 1})):
        made.do("INSERT INTO judges (tenant_id, name, url, model, secret, terms)"
                " VALUES (%s, %s, %s, 'v1', 'gym-key', %s)", made.tenant_id, name, url, json.dumps(terms))
    return made


def grades(reward: Any, run: Run, outputs: list[str], group: int, **params: Any) -> list[Grade]:
    return graded(reward, run, outputs, group, {**GRADER, **params})


def graded(reward: Any, run: Run, outputs: list[str], group: int, grader: dict[str, Any]) -> list[Grade]:
    items = [GradeItem(group_id=group, index=index, item_json=ROW, output_text=output)
             for index, output in enumerate(outputs)]
    return list(reward.Grade(GradeRequest(tenant_id=run.tenant_id, run_id=run.id, items=items,
                                          grader_json=json.dumps(grader)), timeout=60).grades)


def test_a_reward_comes_with_its_components_and_what_was_sent(
    reward: Any, run: Run, verifier: ScriptedVerifier,
) -> None:
    outputs = ["<think>VERIFY: reward 1</think>four VERIFY: reward 0.25", "four VERIFY: status 503 once"]
    [first, second] = grades(reward, run, outputs, *run.groups(0))
    assert [(one.status, one.score, one.decided_by) for one in (first, second)] == [
        (OK, 0.25, "verify_server"), (OK, 1.0, "verify_server")]
    assert dict(first.components) == {"exact": 0.25, "format": 1.0}
    sent = next(one for one in verifier.asked if "reward 0.25" in json.dumps(one))
    assert sent["expected"] == "four"
    assert "secret" not in json.dumps(sent)
    assert sent["responses_create_params"]["input"] == [{"role": "user", "content": "two and two?"}]
    assert "think" not in json.dumps(sent["response"]), "what the model thought is not what it said"
    [shown] = map(json.loads, first.evidence_json)
    assert (shown["judge"], json.loads(shown["asked"][0]["content"])) == ("gym", sent)
    assert json.loads(shown["answered"]) == {"reward": 0.25, "reward_components": {"exact": 0.25, "format": 1.0}}
    assert KEY not in json.dumps(shown)
    asked = len(verifier.asked)
    [known] = grades(reward, run, outputs[:1], *run.groups(1))
    assert (known.score, len(verifier.asked)) == (0.25, asked), "an equal submission has one answer"


FAILURES = [
    ("status 500", JUDGE_ERROR, "model_grader_server_error", "(after 2 attempts): the sandbox is away"),
    ("status 422", JUDGE_ERROR, "model_grader_refusal_error", "refuses the question with status 422"),
    ("stall", JUDGE_ERROR, "model_grader_server_error", "did not answer within 1.5 s (after 2 attempts)"),
    ("garbage", JUDGE_ERROR, "model_grader_server_error", "is not a JSON object with a reward"),
    ("silent", JUDGE_ERROR, "model_grader_server_error", "is not a JSON object with a reward"),
    ("masked", JUDGE_ERROR, "model_grader_server_error", "failure_reason the session was lost"),
    ("judge", JUDGE_ERROR, "model_grader_server_error", "_ng_failure_class judge_failed"),
    ("text", JUDGE_ERROR, "model_grader_parse_error", "expected a number in reward"),
    ("true", JUDGE_ERROR, "model_grader_parse_error", "expected a number in reward"),
    ("none", JUDGE_ERROR, "model_grader_parse_error", "expected a number in reward"),
    ("nan", INVALID_SPEC, "other_error", "found nan, expected a number from 0 to 1"),
    ("part", INVALID_SPEC, "other_error", "reward_components.format: found inf"),
    ("reward 7", INVALID_SPEC, "other_error", "found 7, expected a number from 0 to 1"),
    ("reward -1", INVALID_SPEC, "other_error", "found -1, expected a number from 0 to 1")]


def test_what_is_no_reward_masks_the_sample(reward: Any, run: Run, verifier: ScriptedVerifier) -> None:
    """Also a 0 that the server marks as its own failure. The others of the group have their rewards."""
    outputs = [f"four VERIFY: {order}" for order, *_ in FAILURES]
    *failed, fine = grades(reward, run, [*outputs, "four VERIFY: reward 0.5"], *run.groups(0), components=[])
    assert (fine.status, fine.score) == (OK, 0.5)
    for (order, status, kind, words), grade in zip(FAILURES, failed, strict=True):
        assert (grade.status, grade.HasField("score"), grade.error) == (status, False, kind), order
        assert words in grade.reasons[0]
    assert (verifier.attempts["status 500"], verifier.attempts["judge"], verifier.attempts["text"]) == (6, 3, 1)
    [shown] = map(json.loads, failed[-1].evidence_json)
    assert json.loads(shown["answered"])["reward"] == -1, "why there is no score can be seen"
    [lacking] = grades(reward, run, ["four VERIFY: reward 0.5"], *run.groups(1), components=["tone"])
    assert (lacking.status, lacking.error) == (JUDGE_ERROR, "model_grader_parse_error")
    [odd] = grades(reward, run, ["four"], *run.groups(2), fields=["answer", "tone"])
    assert (odd.status, odd.error) == (INVALID_SPEC, "invalid_variable_error")


def test_a_name_of_another_protocol_or_of_nobody_is_no_server(reward: Any, run: Run) -> None:
    judge = {"type": "score_model", "name": "s", "model": "gym", "input": [
        {"role": "user", "content": "{{ sample.output_text }}"}]}
    cases = (({**GRADER, "server": "model"}, "no verify server 'model' is set"),
             ({**GRADER, "server": "away"}, "cannot be reached"),
             ({**GRADER, "server": "nobody"}, "no verify server 'nobody' is set"),
             (judge, "gym does not answer questions: found protocol verify"))
    with ThreadPoolExecutor(len(cases)) as threads:
        found = list(threads.map(lambda case, group: graded(reward, run, ["four"], group, case[0])[0],
                                 cases, run.groups(*range(len(cases)))))
    for (_, words), failed in zip(cases, found, strict=True):
        assert (failed.status, failed.HasField("score")) == (JUDGE_ERROR, False)
        assert words in failed.reasons[0]
