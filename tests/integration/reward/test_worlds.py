"""A judge that looks at environments: reward, simulation and the judge are real processes or servers."""

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
import pytest

from hone import sealing
from hone.api import reward_pb2
from hone.api.reward_pb2 import Grade, GradeItem, GradeRequest, ReverifyRequest
from hone.api.reward_pb2_grpc import RewardServiceStub
from hone.environments.sqlite import Sqlite, SqliteParams
from hone.environments.tools import ToolCall
from hone.stack import ports
from hone.store import objects
from hone.trajectory import parts
from hone.trajectory.records import Call, Step, Trajectory, VersionSpan
from tests.integration.reward.rows import Run, make_run
from tests.servers.judge import KEY, ScriptedJudge, listening
from tests.servers.service import refused_field, running

TOKEN = "the-token-of-this-stack"
OK, INFRA_ERROR = reward_pb2.GRADE_STATUS_OK, reward_pb2.GRADE_STATUS_INFRA_ERROR
TASK = {"environment": "sqlite", "params": {"rows": 6}, "seed": 3, "item": None}
JUDGE = {"type": "agent_judge", "model": "scripted", "task": "{{ item.question }}"}


@pytest.fixture(scope="module")
def judge() -> Iterator[ScriptedJudge]:
    with listening() as judge:
        yield judge


@pytest.fixture(scope="module")
def objects_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tmp_path_factory.mktemp("objects").as_uri()


@pytest.fixture(scope="module")
def reward(postgres_url: str, objects_url: str) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HONE_STACK_TOKEN", TOKEN)
        patch.setenv("HONE_SIMULATION_ADDRESS", f"127.0.0.1:{ports.pick(1)[0]}")
        with running("simulation", HONE_SIMULATION_ADDRESS=os.environ["HONE_SIMULATION_ADDRESS"]), running(
                "reward", HONE_DATABASE_URL=postgres_url, HONE_OBJECTS_URL=objects_url) as service:
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
    return json.dumps({"before": before, "after": episode.snapshot(), "task": TASK,
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


def stored(run: Run, objects_url: str, number: int, *samples: Sequence[str]) -> int:
    """Store a group as the rollout worker does: samples of a task whose policy ran statements. Returns its id."""
    [group_id] = run.groups(number)
    rows, part = list[Trajectory](), f"parts/{group_id}"
    for index, statements in enumerate(samples):
        episode = Sqlite().episode(SqliteParams(rows=6), 3, None)
        episode.reset()
        actions = [*(ToolCall("query", {"sql": statement}).action() for statement in statements), "done"]
        steps = [Step(place, place, action, [], "", episode.step(action).observation.state_hash, True)
                 for place, action in enumerate(actions)]
        calls = [Call(place, [1], [2], [-0.5], "stop", [VersionSpan("v", 1)], "done", [True], number=str(place))
                 for place in range(len(actions))]
        rows.append(Trajectory(group_id, index, number, TASK, "h", {"question": "Delete one."}, calls, steps, "ok",
                               0.25, None, "tool_loop"))
    objects.connect(objects_url).put(part, parts.encode(rows))
    for row in range(len(rows)):
        run.do("INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens,"
               " completion_tokens, finish_reason, status, score) VALUES (%s, %s, %s, %s, %s, %s, 1, 1, 'stop', 'ok',"
               " 0.25)", group_id, row, run.tenant_id, run.id, part, row)
    return group_id


def test_stored_samples_are_verified_again_by_graders_of_their_worlds(
    reward: Any, run: Run, objects_url: str, judge: ScriptedJudge,
) -> None:
    """The recorded actions are taken again. Grades stand beside the first ones, and a repeated call returns them."""
    one = stored(run, objects_url, 0, ["DELETE FROM items WHERE rowid = 1"], ["SELECT 1"])
    two = stored(run, objects_url, 1, ["DELETE FROM items"])

    def again(grader: dict[str, Any], **more: Any) -> Any:
        return reward.Reverify(ReverifyRequest(**{
            "tenant_id": run.tenant_id, "run_id": run.id, "grader_json": json.dumps(grader), **more}), timeout=60)

    looks = {**JUDGE, "task": "{{ item.question }} JUDGE: look after 5"}
    first = again(looks, limit=1)
    assert [(one.group_id, one.index, one.grade.score, one.first_score) for one in first.samples] == [
        (one, 0, 1.0, 0.25), (one, 1, 0.0, 0.25)]
    assert first.next == one
    rest = again(looks, after=first.next)
    assert [(sample.group_id, sample.grade.score, rest.next) for sample in rest.samples] == [(two, 0.0, 0)]
    asked = len(judge.asked)
    assert again(looks, limit=1) == first
    assert len(judge.asked) == asked
    kept = again({"type": "state", "unchanged": ["database"]})
    assert [sample.grade.score for sample in kept.samples] == [0.0, 1.0, 0.0]
    rows = run.all("SELECT DISTINCT regrade_no FROM grades WHERE run_id = %s", run.id)
    assert [row["regrade_no"] for row in rows] == [1]
    for wrong, code in (({"tenant_id": "another"}, grpc.StatusCode.NOT_FOUND), ({"run_id": "x"},
                        grpc.StatusCode.NOT_FOUND), ({"limit": 101}, grpc.StatusCode.INVALID_ARGUMENT)):
        with pytest.raises(grpc.RpcError) as refused:
            again(looks, **wrong)
        assert refused.value.code() is code


def test_a_world_that_went_another_way_has_no_later_grade(reward: Any, run: Run, objects_url: str) -> None:
    stored(run, objects_url, 0, ["SELECT 1"], ["INSERT INTO items SELECT 'now', strftime('%s') || randomblob(4)"],
           ["INSERT INTO items VALUES ('now', julianday('now'))"])
    found = reward.Reverify(ReverifyRequest(tenant_id=run.tenant_id, run_id=run.id, grader_json=json.dumps(
        {"type": "state", "unchanged": ["database"]})), timeout=60).samples
    assert [(one.grade.status, one.grade.grade_id > 0) for one in found] == [
        (OK, True), (OK, True), (INFRA_ERROR, False)]
    assert "world: " in found[2].grade.reasons[0]


def test_a_world_that_cannot_be_made_again_masks_its_sample(reward: Any, run: Run) -> None:
    worlds = [world("SELECT 1", state_hash="another"), world("SELECT 1", task=None), world("SELECT 1")]
    found = graded(reward, run, worlds, "Do nothing. JUDGE: look after 6")
    assert [one.status for one in found] == [INFRA_ERROR, INFRA_ERROR, OK]
    assert [one.HasField("score") for one in found] == [False, False, True]
    assert "expected another" in found[0].reasons[0]
    assert "without its task" in found[1].reasons[0]


@pytest.mark.parametrize(("task", "field"), [
    ({}, "items[0].world_json.task.environment"),
    ({"environment": "sqlite", "seed": "x"}, "items[0].world_json.task.seed"),
    ([], "items[0].world_json.task")])
def test_a_wrong_world_is_named(reward: Any, run: Run, task: Any, field: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        graded(reward, run, [world("SELECT 1", task=task)], "Do nothing.")
    assert (refused.value.code(), refused_field(refused.value)[0]) == (grpc.StatusCode.INVALID_ARGUMENT, field)
