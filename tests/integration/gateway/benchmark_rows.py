"""Answers to a benchmark's tasks as services leave them, for an evaluation that nobody played."""

from collections.abc import Callable

from psycopg import Connection

from hone.client.resources import Run
from hone.environments.benchmarks import Benchmark, BenchmarkItem

Components = dict[str, float]
Graded = Callable[[int, BenchmarkItem], tuple[float, Components]]
"""Place and task -> score from 0 to 1, and the components beside it."""


def answer(url: str, benchmark: Benchmark, run: Run, graded: Graded, step: int = 0) -> list[int]:
    """Write one sampled answer to each task, and return the groups."""
    with Connection.connect(url) as connection:
        return [_answered(connection, run, task, step, place, *graded(place, item))
                for place, (task, item) in enumerate(benchmark.by_hash.items())]


def _answered(
    connection: Connection, run: Run, task: str, step: int, place: int, score: float, components: Components,
) -> int:
    row = connection.execute(
        'INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, series, task_hash, "order", model_id,'
        " deadline, state, ready_at) SELECT tenant_id, id, 'eval', %s, %s, 'sampled', %s, '{}', policy_model_id, now(),"
        " 'used', now() + interval '90 seconds' FROM runs WHERE id = %s RETURNING id, tenant_id",
        [1000 * step + place, step, task, run.id]).fetchone()
    assert row is not None
    group, tenant = row
    connection.execute(
        "INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens, completion_tokens,"
        " finish_reason, status, score) VALUES (%s, 0, %s, %s, 'none', 0, %s, %s, 'stop', 'ok', %s)",
        [group, tenant, run.id, 5200 + 40 * place, 310 + 5 * place, score])
    for name, value in {"": score, **components}.items():
        connection.execute(
            "INSERT INTO grades (tenant_id, run_id, group_id, index, grader_hash, component, status, value) VALUES"
            " (%s, %s, %s, 0, 'environment', %s, 'ok', %s)", [tenant, run.id, group, name, value])
    return int(group)
