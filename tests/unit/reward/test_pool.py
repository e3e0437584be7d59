"""A grader that hangs or dies costs one process, and no other sample's score."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio
import uvloop

from hone.graders.contract import Result, Status, failure
from hone.graders.sample import Sent
from hone.graders.specs import spec
from hone.process.line import StillWaiting, Turn
from hone.telemetry import logs
from services.reward import worker
from services.reward.grading import Grading
from services.reward.pool import Job, Pool

MATH = spec('{"type": "math"}')
ROW = '{"answer": "1/2"}'
HANG = r"\boxed{9^{9^{9^9}}}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def prepared() -> AsyncIterator[Pool]:
    """The pool of all tests that end no process."""
    pool = Pool(1)
    yield pool
    await pool.close()


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    pool = Pool(1)
    yield pool
    await pool.close()
    assert pool.pids() == []


def job(output: str, row: str = ROW) -> Job:
    return Job(MATH.json, (Sent(row, output),))


async def grade(pool: Pool, output: str) -> Result:
    [result] = await pool.grade(job(output))
    return result


@pytest.mark.asyncio(loop_scope="module")
async def test_one_process_lives_long_and_grades_many(prepared: Pool) -> None:
    results = await asyncio.gather(*(grade(prepared, rf"\boxed{{0.{digit}}}") for digit in (4, 5, 6)))
    assert [result.score for result in results] == [0.0, 1.0, 0.0]
    pids = prepared.pids()
    assert (await grade(prepared, r"\boxed{2/4}")).score == 1.0
    assert prepared.pids() == pids


@pytest.mark.asyncio(loop_scope="module")
async def test_fifty_parallel_grades_are_identical(prepared: Pool) -> None:
    results = await asyncio.gather(*(grade(prepared, r"\boxed{\frac{3}{6}}") for _ in range(50)))
    expected = (Status.OK, 1.0, r"\frac{3}{6}", "symbolic")
    assert {(result.status, result.score, result.extracted, result.decided_by) for result in results} == {expected}


SIMILAR = {"type": "text_similarity", "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}"}
FIELDS, WORDS = '{"name": "f", "arguments": {}}', "the dog sleeps under the old tree"


@pytest.mark.parametrize(("grader", "output"), [
    ({"type": "short_answer", "reference": "1/2"}, "0.5"),
    ({"type": "structured", "reference": "{{ item.answer }}"}, FIELDS),
    ({"type": "tool_call"}, FIELDS),
    ({"type": "sql", "database": "CREATE TABLE t(a); INSERT INTO t VALUES (1)", "gold": "SELECT a FROM t"},
     "SELECT * FROM t"),
    *(({**SIMILAR, "evaluation_metric": metric}, WORDS) for metric in ("bleu", "meteor", "rouge_l", "fuzzy_match")),
    ({"type": "instructions", "instruction_id_list": ["change_case:english_lowercase"], "kwargs": [{}]}, WORDS),
])
@pytest.mark.asyncio(loop_scope="module")
async def test_graders_run_where_no_file_can_be_written(
    prepared: Pool, grader: dict[str, Any], output: str,
) -> None:
    row = json.dumps({"answer": json.loads(FIELDS) if output == FIELDS else f"{WORDS} here"})
    [result] = await prepared.grade(Job(spec(json.dumps(grader)).json, (Sent(row, output),)))
    assert result.status is Status.OK
    assert result.score is not None
    assert result.score > 0.5


async def test_an_expression_that_never_ends_is_interrupted() -> None:
    pool = Pool(1, limit_s=1.0)
    result = await grade(pool, HANG)
    assert (result.status, result.score) == (Status.TIMEOUT_GRADER, None)
    assert (await grade(pool, r"\boxed{0.5}")).score == 1.0
    await pool.close()


async def test_a_process_that_cannot_be_interrupted_is_killed_and_replaced() -> None:
    pool = Pool(1, limit_s=60, kill_s=1)
    assert (await grade(pool, r"\boxed{0.5}")).score == 1.0
    before = pool.pids()
    result = await grade(pool, HANG)
    assert (result.status, result.score) == (Status.TIMEOUT_GRADER, None)
    assert result.reasons == ("the grader's process was killed after 1 s",)
    with pytest.raises(ProcessLookupError):
        os.kill(before[0], 0)
    assert (await grade(pool, r"\boxed{0.5}")).score == 1.0
    assert pool.pids() != before
    await pool.close()


async def test_a_process_that_died_is_replaced_and_the_grade_tried_again(pool: Pool) -> None:
    grading = Grading(pool, backoff_s=(0.0, 0.0))
    assert (await grading.grade(MATH, (Sent(ROW, r"\boxed{0.5}"),)))[0].score == 1.0
    os.kill(pool.pids()[0], signal.SIGKILL)
    assert (await grading.grade(MATH, (Sent(ROW, r"\boxed{0.5}"),)))[0].score == 1.0


async def dying_between_jobs() -> list[float | None]:
    pool = Pool(1)
    scores = [(await grade(pool, r"\boxed{0.5}")).score]
    process = psutil.Process(pool.pids()[0])
    process.kill()
    while process.is_running():
        await asyncio.sleep(0.01)
    scores.append((await grade(pool, r"\boxed{0.5}")).score)
    await pool.close()
    return scores


def test_a_process_that_died_between_jobs_costs_no_grade() -> None:
    assert uvloop.run(dying_between_jobs()) == [1.0, 1.0], "the service runs on uvloop, whose error is another"


async def ending_at_once() -> set[Status]:
    pool = Pool(1)
    results = [await grade(pool, r"\boxed{0.5}") for _ in range(20)]
    await pool.close()
    return {result.status for result in results}


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_process_that_ends_at_once_is_the_infrastructures_error(
        run: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.reward.pool.sys.executable", "/bin/true")
    assert run(ending_at_once()) == {Status.INFRA_ERROR}


async def test_an_infrastructure_error_is_tried_three_times_in_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:
    (dying := tmp_path / "dying").write_text("#!/bin/sh\nread -r job\n")
    dying.chmod(0o755)
    monkeypatch.setattr("services.reward.pool.sys.executable", str(dying))

    class Counting(Pool):
        tries = 0

        async def grade(self, job: Job) -> list[Result]:
            self.tries += 1
            return await super().grade(job)

    pool = Counting(1)
    [result] = await Grading(pool, backoff_s=(0.0, 0.0)).grade(MATH, (Sent(ROW, r"\boxed{0.5}"),))
    assert (result.status, result.score, pool.tries) == (Status.INFRA_ERROR, None, 3)
    await pool.close()


async def test_a_cancelled_grade_does_not_leave_its_answer_to_the_next(pool: Pool) -> None:
    assert (await grade(pool, r"\boxed{0.5}")).score == 1.0
    hanging = asyncio.create_task(grade(pool, HANG))
    await asyncio.sleep(0.2)
    hanging.cancel()
    assert (await grade(pool, r"\boxed{0.5}")).score == 1.0


async def test_workers_see_no_secrets(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HONE_DATABASE_URL", "postgresql://secret")
    await grade(pool, r"\boxed{0.5}")
    with open(f"/proc/{pool.pids()[0]}/environ", "rb") as environ:
        assert b"HONE" not in environ.read()


async def test_finished_grades_come_before_those_that_hang() -> None:
    pool = Pool(1, limit_s=1.5)
    outputs = (r"\boxed{0.5}", HANG, r"\boxed{0.5}")
    samples = {(1, index): Sent(ROW, output, index == 2) for index, output in enumerate(outputs)}
    batches = [batch async for batch in Grading(pool).batches(MATH, samples) if batch]
    await pool.close()
    merged = {key: result for batch in batches for key, result in batch.items()}
    assert {key: result.status for key, result in merged.items()} == {
        (1, 0): Status.OK, (1, 1): Status.TIMEOUT_GRADER, (1, 2): Status.OK}
    assert merged[1, 2].reasons == ("truncated",)
    assert len(batches) > 1
    assert (1, 1) in batches[-1]


async def test_equal_samples_are_graded_once() -> None:
    class Counting(Pool):
        jobs = 0

        async def grade(self, job: Job) -> list[Result]:
            self.jobs += 1
            return [Result(Status.OK, float(sent.output == r"\boxed{0.5}")) for sent in job.samples]

    pool = Counting(1)
    samples = {(1, index): Sent(ROW, r"\boxed{0.5}") for index in range(8)} | {(2, 0): Sent(ROW, r"\boxed{0.4}")}
    batches = [batch async for batch in Grading(pool).batches(MATH, samples)]
    scores = [result.score for batch in batches for _, result in sorted(batch.items())]
    assert sorted(scores, key=str) == [0.0] + [1.0] * 8
    assert pool.jobs == 2


@pytest.mark.asyncio(loop_scope="module")
async def test_hash_order_follows_no_chance(prepared: Pool) -> None:
    grader = spec('{"type": "reasoning_gym"}')
    row = json.dumps({"params": {"task": "isomorphic_strings"}, "seed": 3})
    results = [(await prepared.grade(Job(grader.json, (Sent(row, answer),))))[0] for answer in ("True", "False")]
    assert sorted(result.score for result in results if result.score is not None) == [0.0, 1.0]


ORPHANING = f"""
import asyncio
from hone.graders.sample import Sent
from services.reward.pool import Job, Pool

