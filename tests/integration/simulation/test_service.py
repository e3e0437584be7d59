"""The simulation service as its own process, called over gRPC."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from hone.api.simulation_pb2 import (
    SPLIT_TRAIN,
    CloseRequest,
    DrawTasksRequest,
    ExamineRequest,
    ForkRequest,
    ListEnvironmentsRequest,
    ReplayRequest,
    ResetRequest,
    RestoreRequest,
    SnapshotRequest,
    StepBatchRequest,
    StepRequest,
    VerifyRequest,
)
from hone.api.simulation_pb2_grpc import SimulationServiceStub
from hone.api.trajectory_pb2 import Task
from hone.environments.streams import draw
from hone.environments.tasks import from_proto
from tests.servers.service import Service, refused_field, running

TASK = Task(environment="sort_digits")


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running("simulation", PYTHONHASHSEED="random") as service:
        yield service


@pytest.fixture
def simulation(service: Service) -> Any:
    return SimulationServiceStub(service.channel)


def test_it_reports_its_health_and_loads_no_torch(service: Service) -> None:
    check = health_pb2.HealthCheckRequest(service="hone.v1.SimulationService")
    assert health_pb2_grpc.HealthStub(service.channel).Check(check).status == health_pb2.HealthCheckResponse.SERVING
    assert "torch" not in Path(f"/proc/{service.process.pid}/maps").read_text()


def test_a_batch_is_drawn_reset_stepped_and_closed(simulation: Any) -> None:
    drawn = simulation.DrawTasks(DrawTasksRequest(
        environment="sort_digits", params_json='{"digits": 6}', split=SPLIT_TRAIN, seed=4, first=10, count=64)).tasks
    assert [from_proto(task) for task in drawn] == draw("sort_digits", {"digits": 6}, "train", 4, 10, 64)
    sessions = simulation.Reset(ResetRequest(tasks=drawn)).sessions
    assert len({session.session_id for session in sessions}) == 64
    for session in sessions:
        seen = session.observation
        answer = "".join(sorted(seen.messages[0].content[1:-1]))
        assert json.loads(seen.item_json)["answer"] == answer
        assert json.loads(seen.grader_json) == {"type": "exact"}
        step = StepRequest(session_id=session.session_id, index=0, action=answer)
        taken = simulation.Step(step)
        assert (taken.done, taken.valid, taken.HasField("reward")) == (True, True, False)
        assert simulation.Step(step) == taken
    simulation.Close(CloseRequest(session_ids=[session.session_id for session in sessions]))
    with pytest.raises(grpc.RpcError) as gone:
        simulation.Step(StepRequest(session_id=sessions[0].session_id))
    assert gone.value.code() == grpc.StatusCode.NOT_FOUND


def test_tasks_that_follow_the_hash_seed_are_the_same_in_every_process(simulation: Any) -> None:
    request = DrawTasksRequest(environment="reasoning_gym", split=SPLIT_TRAIN, seed=4, count=8,
                               params_json='{"task": "isomorphic_strings"}')
    drawn = simulation.DrawTasks(request)
    with running("simulation", PYTHONHASHSEED="random") as other:
        assert SimulationServiceStub(other.channel).DrawTasks(request) == drawn


def test_environments_are_listed_with_the_schema_of_their_parameters(simulation: Any) -> None:
    listed = {kind.name: kind for kind in simulation.ListEnvironments(ListEnvironmentsRequest()).environments}
    assert listed.keys() == {"sort_digits", "even_digits", "sort_turns", "reasoning_gym", "sqlite", "phase_lock",
                             "sql_exploration", "skill_points", "hidden_shelf", "text_craft", "table_questions",
                             "household", "merchant_strategies", "textworld", "dataset", "dialogue",
                             "verification", "package", "desk", "changing_user", "openenv", "mcp", "verifiers",
                             "tau2"}
    assert json.loads(listed["sort_digits"].params_schema_json)["properties"]["digits"]["maximum"] == 12


@pytest.mark.parametrize(("request_", "field", "message"), [
    (DrawTasksRequest(environment="sort_digits", count=1), "split", "expected SPLIT_TRAIN or SPLIT_HELD_OUT"),
    (DrawTasksRequest(environment="sort_digit", split=SPLIT_TRAIN, count=1), "environment", "found 'sort_digit'"),
    (DrawTasksRequest(environment="sort_digits", split=SPLIT_TRAIN), "count", "found 0, expected at least 1"),
    (DrawTasksRequest(environment="sort_digits", split=SPLIT_TRAIN, count=10**6), "count", "at most 65536"),
    (DrawTasksRequest(environment="sort_digits", split=SPLIT_TRAIN, count=1, params_json="{"), "params_json", "JSON"),
    (DrawTasksRequest(environment="sort_digits", split=SPLIT_TRAIN, count=1, params_json='{"digits": 40}'),
     "params.digits", "found 40, expected less than or equal to 12"),
    (ResetRequest(tasks=[Task(environment="sort_digits"), Task(environment="dataset", item_json='{"prompt": 5}')]),
     "tasks[1].item.prompt", "found 5, expected a text"),
    (ResetRequest(tasks=[Task(environment="sort_digits", content_hash="abc")]), "tasks[0].content_hash", "abc"),
])
def test_bad_input_is_named(simulation: Any, request_: Any, field: str, message: str) -> None:
    call = simulation.DrawTasks if isinstance(request_, DrawTasksRequest) else simulation.Reset
    with pytest.raises(grpc.RpcError) as refused:
        call(request_)
    named, text = refused_field(refused.value)
    assert (named, refused.value.code()) == (field, grpc.StatusCode.INVALID_ARGUMENT)
    assert message in text


def test_it_dies_at_its_crash_point(tmp_path: Path) -> None:
    (tmp_path / "reset.mid").touch()
    with running("simulation", HONE_CRASH_DIR=str(tmp_path)) as doomed:
        with pytest.raises(grpc.RpcError):
            SimulationServiceStub(doomed.channel).Reset(ResetRequest(tasks=[TASK]), timeout=60)
        assert doomed.process.wait(60) == -signal.SIGKILL


QUERY = '{"tool": "query", "arguments": {"sql": "DELETE FROM items"}}'
WORLDS = {"sqlite": [QUERY, "0"], "textworld": ["dance", "go north"], "household": ["dance", "look"]}


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, simulation: Any) -> Any:
    """A session of an environment with several turns."""
    if request.param == "household":
        pytest.importorskip("fast_downward", reason="the household's planner is not installed (no C++ compiler)")
    [session] = simulation.Reset(ResetRequest(tasks=[Task(environment=request.param, seed=5)])).sessions
    return request.param, session


def step(session: Any, index: int, action: str) -> StepRequest:
    return StepRequest(session_id=session.session_id, index=index, action=action)


def test_a_fork_and_a_restored_snapshot_go_where_their_origin_goes(simulation: Any, world: Any) -> None:
    name, session = world
    first, second = WORLDS[name]
    simulation.Step(step(session, 0, first))
    shot = simulation.Snapshot(SnapshotRequest(session_id=session.session_id))
    fork = simulation.Fork(ForkRequest(session_id=session.session_id)).session
    restored = simulation.Restore(RestoreRequest(
        task=shot.task, state_json=shot.state_json, state_hash=shot.state_hash, next_index=shot.next_index)).session
    there = [simulation.Step(step(one, 1, second)) for one in (session, fork, restored)]
    assert there[0] == there[1] == there[2]
    assert there[0].observation.state_hash != shot.state_hash
    scores = {simulation.Verify(VerifyRequest(session_id=one.session_id)).score for one in (session, fork, restored)}
    assert scores == {json.loads(there[0].observation.item_json)["verified"]}


def test_a_snapshot_with_another_state_is_refused(simulation: Any, world: Any) -> None:
    _, session = world
    shot = simulation.Snapshot(SnapshotRequest(session_id=session.session_id))
    with pytest.raises(grpc.RpcError) as raised:
        simulation.Restore(RestoreRequest(task=shot.task, state_json=shot.state_json, state_hash="another"))
    assert raised.value.code() == grpc.StatusCode.DATA_LOSS
    for odd in ("{}", "[]", "3", "NaN", "null", '{"answer": null}', '{"typed": [5]}', '{"typed": {}, "turn": 1e999}'):
        with pytest.raises(grpc.RpcError) as raised:
            simulation.Restore(RestoreRequest(task=shot.task, state_json=odd))
        assert (refused_field(raised.value)[0], raised.value.code()) == ("state_json", grpc.StatusCode.INVALID_ARGUMENT)


def test_steps_that_go_together_have_each_its_own_end(simulation: Any, world: Any) -> None:
    name, session = world
    unknown = StepRequest(session_id="ses_unknown", index=0, action="")
    batch = StepBatchRequest(steps=[step(session, 0, WORLDS[name][0]), unknown, step(session, 7, "late")])
    taken, lost, refused = simulation.StepBatch(batch).outcomes
    assert taken.taken.observation.turns_left == session.observation.turns_left - 1
    assert "unknown here" in lost.lost
    assert "expected 0 to 1" in refused.refused
    assert simulation.StepBatch(batch).outcomes[0] == taken, "the same index is the same step"


def test_each_rules_score_comes_beside_the_turns_reward(simulation: Any) -> None:
    graded, plain = (Task(environment="sort_turns", params_json=json.dumps({"rules": rules}), seed=5)
                     for rules in ({"right": 0.1, "compliance": 2.5}, {}))
    one, other = simulation.Reset(ResetRequest(tasks=[graded, plain])).sessions
    taken = simulation.Step(step(one, 0, "x"))
    assert (dict(taken.rules), taken.reward) == ({"right": -1.0, "compliance": -1.0}, -0.1 - 2.5)
    assert simulation.Step(step(one, 0, "x")) == taken
    ungraded = simulation.Step(step(other, 0, "x"))
    assert (dict(ungraded.rules), ungraded.HasField("reward")) == ({}, False)


def test_an_environments_facts_are_in_its_observation(simulation: Any) -> None:
    tasks = [Task(environment=name, seed=5) for name in ("sqlite", "textworld")]
    database, world = (session.observation for session in simulation.Reset(ResetRequest(tasks=tasks)).sessions)
    assert json.loads(database.tools_json)[0]["function"]["name"] == "query"
    assert (database.HasField("admissible"), world.HasField("admissible")) == (False, True)
    assert world.admissible.names
    assert world.entities.names
    listed = {one.name: one.harness for one in simulation.ListEnvironments(ListEnvironmentsRequest()).environments}
    assert (listed["sqlite"], listed["textworld"], listed["sort_digits"]) == ("tool_loop", "chat", "chat")


def test_an_ended_episode_is_looked_at_with_tools_and_its_origin_stays(simulation: Any) -> None:
    [session] = simulation.Reset(ResetRequest(tasks=[Task(environment="sqlite", seed=5)])).sessions
    simulation.Step(step(session, 0, "4"))
    shot = simulation.Snapshot(SnapshotRequest(session_id=session.session_id))
    restored = simulation.Restore(RestoreRequest(
        task=shot.task, state_json=shot.state_json, state_hash=shot.state_hash))
    assert [tool["function"]["name"] for tool in json.loads(restored.examination_tools_json)] == ["query"]

    def examined(arguments: str, tool: str = "query") -> Any:
        return simulation.Examine(ExamineRequest(
            session_id=restored.session.session_id, tool=tool, arguments_json=arguments))

    assert examined('{"sql": "SELECT count(*) FROM items"}').text == "12"
    assert examined('{"sql": "DELETE FROM items"}').valid
    assert examined('{"sql": "SELECT count(*) FROM items"}').text == "0"
    for found, words in ((examined('{"sql": "nonsense"}'), "syntax error"), (examined("{}"), "sql: "),
                         (examined("{}", "dance"), "no tool dance; there are query")):
        assert not found.valid
        assert words in found.text
    with pytest.raises(grpc.RpcError) as raised:
        examined("[]")
    assert refused_field(raised.value)[0] == "arguments_json"
    assert simulation.Snapshot(SnapshotRequest(session_id=session.session_id)) == shot


def test_recorded_actions_lead_to_the_same_states_or_are_refused(simulation: Any, world: Any) -> None:
    name, session = world
    first = simulation.Snapshot(SnapshotRequest(session_id=session.session_id))
    hashes = [simulation.Step(step(session, place, action)).observation.state_hash
              for place, action in enumerate(WORLDS[name])]
    last = simulation.Snapshot(SnapshotRequest(session_id=session.session_id))
    request = ReplayRequest(task=first.task, actions=WORLDS[name], state_hashes=hashes)
    replayed = simulation.Replay(request)
    assert (replayed.before, replayed.after) == (first, last)
    for wrong, code in (([*hashes[:-1], "x"], grpc.StatusCode.DATA_LOSS),
                        (hashes[:1], grpc.StatusCode.INVALID_ARGUMENT)):
        with pytest.raises(grpc.RpcError) as raised:
            simulation.Replay(ReplayRequest(task=first.task, actions=WORLDS[name], state_hashes=wrong))
        assert raised.value.code() == code
