"""A judge that looks at environments: reward, simulation and the judge are real processes or servers."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from hone import sealing
from hone.api import reward_pb2
from hone.api.reward_pb2 import Grade, GradeItem, GradeRequest
from hone.api.reward_pb2_grpc import RewardServiceStub
from hone.environments.sqlite import Sqlite, SqliteParams
from hone.environments.tools import ToolCall
from hone.stack import ports
from tests.integration.reward.rows import Run, make_run
from tests.servers.judge import KEY, ScriptedJudge, listening
from tests.servers.service import running

TOKEN = "the-token-of-this-stack"
OK, INFRA_ERROR = reward_pb2.GRADE_STATUS_OK, reward_pb2.GRADE_STATUS_INFRA_ERROR
JUDGE = {"type": "agent_judge", "model": "scripted", "task": "{{ item.question }}"}


@pytest.fixture(scope="module")
def judge() -> Iterator[ScriptedJudge]:
    with listening() as judge:
        yield judge


@pytest.fixture(scope="module")
def reward(postgres_url: str) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HONE_STACK_TOKEN", TOKEN)
        patch.setenv("HONE_SIMULATION_ADDRESS", f"127.0.0.1:{ports.pick(1)[0]}")
        with running("simulation", HONE_SIMULATION_ADDRESS=os.environ["HONE_SIMULATION_ADDRESS"]), running(
                "reward", HONE_DATABASE_URL=postgres_url) as service:
            yield RewardServiceStub(service.channel)


@pytest.fixture
def run(postgres_owner_url: str, judge: ScriptedJudge) -> Run:
    """Return a run whose tenant has the scripted judge."""
    made = make_run(postgres_owner_url)
    made.do("INSERT INTO secrets (tenant_id, name, sealed) VALUES (%s, 'judge-key', %s)",
             made.tenant_id, sealing.sealed(TOKEN, made.tenant_id, KEY))
    made.do("INSERT INTO judges (tenant_id, name, url, model, secret, terms) VALUES "
            "(%s, 'scripted', %s, 'judge-1', 'judge-key', '{}')", made.tenant_id, judge.url)
    return made


def world(*statements: str, **changed: Any) -> str:
    """Return the world of a task whose policy ran statements, as the rollout worker sends it."""
    episode = Sqlite().episode(SqliteParams(rows=6), 3, None)
    episode.reset()
    before = episode.snapshot()
    for statement in statements:
        episode.step(ToolCall("query", {"sql": statement}).action())
    episode.step("done")
    task = {"environment": "sqlite", "params": {"rows": 6}, "seed": 3, "item": None}
    return json.dumps({"before": before, "after": episode.snapshot(), "task": task,
                       "state_hash": episode.state_hash(), **changed})


def graded(reward: Any, run: Run, worlds: list[str], question: str, number: int = 0) -> list[Grade]:
    [group_id] = run.groups(number)
    conversation = json.dumps({"calls": [{"number": "0", "text": "done"}]})
    items = [GradeItem(group_id=group_id, index=index, item_json=json.dumps({"question": question}),
                       output_text="done", conversation_json=conversation, world_json=one)
             for index, one in enumerate(worlds)]
    return list(reward.Grade(GradeRequest(
        tenant_id=run.tenant_id, run_id=run.id, grader_json=json.dumps(JUDGE), items=items), timeout=60).grades)


def test_the_judge_sees_what_is_there_and_what_was_there(reward: Any, run: Run) -> None:
    """Its own transcript is stored with the grade."""
    worlds = [world("DELETE FROM items WHERE rowid = 1"), world("SELECT 1"), world("DELETE FROM items")]
    found = graded(reward, run, worlds, "Delete one item. JUDGE: look after 5")
    assert [(one.status, one.score) for one in found] == [(OK, 1.0), (OK, 0.0), (OK, 0.0)]
    [shown] = map(json.loads, found[2].evidence_json)
    assert [message["role"] for message in shown["asked"]] == ["system", "user", "assistant", "tool"]
    assert shown["asked"][3]["content"] == "evidence 1\n0"
    assert sum(one.tokens["judge-1"] for one in found) == 4 * 120, "the three opening questions are equal"
    before = graded(reward, run, worlds, "Delete one item. JUDGE: look before 6", 1)
    assert [one.score for one in before] == [1.0, 1.0, 1.0]


def test_a_world_that_cannot_be_made_again_masks_its_sample(reward: Any, run: Run) -> None:
    worlds = [world("SELECT 1", state_hash="another"), world("SELECT 1", task={}), world("SELECT 1")]
    found = graded(reward, run, worlds, "Do nothing. JUDGE: look after 6")
    assert [one.status for one in found] == [INFRA_ERROR, INFRA_ERROR, OK]
    assert [one.HasField("score") for one in found] == [False, False, True]
    assert "expected another" in found[0].reasons[0]
    assert "without its task" in found[1].reasons[0]
