"""Parquet parts: the finished trajectories of one wave in one object, which DuckDB and pandas can read.

Old parts stay readable when a record gets new fields: a field that a part lacks has the record's default.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from itertools import pairwise, repeat, starmap
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Call, Context, Scored, Span, Step, Trajectory, VersionSpan

_CALL = pa.struct([
    ("index", pa.int32()), ("prompt_ids", pa.list_(pa.int32())), ("completion_ids", pa.list_(pa.int32())),
    ("logp_sample", pa.list_(pa.float32())), ("finish_reason", pa.string()),
    ("versions", pa.list_(pa.struct([("version_id", pa.string()), ("tokens", pa.int32())]))),
    ("text", pa.string()), ("train_mask", pa.list_(pa.bool_())), ("role", pa.string()), ("kind", pa.string()),
    ("number", pa.string()), ("parent", pa.string()), ("group_key", pa.string()),
    ("turn", pa.int32()), ("sampling", pa.string()), ("engine", pa.string()), ("kv_on_update", pa.string()),
    ("contexts", pa.list_(pa.struct([
        ("name", pa.string()), ("prompt_ids", pa.list_(pa.int32())), ("source", pa.string())]))),
    ("scored", pa.list_(pa.struct([
        ("name", pa.string()), ("version_id", pa.string()), ("logp", pa.list_(pa.float32())),
        ("top_ids", pa.list_(pa.int32())), ("top_logp", pa.list_(pa.float32()))]))),
    ("spans", pa.list_(pa.struct([
        ("name", pa.string()), ("start", pa.int32()), ("end", pa.int32()), ("weight", pa.float64()),
        ("score", pa.float64())]))),
    ("rules", pa.string()), ("notes", pa.string()), ("scores", pa.string()), ("begun", pa.string()),
    ("entropy", pa.float64()),
])
_STEP = pa.struct([
    ("index", pa.int32()), ("call", pa.int32()), ("action", pa.string()), ("said", pa.string()),
    ("observation_hash", pa.string()), ("state_hash", pa.string()), ("valid", pa.bool_()), ("effect", pa.bool_()),
    ("reward", pa.float64()), ("admissible", pa.list_(pa.string())), ("entities", pa.list_(pa.string())),
    ("rules", pa.string()), ("injection", pa.string()),
])
SCHEMA = pa.schema([
    ("group_id", pa.int64()), ("index", pa.int32()), ("request_no", pa.int32()), ("task", pa.string()),
    ("task_hash", pa.string()), ("item", pa.string()), ("calls", pa.list_(_CALL)), ("steps", pa.list_(_STEP)),
    ("status", pa.string()), ("score", pa.float64()), ("grade_id", pa.int64()), ("harness", pa.string()),
    ("ended", pa.string()),
])

_write = json.JSONEncoder().encode
_JSON = {"task", "item", "sampling", "said", "rules", "notes", "scores", "injection"}  # objects, stored as text
_RECORDS: dict[str, type[Any]] = {
    "calls": Call, "steps": Step, "versions": VersionSpan, "contexts": Context, "scored": Scored,
    "spans": Span}


def encode(trajectories: list[Trajectory]) -> bytes:
    """Return one Parquet file with a row for each trajectory, in order."""
    calls, steps = [one.calls for one in trajectories], [one.steps for one in trajectories]
    sink = io.BytesIO()
    table = _table(trajectories, _nested(calls, _CALL), _nested(steps, _STEP))
    # Dictionaries and page statistics hardly help with tokens: parts are smaller without them.
    pq.write_table(table, sink, compression=_codecs(), use_dictionary=False, write_statistics=False)
    return sink.getvalue()


def decode(data: bytes) -> list[Trajectory]:
    """Return the trajectories of a part, in order. Raises ValueError when `data` is not a part.

    Equal JSON objects come back as one shared object.
    """
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    table = table.cast(pa.schema(_within(SCHEMA, table.schema)))
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    return _records(Trajectory, columns, table.num_rows, cache(json.loads))


def planned(plan: StepPlan, stored: Sequence[bytes]) -> list[Trajectory]:
    """Return the trajectories that a plan takes from the bytes of its parts."""
    return [one for key, data in zip(plan.parts, stored, strict=True) for one in _taken(plan, key, decode(data))]


def _taken(plan: StepPlan, part: str, trajectories: list[Trajectory]) -> list[Trajectory]:
    """Return the trajectories of a part that the plan takes. A part may also hold other groups, or stale copies."""
    if not plan.sampled:
        return trajectories
    groups = {group.group_id for group in plan.groups if part in group.parts}
    return [trajectory for trajectory in trajectories if trajectory.group_id in groups]


def unpacked_bytes(data: bytes) -> int:
    """Return the size of a part's columns without compression, bytes."""
    metadata = pq.ParquetFile(pa.BufferReader(data)).metadata
    return sum(metadata.row_group(place).total_byte_size for place in range(metadata.num_row_groups))


