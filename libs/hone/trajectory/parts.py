"""Parquet parts: finished trajectories of one wave in one object, readable by DuckDB and pandas as they are."""

import io
import json
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hone.trajectory.records import Call, Step, Trajectory, VersionSpan

_CALL = pa.struct([
    ("index", pa.int32()), ("prompt_ids", pa.list_(pa.int32())), ("completion_ids", pa.list_(pa.int32())),
    ("logp_sample", pa.list_(pa.float32())), ("finish_reason", pa.string()),
    ("versions", pa.list_(pa.struct([("version_id", pa.string()), ("tokens", pa.int32())]))),
    ("text", pa.string()), ("train_mask", pa.list_(pa.bool_())), ("role", pa.string()), ("kind", pa.string()),
    ("turn", pa.int32()), ("sampling", pa.string()), ("engine", pa.string()), ("kv_on_update", pa.string()),
])
_STEP = pa.struct([
    ("index", pa.int32()), ("call", pa.int32()), ("action", pa.string()), ("observation_hash", pa.string()),
    ("valid", pa.bool_()), ("reward", pa.float64()),
])
SCHEMA = pa.schema([
    ("group_id", pa.int64()), ("index", pa.int32()), ("request_no", pa.int32()), ("task", pa.string()),
    ("task_hash", pa.string()), ("item", pa.string()), ("calls", pa.list_(_CALL)), ("steps", pa.list_(_STEP)),
    ("status", pa.string()), ("score", pa.float64()), ("grade_id", pa.int64()),
])


def encode(trajectories: list[Trajectory]) -> bytes:
    """Return one Parquet file with a row for each trajectory, in order."""
    table = pa.Table.from_pylist([_row(trajectory) for trajectory in trajectories], schema=SCHEMA)
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def decode(data: bytes) -> list[Trajectory]:
    """Return the trajectories of a part, in order. Raises pyarrow.ArrowInvalid when `data` is no Parquet file."""
    return [_trajectory(row) for row in pq.read_table(io.BytesIO(data), schema=SCHEMA).to_pylist()]


def _row(trajectory: Trajectory) -> dict[str, Any]:
    row = asdict(trajectory)
    row["task"], row["item"] = json.dumps(trajectory.task), json.dumps(trajectory.item)
    for call in row["calls"]:
        call["sampling"] = json.dumps(call["sampling"])
    return row


def _trajectory(row: dict[str, Any]) -> Trajectory:
    return Trajectory(**{
        **row,
        "task": json.loads(row["task"]),
        "item": json.loads(row["item"]),
        "calls": [_call(call) for call in row["calls"]],
        "steps": [Step(**step) for step in row["steps"]],
    })


def _call(call: dict[str, Any]) -> Call:
    spans = [VersionSpan(**span) for span in call["versions"]]
    return Call(**{**call, "versions": spans, "sampling": json.loads(call["sampling"])})
