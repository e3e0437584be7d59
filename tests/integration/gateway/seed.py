"""Rows in the form that the driver, the trainer and rollout workers write, for a run without any of them."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

from hone import ids
from hone.client.resources import Run
from hone.store.objects import Objects
from hone.trajectory import parts
from hone.trajectory.records import Call, Step, Trajectory, VersionSpan

SAMPLES = 4


def spec(base: str, **changes: Any) -> dict[str, Any]:
    """Return a small valid spec."""
    return {"name": "sort", "model": {"base": base}, "steps": 3, "sampling": {"max_tokens": 8},
            "task": {"environment": "sort_digits", "params": {"digits": 4}},
            "batch": {"prompts": 2, "samples": SAMPLES}, **changes}


@dataclass(frozen=True)
class Seeded:
    """The rows and samples that `history` wrote."""

    run: Run
    versions: list[str]  # by number
    groups: list[int]
    trajectories: list[Trajectory]


def history(url: str, objects: Objects, run: Run) -> Seeded:
    """Write two committed steps of the run: versions 0 to 2, two groups, metrics, events, usage."""
    with Connection.connect(url) as connection:
        row = connection.execute("SELECT tenant_id, key_id FROM runs WHERE id = %s", [run.id]).fetchone()
        assert row is not None
        tenant, key = row
        versions = [_version(connection, tenant, run.model_id, number) for number in range(3)]
        for n in (1, 2):
            connection.execute(
                "INSERT INTO steps (run_id, tenant_id, n, epoch, state, plan, group_ids, version_id, committed_at)"
                " VALUES (%s, %s, %s, 1, 'committed', '{}', '{}', %s, now())", [run.id, tenant, n, versions[n]])
            for name, value in (("reward", n / 4), ("gap_nats", 0.001 * n)):
                connection.execute("INSERT INTO metrics (run_id, tenant_id, step, name, value) VALUES (%s,%s,%s,%s,%s)",
                                   [run.id, tenant, n, name, value])
            connection.execute("INSERT INTO events (tenant_id, run_id, kind, step, message) VALUES (%s,%s,%s,%s,%s)",
                               [tenant, run.id, "step", n, f"step {n} was committed"])
            connection.execute("INSERT INTO usage (tenant_id, run_id, key_id, kind, amount) VALUES (%s,%s,%s,%s,%s)",
                               [tenant, run.id, key, "completion_tokens", 100.0 * n])
        groups = [_group(connection, tenant, run, number) for number in range(2)]
        samples = [_sample(group, number, index, versions[0])
                   for number, group in enumerate(groups) for index in range(SAMPLES)]
        _store(connection, objects, tenant, run.id, samples)
    return Seeded(run, versions, groups, samples)


def _version(connection: Connection, tenant: str, model_id: str, number: int) -> str:
    version = ids.new("ver")
    connection.execute(
        "INSERT INTO versions (id, tenant_id, model_id, seq, number, manifest) VALUES (%s, %s, %s, %s, %s, %s)",
        [version, tenant, model_id, number, number, Jsonb({"files": {}, "weights_sha256": f"{number:064x}"})])
    return version


def _group(connection: Connection, tenant: str, run: Run, number: int) -> int:
    row = connection.execute(
        "INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, \"order\", model_id, deadline)"
        " VALUES (%s, %s, %s, %s, %s, 'hash', '{}', %s, now()) RETURNING id",
        [tenant, run.id, ("train", "eval")[number], number, number + 1, run.model_id]).fetchone()
    assert row is not None
    return int(row[0])


def _sample(group: int, number: int, index: int, version: str) -> Trajectory:
    call = Call(index=0, prompt_ids=[23, 4], completion_ids=[5, 2], logp_sample=[-0.5, -0.25], finish_reason="stop",
                versions=[VersionSpan(version, 2)], text=f"answer {index}_%", train_mask=[True, True])
    step = Step(index=0, call=0, action=call.text, said=[], observation_hash="aa", state_hash="bb", valid=True)
    return Trajectory(
        group_id=group, index=index, request_no=number, task={"environment": "sort_digits"}, task_hash="hash",
        item={"prompt": "s10=", "answer": "01"}, calls=[call], steps=[step],
        status="ok" if index else "infra_error", score=index / 4 if index else None, grade_id=None)


def _store(
    connection: Connection, objects: Objects, tenant: str, run_id: str, samples: list[Trajectory],
) -> None:
    part = f"runs/{run_id}/parts/only.parquet"
    objects.put(part, parts.encode(samples))
    for row, sample in enumerate(samples):
        connection.execute(
            "INSERT INTO trajectories (group_id, index, tenant_id, run_id, part, row, prompt_tokens,"
            " completion_tokens, finish_reason, status, score, preview) VALUES (%s,%s,%s,%s,%s,%s,2,2,%s,%s,%s,%s)",
            [sample.group_id, sample.index, tenant, run_id, part, row, "stop", sample.status, sample.score,
             sample.calls[0].text])
        connection.execute(
            "INSERT INTO grades (tenant_id, run_id, group_id, index, grader_hash, status, value) VALUES"
            " (%s, %s, %s, %s, 'exact', %s, %s)", [tenant, run_id, sample.group_id, sample.index, sample.status,
                                                   sample.score])


def finish_export(url: str, objects: Objects, export_id: str, files: dict[str, bytes]) -> None:
    """End an export as the trainer does."""
    named = {}
    for name, data in files.items():
        objects.put(f"exports/{export_id}/{name}", data)
        digest = hashlib.sha256(data).hexdigest()
        named[name] = {"key": f"exports/{export_id}/{name}", "sha256": digest, "bytes": len(data)}
    with Connection.connect(url) as connection:
        connection.execute("UPDATE operations SET state = 'done', finished_at = now(), result = %s WHERE id = %s",
                           [json.dumps({"files": named, "max_abs_diff": 1e-6, "compared_with": "probe",
                                        "sampling_defaults": {"temperature": 0.6, "do_sample": True}}), export_id])


def set_state(url: str, run_id: str, state: str) -> None:
    """Move a run as its driver does."""
    with Connection.connect(url) as connection:
        connection.execute("UPDATE runs SET state = %s WHERE id = %s", [state, run_id])


def fail_export(url: str, export_id: str, reason: str) -> None:
    """End an export as the trainer does when the comparison fails."""
    with Connection.connect(url) as connection:
        connection.execute("UPDATE operations SET state = 'failed', reason = %s WHERE id = %s", [reason, export_id])


def operation_log(url: str, model_id: str) -> list[int]:
    """Return the sequence numbers of a model's operations."""
    with Connection.connect(url) as connection:
        return [seq for (seq,) in connection.execute(
            "SELECT seq FROM operations WHERE model_id = %s ORDER BY seq", [model_id])]


def add_abandoned(url: str, like: str, id: str) -> None:
    """Insert an abandoned version, which the version `like` replaced."""
    with Connection.connect(url) as connection:
        connection.execute(
            "INSERT INTO versions (id, tenant_id, model_id, seq, number, state, manifest) "
            "SELECT %s, tenant_id, model_id, seq, number, 'abandoned', manifest FROM versions WHERE id = %s",
            [id, like])