@dataclass(frozen=True)
class SampleText:
    """The texts of a trajectory."""

    item: dict[str, Any]  # the task row as graders see it
    text: str  # of the last call


def texts(part: bytes) -> dict[tuple[int, int], SampleText]:
    """Return the texts of each trajectory of a part by (group id, index). Columns of tokens are not read.

    Raises pyarrow.ArrowInvalid when `part` is not a Parquet file.
    """
    columns = ["group_id", "index", "item", "calls.list.element.text"]
    rows = pq.ParquetFile(pa.BufferReader(part)).read(columns=columns, use_threads=False).to_pylist()
    return {(row["group_id"], row["index"]): SampleText(json.loads(row["item"]), row["calls"][-1]["text"])
            for row in rows}


def items(part: bytes) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the item of each trajectory of a part by (group id, index). No calls are read.

    Raises pyarrow.ArrowInvalid when `part` is not a Parquet file.
    """
    rows = pq.ParquetFile(pa.BufferReader(part)).read(
        columns=["group_id", "index", "item"], use_threads=False).to_pylist()
    return {(row["group_id"], row["index"]): json.loads(row["item"]) for row in rows}


def notes(part: bytes) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the notes of each trajectory's calls, in order, by (group id, index). Columns of tokens are not read.

    Raises pyarrow.ArrowInvalid when `part` is not a Parquet file.
    """
    columns = ["group_id", "index", "calls.list.element.notes"]
    rows = pq.ParquetFile(pa.BufferReader(part)).read(columns=columns, use_threads=False).to_pylist()
    return {(row["group_id"], row["index"]): [json.loads(call["notes"]) for call in row["calls"]] for row in rows}


@dataclass(frozen=True)
class SampleActions:
    """Inputs of a sample's environment from the calls of one kind."""

    task: dict[str, Any]  # {environment, params, seed, item}
    item: dict[str, Any]  # the task row as graders see it
    actions: list[str]


def actions(part: bytes, kind: str) -> dict[tuple[int, int], SampleActions]:
    """Return the actions that calls of a kind took in each trajectory of a part, in order, by (group id, index).

    Columns of tokens are not read. Raises pyarrow.ArrowInvalid when `part` is not a Parquet file.
    """
    columns = ["group_id", "index", "task", "item", "calls.list.element.kind", "steps.list.element.call",
               "steps.list.element.action"]
    rows = pq.ParquetFile(pa.BufferReader(part)).read(columns=columns, use_threads=False).to_pylist()
    return {(row["group_id"], row["index"]): SampleActions(
        json.loads(row["task"]), json.loads(row["item"]),
        [one["action"] for one in row["steps"] if one["call"] >= 0 and row["calls"][one["call"]]["kind"] == kind])
        for row in rows}


