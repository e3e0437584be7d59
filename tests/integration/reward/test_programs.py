"""Graders that run programs: a reward service and a sandbox as real processes, with their walls."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hone.api import reward_pb2
from hone.api.reward_pb2 import Grade, RunGraderRequest
from hone.api.reward_pb2_grpc import RewardServiceStub
from hone.stack import ports
from tests.servers.service import running

OK, INFRA = reward_pb2.GRADE_STATUS_OK, reward_pb2.GRADE_STATUS_INFRA_ERROR
LATE, WRONG = reward_pb2.GRADE_STATUS_TIMEOUT_GRADER, reward_pb2.GRADE_STATUS_INVALID_SPEC


@pytest.fixture(scope="module")
def reward(postgres_url: str) -> Iterator[Any]:
    address = f"127.0.0.1:{ports.pick(1)[0]}"
    with (running("sandbox", HONE_SANDBOX_ADDRESS=address),
          running("reward", HONE_DATABASE_URL=postgres_url, HONE_SANDBOX_ADDRESS=address) as service):
        yield RewardServiceStub(service.channel)


def graded(reward: Any, grader: dict[str, Any], output: str, item: dict[str, Any] | None = None) -> Grade:
    request = RunGraderRequest(grader_json=json.dumps(grader), item_json=json.dumps(item or {}), output_text=output)
    return reward.RunGrader(request, timeout=60).grade  # type: ignore[no-any-return]


def python(body: str, **fields: Any) -> dict[str, Any]:
    return {"type": "python", "name": "p", "source": f"def grade(sample, item):\n    {body}\n", **fields}


def test_a_function_sees_the_answer_and_the_row(reward: Any) -> None:
    body = "return (sample['output_text'] == item['answer']) * 0.5 + (sample['output_json'] == 4) * 0.5"
    assert [graded(reward, python(body), text, {"answer": "4"}).score for text in ("4", " 4", "5")] == [1.0, 0.5, 0.0]
    tools = python("return float(sample['output_tools'][0]['function']['name'] == 'add')")
    called = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
    assert graded(reward, tools, called).score == 1.0
    multi = {"type": "multi", "name": "m", "calculate_output": "min(p, c)", "graders": {
        "p": python("print('seen'); return 0.25"), "c": {
            "type": "string_check", "name": "c", "operation": "eq", "input": "{{ sample.output_text }}",
            "reference": "4"}}}
    whole = graded(reward, multi, "4")
    assert (whole.score, dict(whole.components)) == (0.25, {"p": 0.25, "c": 1.0})
    assert json.loads(whole.evidence_json[0])["stdout"] == "seen\n"


@pytest.mark.parametrize(("body", "status", "words"), [
    ("return 1 / 0", WRONG, "ZeroDivisionError"), ("return 'much'", WRONG, "expected a number from 0 to 1"),
    ("return float('nan')", WRONG, "expected a number"), ("return 7", WRONG, "expected a number from 0 to 1"),
    ("import os; os._exit(0)", WRONG, "python_grader_runtime_error"), ("raise SystemExit(0)", WRONG, "SystemExit"),
    ("while True: pass", LATE, "python_grader_runtime_error"),
    (f"return float(len(open({__file__!r}).read()) > 0)", WRONG, "FileNotFoundError"),
    ("return float('HONE_STACK_TOKEN' in __import__('os').environ)", OK, ""),
    ("__import__('socket').create_connection(('127.0.0.1', 5432), 1)", WRONG, "python_grader_runtime_error")])
def test_a_function_that_fails_or_breaks_out_gives_no_score(reward: Any, body: str, status: int, words: str) -> None:
    found = graded(reward, python(body, seconds=1.0), "4")
    assert found.status == status
    assert (found.score if found.HasField("score") else None) == (0.0 if status == OK else None)
    assert words in " ".join(found.reasons)


def test_fifty_grades_at_once_are_equal(reward: Any) -> None:
    with ThreadPoolExecutor(10) as threads:
        found = list(threads.map(lambda _: graded(reward, python("return 0.5"), "4"), range(50)))
    assert {(one.status, one.score) for one in found} == {(OK, 0.5)}