async def main():
    pool = Pool(1, limit_s=600, kill_s=600)
    await pool.grade(Job({MATH.json!r}, (Sent({ROW!r}, {HANG[:6] + "{1}"!r}),)))
    print(pool.pids()[0], flush=True)
    await pool.grade(Job({MATH.json!r}, (Sent({ROW!r}, {HANG!r}),)))

asyncio.run(main())
"""


def test_the_pools_processes_go_with_their_parent() -> None:
    """A service killed by SIGKILL leaves no grader behind, not even one that hangs."""
    with subprocess.Popen([sys.executable, "-c", ORPHANING], stdout=subprocess.PIPE, text=True) as parent:
        worker = psutil.Process(int((parent.stdout or sys.stdin).readline()))
        time.sleep(0.3)
        parent.kill()
    psutil.wait_procs([worker], timeout=60)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


def test_log_lines_of_a_grade_in_another_process_have_its_callers_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    subjects: list[logs.Subject] = []

    def judged(*_: Any) -> list[Result]:
        subjects.append(logs.subject())
        return [failure(Status.INFRA_ERROR, "")]

    monkeypatch.setattr(worker, "judged_together", judged)
    with logs.about(run_id="run_1", group_ids=[7, 8]):
        line = job(r"\boxed{0.5}").line()
    worker.work(json.loads(line), set(), 60, io.BytesIO())
    assert subjects == [{"run_id": "run_1", "group_ids": [7, 8]}]
    assert logs.subject() == {}


async def test_a_run_that_takes_long_starves_no_other() -> None:
    pool = Pool(1, limit_s=0.5)
    assert (await grade(pool, r"\boxed{0.5}")).score == 1.0  # it is prepared

    async def graded(run: str, output: str) -> tuple[str, Result]:
        return run, (await pool.grade(Job(MATH.json, (Sent(ROW, output),), Turn(run, 60))))[0]

    slow = [graded("slow", rf"\boxed{{9^{{9^{{9^{digit}}}}}}}") for digit in range(5, 9)]
    fast = [graded("fast", rf"\boxed{{0.{digit}}}") for digit in (5, 6, 7, 8)]
    ended = [await one for one in asyncio.as_completed([asyncio.create_task(each) for each in (*slow, *fast)])]
    await pool.close()
    assert [run for run, _ in ended][1:5] == ["fast"] * 4  # only the grade in progress came before them
    assert {result.score for run, result in ended if run == "fast"} == {0.0, 1.0}
    assert {(result.status, result.score) for run, result in ended if run == "slow"} == {(Status.TIMEOUT_GRADER, None)}
    assert all(result.cost_ms >= 400 for run, result in ended if run == "slow")


async def test_a_sample_that_waits_too_long_says_why_and_is_graded_later() -> None:
    pool = Pool(1, limit_s=1.0)
    assert (await grade(pool, r"\boxed{0.5}")).score == 1.0
    samples = {(1, index): Sent(ROW, output) for index, output in enumerate((HANG, r"\boxed{0.5}"))}
    graded: dict[Any, Status] = {}

    async def collect() -> None:
        async for batch in Grading(pool).batches(MATH, samples, Turn("run", 0.5)):
            graded.update({key: result.status for key, result in batch.items()})

    with pytest.raises(StillWaiting, match=r"no grading process was free for 0.5 s: the run's samples used"):
        await collect()
    assert graded == {(1, 0): Status.TIMEOUT_GRADER}
    [again] = [batch async for batch in Grading(pool).batches(MATH, {(1, 1): samples[1, 1]}, Turn("run", 5)) if batch]
    assert again[1, 1].score == 1.0
    await pool.close()


async def test_a_cancelled_wait_keeps_no_process(pool: Pool) -> None:
    hanging = asyncio.create_task(grade(pool, HANG))
    waiting = [asyncio.create_task(grade(pool, r"\boxed{0.5}")) for _ in range(3)]
    await asyncio.sleep(0.1)
    assert pool.waiting == 3
    for task in (hanging, *waiting):
        task.cancel()
    assert (await grade(pool, r"\boxed{0.5}")).score == 1.0
    assert pool.waiting == 0
