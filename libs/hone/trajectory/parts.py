"""Parquet parts: finished trajectories of one wave in one object, readable by DuckDB and pandas as they are."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np
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
    ("index", pa.int32()), ("call", pa.int32()), ("action", pa.string()), ("said", pa.string()),
    ("observation_hash", pa.string()), ("state_hash", pa.string()), ("valid", pa.bool_()), ("effect", pa.bool_()),
    ("reward", pa.float64()), ("admissible", pa.list_(pa.string())), ("entities", pa.list_(pa.string())),
])
SCHEMA = pa.schema([
    ("group_id", pa.int64()), ("index", pa.int32()), ("request_no", pa.int32()), ("task", pa.string()),
    ("task_hash", pa.string()), ("item", pa.string()), ("calls", pa.list_(_CALL)), ("steps", pa.list_(_STEP)),
    ("status", pa.string()), ("score", pa.float64()), ("grade_id", pa.int64()), ("harness", pa.string()),
    ("ended", pa.string()),
])

_write = json.JSONEncoder().encode
_JSON = {"task", "item", "sampling", "said"}  # free objects, kept as text
_RECORDS: dict[str, Callable[..., Any]] = {"calls": Call, "steps": Step, "versions": VersionSpan}


def encode(trajectories: list[Trajectory]) -> bytes:
    """Return one Parquet file with a row for each trajectory, in order."""
    calls, steps = [one.calls for one in trajectories], [one.steps for one in trajectories]
    sink = io.BytesIO()
    table = _table(trajectories, _nested(calls, _CALL), _nested(steps, _STEP))
    # Tokens hardly repeat in a way that dictionaries or bounds of pages help with: without them parts are smaller.
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, write_statistics=False)
    return sink.getvalue()


def decode(data: bytes) -> list[Trajectory]:
    """Return the trajectories of a part, in order. Raises pyarrow.ArrowInvalid when `data` is no Parquet file.

    Objects that were written equal come back as one object.
    """
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False).cast(SCHEMA)
    columns = {field.name: table.column(field.name).combine_chunks() for field in SCHEMA}
    return _records(Trajectory, columns, cache(json.loads))


def _table(trajectories: list[Trajectory], calls: pa.Array, steps: pa.Array) -> pa.Table:
    made = {"calls": calls, "steps": steps}
    return pa.Table.from_arrays(
        [made[field.name] if field.name in made else _column(trajectories, field) for field in SCHEMA], schema=SCHEMA)


def _nested(lists: Sequence[Sequence[object]], struct: pa.StructType) -> pa.Array:
    """Return lists of records as one column: offsets over an array of structs."""
    flat = [record for records in lists for record in records]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    fields = list(struct)
    values = pa.StructArray.from_arrays([_column(flat, field) for field in fields], fields=fields)
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(struct))


def _column(records: Sequence[object], field: pa.Field) -> pa.Array:
    values = list(map(attrgetter(field.name), records))
    if field.name == "versions":
        return _nested(values, field.type.value_type)
    return pa.array(_texts(values) if field.name in _JSON else values, field.type)


def _texts(values: Sequence[object]) -> list[str]:
    """Return each object as JSON, made once where records share it."""
    shared = {id(value): value for value in values}
    texts = {key: _write(value) for key, value in shared.items()}
    return [texts[id(value)] for value in values]


def _records(record: Callable[..., Any], columns: Mapping[str, pa.Array], read: Callable[[str], Any]) -> list[Any]:
    values = [_values(name, column, read) for name, column in columns.items()]
    return [record(**dict(zip(columns, row, strict=True))) for row in zip(*values, strict=True)]


def _values(name: str, column: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    """Return a column's values; lists are cut out of their flat values, which are read at once."""
    if name in _JSON:
        return [read(text) for text in column.to_pylist()]
    if not pa.types.is_list(column.type) or column.null_count:
        values: list[Any] = column.to_pylist()
        return values
    if name in _RECORDS:
        fields = dict(zip((field.name for field in column.values.type), column.values.flatten(), strict=True))
        flat = _records(_RECORDS[name], fields, read)
    else:
        flat = column.values.to_numpy(zero_copy_only=False).tolist()
    return [flat[start:end] for start, end in pairwise(column.offsets.to_pylist())]
