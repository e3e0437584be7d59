"""Graders that run programs: a reward service and a sandbox as real processes, with their walls."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hone.api import reward_pb2
from hone.api.reward_pb2 import CheckReferencesRequest, Grade, RunGraderRequest
from hone.api.reward_pb2_grpc import RewardServiceStub
from hone.stack import ports
from tests.servers.service import running

OK, INFRA = reward_pb2.GRADE_STATUS_OK, reward_pb2.GRADE_STATUS_INFRA_ERROR
SLOW, NOTHING = reward_pb2.GRADE_STATUS_TIMEOUT_CANDIDATE, reward_pb2.GRADE_STATUS_NO_ANSWER
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


def code(reward: Any, program: str, tests: Any, **fields: Any) -> Grade:
    return graded(reward, {"type": "code", "seconds": 1.0, "memory_mb": 128, **fields}, f"```python\n{program}\n```",
                  {"tests": tests})


LINES = [{"input": f"{number}\n", "output": f"{number * 7919 % 1009}\n"} for number in range(40, 45)]
CALLS = [{"args": [number], "expected": number * 7919 % 1009} for number in range(40, 45)]
RIGHT = "def solve(x): return x * 7919 % 1009\nif __name__ == '__main__': print(solve(int(input())))"


def test_programs_that_pass_their_tests_are_right(reward: Any) -> None:
    method = "class Solution:\n    def solve(self, x: List[int]) -> int: return x * 7919 % 1009"
    found = [code(reward, RIGHT, LINES), code(reward, RIGHT, CALLS, function="solve"),
             code(reward, method, CALLS, function="solve", prelude="from typing import List"),
             code(reward, "def solve(x): return {40: 943}[x]", CALLS, function="solve", score="fraction"),
             code(reward, "def solve(x): return (x, {x})", score="fraction", tests=[
                 "assert solve(1) == (1, {1})", "assert solve(2) == [2, {2}]"])]
    assert [(one.status, one.score) for one in found] == [(OK, 1.0)] * 3 + [
        (OK, pytest.approx(0.2)), (OK, 0.5)]
    assert graded(reward, {"type": "code"}, RIGHT, {"tests": LINES}).status == NOTHING


def test_a_checker_runs_apart_from_the_program(reward: Any) -> None:
    checker = "def check(input, expected, output):\n    return sorted(output.split()) == sorted(expected.split())"
    tests = [{"input": "3\n", "output": "0 1 2\n"}, {"input": "2\n", "output": "0 1\n"}]
    found = [code(reward, f"print(*reversed(range({count})))", tests, checker=checker, score="fraction")
             for count in ("int(input())", "3")]
    assert [(one.status, one.score) for one in found] == [(OK, 1.0), (OK, 0.5)]
    broken = code(reward, "print(1)", tests, checker="def check(*given): raise ValueError('mine')")
    assert (broken.status, "mine" in broken.reasons[0]) == (reward_pb2.GRADE_STATUS_INVALID_SPEC, True)


@pytest.mark.parametrize(("program", "status", "words"), [
    ("import os; os._exit(0)", OK, "ended"), ("import sys; sys.exit(0)", OK, "another output"),
    ("import sys; sys.exit('943')", OK, "exit code 1"), ("print(943); raise SystemExit(3)", OK, "exit code 3"),
    ("import builtins, json, operator, sys\nbuiltins.all = operator.eq = json.loads = lambda *_: True\n"
     "sys.stdout.write('True')", OK, "another output"),
    ("import sys\nsys.stdout = None", OK, "another output"),
    ("for name in ('tests.json', 'item.json', 'reward.txt'): open(name, 'w').write('[]')", OK, "another output"),
    ("print(open('/proc/self/environ').read(), open('/proc/1/cmdline').read())", OK, "error"),
    ("import sys\nprint(sys.stdin.read(), sys.stdin.read(), sys.argv)", OK, "another output"),
    ("x = bytearray(2**30)", OK, "memory limit"), ("while True: print('943' * 100_000)", OK, "output limit"),
    ("while True: pass", SLOW, "time limit"), ("print(", OK, "refused")])
def test_a_script_that_solves_nothing_earns_nothing(reward: Any, program: str, status: int, words: str) -> None:
    found = code(reward, program, LINES[:1], seconds=0.5)
    assert (found.status, found.score) == (status, 0.0)
    assert words in found.reasons[0]


@pytest.mark.parametrize(("body", "status", "words"), [
    ("import os; os._exit(0)", OK, "ended"), ("raise SystemExit(0)", OK, "an error"),
    ("return type('Same', (int,), {'__eq__': lambda *_: True})(9)", OK, "another value"),
    ("return type('Same', (), {'__eq__': lambda *_: True})()", OK, "an error"),
    ("import json; json.dumps = lambda *_, **__: 'true'; return 0", OK, "another value"),
    ("import gc; return [o for o in gc.get_objects() if isinstance(o, dict) and 'expected' in o][:1]", OK,
     "another value"),
    ("import sys; return [v for v in sys._getframe(1).f_locals.get('args')]", OK, "another value"),
    ("while True: pass", SLOW, "time limit")])
def test_a_function_that_solves_nothing_earns_nothing(reward: Any, body: str, status: int, words: str) -> None:
    found = code(reward, f"def solve(x):\n    {body}", CALLS[:2], function="solve", seconds=0.5)
    assert (found.status, found.score) == (status, 0.0)
    assert words in found.reasons[0]


def test_a_rows_own_solution_is_run_before_a_run(reward: Any) -> None:
    rows = [{"tests": LINES, "solution": RIGHT}, {"tests": LINES, "solution": "print(1)"}, {"solution": RIGHT}]
    request = CheckReferencesRequest(grader_json=json.dumps({"type": "code", "solution": "{{ item.solution }}"}),
                                     items_json=[json.dumps(row) for row in rows])
    found = {place: finding for response in reward.CheckReferences(request, timeout=60)
             for place, finding in zip(response.places, response.findings, strict=True)}
    assert [found[place].standing for place in range(3)] == [
        reward_pb2.STANDING_RIGHT, reward_pb2.STANDING_WRONG, reward_pb2.STANDING_WRONG]
    assert "test 1: another output" in found[1].reason
    assert "item.tests is not in the task row" in found[2].reason
