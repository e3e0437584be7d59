"""Requests to the value service."""

from collections.abc import Sequence

from tests.integration.reward.rows import Run


def graded(run: Run, number: int, task_hash: str, values: Sequence[float | None], state: str = "used",
           purpose: str = "train") -> int:
    group = run.groups(number, task_hash=task_hash, state=state, purpose=purpose)[0]
    for index, score in reversed(list(enumerate(values))):
        status = "infra_error" if score is None else "ok"
        run.do("INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens,"
               " completion_tokens, finish_reason, status, score) VALUES (%s, %s, %s, %s, 'part', 0, 1, 1, 'stop', %s,"
               " %s)", group, index, run.tenant_id, run.id, status, score)
        grade(run, group, index, status, score)
    return group


def grade(run: Run, group: int, index: int, status: str, score: float | None, grader: str = "hash",
          regrade_no: int = 0) -> None:
    run.do("INSERT INTO grades (tenant_id, run_id, group_id, index, grader_hash, status, value, regrade_no)"
           " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", run.tenant_id, run.id, group, index, grader, status, score,
           regrade_no)


def step(run: Run, n: int, groups: list[int], state: str = "committed") -> None:
    run.do("INSERT INTO steps (run_id, tenant_id, n, epoch, state, plan, group_ids)"
           " VALUES (%s, %s, %s, 1, %s, '{}', %s)", run.id, run.tenant_id, n, state, groups)
