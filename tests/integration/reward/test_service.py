"""The reward service as its own process on a real PostgreSQL."""

import json
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest

from hone.api import reward_pb2
from hone.api.reward_pb2 import GradeItem, GradeRequest, GradeStreamRequest, ReverifyRequest, RunGraderRequest
from hone.api.reward_pb2_grpc import RewardServiceStub
from hone.environments.sqlite import Sqlite, SqliteParams
from hone.graders.slowed import SlowedParams, wait_s
from tests.integration.reward.rows import Run, make_run
from tests.servers import postgres as postgres_servers
from tests.servers.service import Service, refused_field, running

EXACT = '{"type": "exact"}'
MATH = '{"type": "math"}'
OK, NO_ANSWER = reward_pb2.GRADE_STATUS_OK, reward_pb2.GRADE_STATUS_NO_ANSWER


@pytest.fixture(scope="module")
def service(postgres_url: str) -> Iterator[Service]:
    with running("reward", HONE_DATABASE_URL=postgres_url) as service:
        yield service


@pytest.fixture(scope="module")
def reward(service: Service) -> Any:
    return RewardServiceStub(service.channel)


@pytest.fixture
def run(postgres_owner_url: str) -> Run:
    return make_run(postgres_owner_url)


def request(run: Run, group: int, outputs: list[str], grader: str = EXACT, answer: str = "5") -> GradeRequest:
    items = [GradeItem(group_id=group, index=index, item_json=json.dumps({"answer": answer}), output_text=output)
             for index, output in enumerate(outputs)]
    return GradeRequest(tenant_id=run.tenant_id, run_id=run.id, grader_json=grader, items=items)


def rows(run: Run) -> list[dict[str, Any]]:
    return run.all("SELECT * FROM grades WHERE run_id = %s ORDER BY id", run.id)


def test_grades_are_stored_and_returned_in_order(reward: Any, run: Run) -> None:
    group = run.groups(0)[0]
    asked = request(run, group, ["5", "6", "", "5\0"])
    asked.items[1].truncated = True
    grades = reward.Grade(asked).grades
    assert [(grade.status, grade.score) for grade in grades] == [(OK, 1.0), (OK, 0.0), (NO_ANSWER, 0.0), (OK, 0.0)]
    assert list(grades[1].reasons) == ["truncated"]
    stored = {row["id"]: row for row in rows(run)}
    assert [stored[grade.grade_id]["index"] for grade in grades] == [0, 1, 2, 3]
    first = stored[grades[0].grade_id]
    assert (first["value"], first["status"], first["extracted"], first["decided_by"]) == (1.0, "ok", "5", "exact")
    assert (first["tenant_id"], first["group_id"], first["component"]) == (run.tenant_id, group, "")


def test_earlier_grades_are_returned_from_the_store(reward: Any, run: Run) -> None:
    group = run.groups(0)[0]
    first = reward.Grade(request(run, group, ["5", "6"]))
    again = reward.Grade(request(run, group, ["another", "5", "5"]))
    assert list(again.grades[:2]) == list(first.grades)
    assert again.grades[2].score == 1.0
    assert len(rows(run)) == 3
    other = reward.Grade(request(run, group, ["5"], '{"type": "exact", "strip": false}'))
    assert other.grades[0].grade_id not in {grade.grade_id for grade in first.grades}


def test_groups_and_conversations_are_graded_whole(reward: Any, run: Run) -> None:
    group, other = run.groups(0)[0], run.groups(1)[0]
    concise = '{"type": "concise", "grader": {"type": "exact"}}'
    asked = request(run, group, ["5", "5  ", "wrong"], concise)
    asked.items.extend(request(run, other, ["5  "]).items)
    assert [grade.score for grade in reward.Grade(asked).grades] == pytest.approx([1.1, 1.0, -0.1, 1.0])
    each = request(run, group, ["5"], '{"type": "each_call", "grader": {"type": "exact"}}')
    with pytest.raises(grpc.RpcError, match=r"items\[0\].conversation_json: found 'nothing'"):
        reward.Grade(each)
    each.items[0].conversation_json = '{"calls": [{"number": "0", "text": "5"}, {"number": "1", "text": "6"}]}'
    first = reward.Grade(each).grades[0]
    assert {turn.call: dict(turn.scores) for turn in first.turns} == {"0": {"score": 1.0}, "1": {"score": 0.0}}
    assert reward.Grade(each).grades[0] == first, "stored with its turns"
    each.items[0].conversation_json = '{"calls": [{"number": 0}]}'
    with pytest.raises(grpc.RpcError, match=r"items\[0\].conversation_json.calls.0.number"):
        reward.Grade(each)