@cache
def _codecs() -> dict[str, str]:
    """Return the compression of each column by its path.

    Ids of a small vocabulary take a third of the space with Zstandard than with LZ4. Other columns are hardly smaller
    with it, because they are equal from row to row or hold log-probs, and starting Zstandard takes longer than writing
    most of them.
    """
    sink = io.BytesIO()
    pq.write_table(SCHEMA.empty_table(), sink)
    columns = pq.ParquetFile(sink).schema
    return {column.path: "zstd" if "_ids." in column.path else "lz4" for column in columns}


def _table(trajectories: list[Trajectory], calls: pa.Array, steps: pa.Array) -> pa.Table:
    made = {"calls": calls, "steps": steps}
    return pa.Table.from_arrays(
        [made[field.name] if field.name in made else _column(trajectories, field) for field in SCHEMA], schema=SCHEMA)


def _nested(lists: Sequence[Sequence[object]], struct: pa.StructType) -> pa.Array:
    """Return lists of records as one column: offsets into an array of structs."""
    flat = [record for records in lists for record in records]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    fields = list(struct)
    values = pa.StructArray.from_arrays([_column(flat, field) for field in fields], fields=fields)
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(struct))


def _column(records: Sequence[object], field: pa.Field) -> pa.Array:
    values = list(map(attrgetter(field.name), records))
    if field.name in _RECORDS:
        return _nested(values, field.type.value_type)
    return pa.array(_texts(values) if field.name in _JSON else values, field.type)


def _texts(values: Sequence[object]) -> list[str]:
    """Return each object as JSON text. An object that several records share is encoded once."""
    shared = {id(value): value for value in values}
    texts = {key: "{}" if value == {} else _write(value) for key, value in shared.items()}
    return [texts[id(value)] for value in values]


def _within(wanted: Iterable[pa.Field], found: Iterable[pa.Field]) -> list[pa.Field]:
    """Return the wanted fields that are found, at any depth. A cast would fill the other fields with null."""
    held = {field.name: field.type for field in found}
    return [field.with_type(_type_within(field.type, held[field.name])) for field in wanted if field.name in held]


def _type_within(wanted: pa.DataType, found: pa.DataType) -> pa.DataType:
    if pa.types.is_list(wanted) and pa.types.is_list(found):
        return pa.list_(_type_within(wanted.value_type, found.value_type))
    if pa.types.is_struct(wanted) and pa.types.is_struct(found):
        return pa.struct(_within(wanted, found))
    return wanted


def _records(
    record: type[Any], columns: Mapping[str, pa.Array], rows: int, read: Callable[[str], Any]
) -> list[Any]:
    """Return a record for each row of the columns, which are given by name."""
    values = [_values(one.name, columns[one.name], read) if one.name in columns else _defaults(record, one, rows)
              for one in fields(record)]
    return list(starmap(record, zip(*values, strict=True)))


def _defaults(record: type[Any], lacking: Field[Any], rows: int) -> Iterable[Any]:
    """Return a record's default for a field that the part lacks, once a row. Raises ValueError if it has no default."""
    if lacking.default_factory is not MISSING:
        return [lacking.default_factory() for _ in range(rows)]
    if lacking.default is MISSING:
        raise ValueError(f"part: found no {lacking.name} of a {record.__name__}, expected one: it has no default")
    return repeat(lacking.default, rows)


def _values(name: str, column: pa.Array, read: Callable[[str], Any]) -> list[Any]:
    """Return a column's values. Lists are slices of the column's flat values, which are read once."""
    if name in _JSON:
        return [read(text) for text in column.to_pylist()]
    if not pa.types.is_list(column.type) or column.null_count:
        values: list[Any] = column.to_pylist()
        return values
    if name in _RECORDS:
        structs = column.values
        inner = dict(zip((field.name for field in structs.type), structs.flatten(), strict=True))
        flat = _records(_RECORDS[name], inner, len(structs), read)
    else:
        flat = column.values.to_numpy(zero_copy_only=False).tolist()
    return [flat[start:end] for start, end in pairwise(column.offsets.to_pylist())]
