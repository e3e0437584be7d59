"""What the trajectories of a part say: their items and answers, read without their tokens."""

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Said:
    """A trajectory in words."""

    item: dict[str, Any]  # what graders see as the task row
    text: str  # of its last call


def said(part: bytes) -> dict[tuple[int, int], Said]:
    """Return what each trajectory of a part says, by (group id, index).

    Raises pyarrow.ArrowInvalid when `part` is no Parquet file.
    """
    columns = ["group_id", "index", "item", "calls.list.element.text"]
    rows = pq.ParquetFile(pa.BufferReader(part)).read(columns=columns, use_threads=False).to_pylist()
    return {(row["group_id"], row["index"]): Said(json.loads(row["item"]), row["calls"][-1]["text"]) for row in rows}