def test_a_policy_that_changes_rows_is_graded_by_its_tables(reward: Any, run: Run) -> None:
    row = {"prompt": "Pay order 2.", "answer": "done", "database": "CREATE TABLE orders (id INTEGER PRIMARY KEY, "
           "status TEXT, at TEXT); INSERT INTO orders VALUES (1, 'open', ''), (2, 'open', '');",
           "changes": {"orders": {"changed": [{"where": {"id": 2}, "set": {"status": "paid"}}]}}}
    grader = {"type": "tables", "at": "database", "format": "sqlite", "changes": "{{ item.changes }}",
              "columns": {"orders": {"at": "exempt"}}}
    asked = request(run, run.groups(0)[0], ["done", "done", "done"], json.dumps(grader))
    for sent, change in zip(asked.items, ("status = 'paid', at = 'now' WHERE id = 2", "at = 'now' WHERE id = 2",
                                          "status = 'paid'"), strict=True):
        episode = Sqlite().episode(SqliteParams(), 0, row)
        sent.item_json, before = json.dumps(episode.reset().item), episode.snapshot()
        episode.step(json.dumps({"tool": "query", "arguments": {"sql": f"UPDATE orders SET {change}"}}))
        sent.world_json = json.dumps({"before": before, "after": episode.snapshot()})
    grades = reward.Grade(asked).grades
    assert [(grade.status, grade.score) for grade in grades] == [(OK, 1.0), (OK, 0.0), (OK, 0.0)]
    assert [json.loads(grade.evidence_json[0])["mismatches"] for grade in grades[1:]] == [
        [{"table": "orders", "key": {"id": key}, "column": "status", "class": "hard", "expected": expected, "got": got}]
        for key, expected, got in ((2, "paid", "open"), (1, "open", "paid"))]


def test_a_stream_gives_each_grade_as_soon_as_it_is_stored(reward: Any, run: Run) -> None:
    group = run.groups(0)[0]
    grader = {"type": "slowed", "grader": {"type": "exact"}, "seconds": 0.0, "straggler_every": 3,
              "straggler_seconds": 1.5}
    asked = request(run, group, ["5", "6", "5"], json.dumps(grader))
    asked.items[1].item_json = json.dumps({"answer": straggler(grader)})
    messages = [(list(one.places), [grade.score for grade in one.grades]) for one in stream(reward, asked)]
    assert messages[0] == ([0, 2], [1.0, 1.0])
    assert messages[-1] == ([1], [0.0])
    assert len(messages) == 2
    [again] = stream(reward, asked)
    assert sorted(again.places) == [0, 1, 2]
    assert {grade.grade_id for grade in again.grades} == {row["id"] for row in rows(run)}


def stream(reward: Any, asked: GradeRequest) -> Any:
    return reward.GradeStream(GradeStreamRequest(request=asked))


def straggler(grader: dict[str, Any]) -> str:
    """Return an answer whose task is a straggler; the task of answer 5 is not."""
    params = SlowedParams.model_validate(grader)
    assert wait_s({"answer": "5"}, params) == 0.0
    return next(answer for answer in map(str, range(10, 99)) if wait_s({"answer": answer}, params))


def test_of_concurrent_graders_the_first_result_stands(reward: Any, run: Run) -> None:
    group = run.groups(0)[0]
    outputs = [[str(caller)] * 64 for caller in range(8)]
    asked = [request(run, group, texts) for texts in outputs]
    for place, one in enumerate(asked):
        if place % 2:
            one.items.reverse()
    start = threading.Barrier(8)

    def grade(one: GradeRequest) -> dict[int, int]:
        start.wait()
        answer = reward.Grade(one)
        return {item.index: grade.grade_id for item, grade in zip(one.items, answer.grades, strict=True)}

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(grade, asked))
    assert all(answer == answers[0] for answer in answers)
    assert len(rows(run)) == 64


def test_math_is_graded_in_the_pool(reward: Any, service: Service, run: Run) -> None:
    group = run.groups(0)[0]
    grades = reward.Grade(request(run, group, [r"\boxed{\frac{10}{2}}", r"\boxed{6}", "5"], MATH)).grades
    assert [(grade.status, grade.score) for grade in grades] == [(OK, 1.0), (OK, 0.0), (NO_ANSWER, 0.0)]
    command_lines = [" ".join(child.cmdline()) for child in psutil.Process(service.process.pid).children()]
    assert len([line for line in command_lines if "services.reward.worker" in line]) == 1
    maps = Path(f"/proc/{service.process.pid}/maps").read_text()
    assert "torch" not in maps


def test_a_hanging_answer_is_masked_and_the_service_goes_on(reward: Any, run: Run) -> None:
    group = run.groups(0)[0]
    grades = reward.Grade(request(run, group, [r"\boxed{9^{9^{9^9}}}", r"\boxed{5}"], MATH), timeout=60).grades
    assert (grades[0].status, grades[0].HasField("score")) == (reward_pb2.GRADE_STATUS_TIMEOUT_GRADER, False)
    assert grades[1].score == 1.0
    assert [row["value"] for row in sorted(rows(run), key=lambda row: row["index"])] == [None, 1.0]


def test_run_grader_stores_nothing(reward: Any, run: Run) -> None:
    asked = RunGraderRequest(grader_json='{"type": "numeric"}', item_json='{"answer": 72}', output_text="It is 72.")
    grade = reward.RunGrader(asked).grade
    assert (grade.status, grade.score, grade.extracted, grade.grade_id) == (OK, 1.0, "72", 0)
    assert rows(run) == []


