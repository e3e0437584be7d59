"""Carriers are frozen values, and every field of theirs is stored in a part."""

from dataclasses import FrozenInstanceError, fields

import pyarrow as pa
import pytest

from hone.trajectory import parts
from hone.trajectory.records import Call, Context, Scored, Step, Trajectory, VersionSpan

CALL = parts.SCHEMA.field("calls").type.value_type
STORED = {
    Trajectory: parts.SCHEMA.names,
    Call: [field.name for field in CALL],
    Step: [field.name for field in parts.SCHEMA.field("steps").type.value_type],
    VersionSpan: [field.name for field in CALL.field("versions").type.value_type],
    Context: [field.name for field in CALL.field("contexts").type.value_type],
    Scored: [field.name for field in CALL.field("scored").type.value_type],
}


@pytest.mark.parametrize("record", STORED)
def test_every_field_has_its_column(record: type) -> None:
    assert {field.name for field in fields(record)} == set(STORED[record])


def test_records_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        VersionSpan("ver_a", 1).tokens = 2  # type: ignore[misc]


def test_ids_fit_their_columns() -> None:
    assert parts.SCHEMA.field("group_id").type == pa.int64()
    assert parts.SCHEMA.field("grade_id").type == pa.int64()