@pytest.mark.parametrize(("change", "field", "message"), [
    ({"grader_json": '{"type": "exakt"}'}, "grader_json.type", "expected one of agent_judge, character_share"),
    ({"grader_json": "{"}, "grader_json.grader", "expected a JSON object"),
    ({"items": [GradeItem(item_json="[]")]}, "items[0].item_json", "found '[]', expected a JSON object"),
    ({"items": [GradeItem(item_json='{"a":' * 90_000)]}, "items[0].item_json", "a JSON object of fewer levels"),
    ({"items": [GradeItem(group_id=1), GradeItem(group_id=1)]}, "items[1]", "a sample that is not in the request"),
])
def test_bad_input_is_named(reward: Any, run: Run, change: dict[str, Any], field: str, message: str) -> None:
    fields = {"tenant_id": run.tenant_id, "run_id": run.id, "grader_json": EXACT, **change}
    with pytest.raises(grpc.RpcError) as refused:
        reward.Grade(GradeRequest(**fields))
    named, text = refused_field(refused.value)
    assert named == field
    assert message in text


def test_a_purpose_that_no_group_has_is_named(reward: Any, run: Run) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        reward.Reverify(ReverifyRequest(tenant_id=run.tenant_id, run_id=run.id, grader_json=EXACT, purpose="a\0"))
    assert refused_field(refused.value)[0] == "purpose"


def test_groups_of_others_are_not_found(reward: Any, run: Run, postgres_owner_url: str) -> None:
    group, other = run.groups(0)[0], make_run(postgres_owner_url)
    for asker in (request(other, group, ["5"]), request(run, group + 10**6, ["5"])):
        with pytest.raises(grpc.RpcError) as refused:
            reward.Grade(asker)
        assert refused.value.code() == grpc.StatusCode.NOT_FOUND
    assert rows(run) == []


@pytest.mark.parametrize(("point", "kept"), [("grade.before-row", 0), ("grade.after-row", 2)])
def test_a_kill_at_a_crash_point_loses_nothing(
        postgres_url: str, run: Run, reward: Any, tmp_path: Path, point: str, kept: int) -> None:
    group = run.groups(0)[0]
    (tmp_path / point).touch()
    with running("reward", HONE_DATABASE_URL=postgres_url, HONE_CRASH_DIR=str(tmp_path)) as doomed:
        with pytest.raises(grpc.RpcError):
            RewardServiceStub(doomed.channel).Grade(request(run, group, ["5", "6"]), timeout=60)
        assert doomed.process.wait(60) == -signal.SIGKILL
    before = [row["id"] for row in rows(run)]
    assert len(before) == kept
    grades = reward.Grade(request(run, group, ["5", "6"])).grades
    assert [grade.score for grade in grades] == [1.0, 0.0]
    if kept:
        assert [grade.grade_id for grade in grades] == before
    assert len(rows(run)) == 2


def test_it_outlives_its_database(shared_directory: Path) -> None:
    home = shared_directory / "short-lived"
    home.mkdir(mode=0o711)
    with postgres_servers.running(home) as server:
        database = server.database("hone")
        run = make_run(database.owner_url)
        group = run.groups(0)[0]
        with running("reward", HONE_DATABASE_URL=database.worker_url) as service:
            reward = RewardServiceStub(service.channel)
            first = reward.Grade(request(run, group, ["5"]))
            server.kill()
            with pytest.raises(grpc.RpcError) as away:
                reward.Grade(request(run, group, ["5"]), timeout=4)
            assert away.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
            server.start()
            assert reward.Grade(request(run, group, ["5"]), timeout=60) == first


def test_references_are_graded_as_if_they_were_outputs(reward: Any, run: Run) -> None:
    stored = run.all("SELECT id FROM grades")
    items = [json.dumps({"answer": answer}) for answer in ("1/2", r"\frac{", "3=", "4")]
    request = reward_pb2.CheckReferencesRequest(grader_json=MATH, items_json=[*items, "{}"], stop=["="])
    found = {place: finding for response in reward.CheckReferences(request, timeout=60)
             for place, finding in zip(response.places, response.findings, strict=True)}
    right, wrong = reward_pb2.STANDING_RIGHT, reward_pb2.STANDING_WRONG
    assert [found[place].standing for place in range(5)] == [right, wrong, wrong, right, wrong]
    assert "a stop text of the run cuts it short" in found[2].reason
    assert "item.answer is not in the task row" in found[4].reason
    assert run.all("SELECT id FROM grades") == stored


def test_the_grading_time_of_a_run_is_its_usage(reward: Any, run: Run) -> None:
    group = run.groups(0)[0]
    grades = reward.Grade(request(run, group, [r"\boxed{5}", r"\boxed{5}", r"\boxed{6}"], MATH)).grades
    used = {row["kind"]: row["amount"] for row in run.all("SELECT kind, amount FROM usage WHERE run_id = %s", run.id)}
    assert used["grades"] == 3
    assert used["grading_s"] == pytest.approx(sum(grade.cost_ms for grade in grades) / 1000)
    assert [grade.cost_ms > 0 for grade in grades] == [True, False, True]
