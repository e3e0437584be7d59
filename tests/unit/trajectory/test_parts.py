"""Parts: stored trajectories come back, and stock tools read parts."""

import io
import json
from collections.abc import Collection
from dataclasses import MISSING, fields, replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hone.trajectory import parts
from hone.trajectory.records import Call, Context, Scored, Span, Step, Trajectory, VersionSpan
from tests.unit.trajectory.samples import call, trajectory

CALL = Call(
    index=0, prompt_ids=[3, 1], completion_ids=[5, 2], logp_sample=[-0.5, -0.25], finish_reason="stop",
    versions=[VersionSpan("ver_a", 1), VersionSpan("ver_b", 1)], text="x", train_mask=[True, False],
    sampling={"max_tokens": 4, "stop": ["\n"]}, engine="native {}")
TRAJECTORY = Trajectory(
    group_id=2**40, index=3, request_no=17, task={"environment": "sort_digits", "item": None}, task_hash="ab",
    item={"answer": "12"}, calls=[CALL], steps=[], status="ok", score=1.0, grade_id=9)
SFT = replace(CALL, logp_sample=[], versions=[])
MASKED = replace(TRAJECTORY, status="infra_error", score=None, grade_id=None, calls=[])
LONG = replace(TRAJECTORY, calls=[CALL, SFT, replace(CALL, index=2)], steps=[
    Step(0, 0, "go", [{"role": "user", "content": "here"}], "hash", "state", True, True, 0.5, ["stop"], ["box"],
         {"length": -0.1, "right": 1 / 3}),
    Step(1, 2, "stop", [], "hash", "state", False, None, None, None, [])], harness="tool_loop", ended="max_turns")
TAUGHT = replace(TRAJECTORY, calls=[CALL, replace(
    CALL, contexts=[Context("hint", [7, 3, 1], "9f86"), Context("none", [], "")], scored=[
        Scored("reference", "ver_a", [-0.75, -0.125]),
        Scored("teacher", "ver_b", [-0.25, -0.5], [5, 1, 2, 9], [-0.25, -1.5, -0.5, -2.0])])])
NAMED = replace(TRAJECTORY, calls=[replace(CALL, spans=[Span("query", 0, 2, 1 / 3), Span("schema", 1, 1)]), CALL])
SURE = replace(TRAJECTORY, calls=[replace(CALL, entropy=1 / 3), CALL])


@pytest.mark.parametrize("trajectories", [
    [], [TRAJECTORY], [MASKED], [TRAJECTORY, MASKED, LONG, TRAJECTORY], [replace(TRAJECTORY, calls=[SFT])],
    [TAUGHT, LONG, MASKED, TAUGHT], [NAMED, MASKED, SURE]])
def test_what_is_stored_comes_back_in_order(trajectories: list[Trajectory]) -> None:
    assert parts.decode(parts.encode(trajectories)) == trajectories


def test_a_part_opens_as_a_plain_parquet_table() -> None:
    table = pq.read_table(io.BytesIO(parts.encode([TRAJECTORY, LONG])))
    assert table.schema.equals(parts.SCHEMA)
    row = table.to_pylist()[1]
    assert row["calls"][2]["index"] == 2
    assert row["calls"][0]["versions"] == [{"version_id": "ver_a", "tokens": 1}, {"version_id": "ver_b", "tokens": 1}]
    assert json.loads(row["task"]) == TRAJECTORY.task


def without(column: pa.Array, names: Collection[str]) -> pa.Array:
    """Return a column whose structs, at any depth, lack the fields of these names."""
    if pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type):
        return pa.ListArray.from_arrays(column.offsets, without(column.values, names))
    if not pa.types.is_struct(column.type):
        return column
    kept = [field.name for field in column.type if field.name not in names]
    return pa.StructArray.from_arrays([without(column.field(name), names) for name in kept], names=kept)


def older(trajectories: list[Trajectory], names: Collection[str]) -> bytes:
    """Return a part as it was written when no record had the fields of these names."""
    table = pq.read_table(io.BytesIO(parts.encode(trajectories)))
    kept = [name for name in table.column_names if name not in names]
    columns = [without(table.column(name).combine_chunks(), names) for name in kept]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, names=kept), sink)
    return sink.getvalue()


def test_a_part_of_before_calls_had_contexts_and_scores_comes_back_with_none() -> None:
    bare = replace(TAUGHT, calls=[CALL, CALL])
    assert parts.decode(older([TAUGHT, LONG, MASKED], ["contexts", "scored"])) == [bare, LONG, MASKED]


def test_a_part_of_before_turns_were_graded_comes_back_with_what_they_were_paid() -> None:
    bare = replace(LONG, steps=[replace(step, rules={}) for step in LONG.steps])
    assert parts.decode(older([LONG, MASKED], ["rules"])) == [bare, MASKED]


def test_a_part_of_before_harnesses_named_spans_comes_back_with_none() -> None:
    bare = replace(NAMED, calls=[CALL, CALL])
    assert parts.decode(older([NAMED, TAUGHT, MASKED], ["spans"])) == [bare, TAUGHT, MASKED]


@pytest.mark.parametrize("record", [Trajectory, Call, Step, Scored])
def test_what_a_part_lacks_has_the_default_of_its_record(record: type) -> None:
    for field in fields(record):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if default is MISSING:
            continue
        whole = parts.decode(older([TAUGHT, LONG], [field.name]))
        assert {repr(getattr(one, field.name)) for one in of(record, whole)} == {repr(default)}
        other = next(one.name for one in fields(record) if one.name != field.name)
        assert [getattr(one, other) for one in of(record, whole)] == [
            getattr(one, other) for one in of(record, [TAUGHT, LONG])]


def of(record: type, trajectories: list[Trajectory]) -> list[object]:
    """Return the records of a kind in trajectories."""
    calls = [call for one in trajectories for call in one.calls]
    found: dict[type, list[object]] = {
        Trajectory: [*trajectories], Call: [*calls], Step: [step for one in trajectories for step in one.steps],
        Scored: [scored for call in calls for scored in call.scored]}
    return found[record]


def test_defaults_are_not_shared() -> None:
    first, second = parts.decode(older([TAUGHT], ["contexts"]))[0].calls
    assert first.contexts is not second.contexts


@pytest.mark.parametrize(("lost", "record"), [
    ("prompt_ids", "Call"), ("group_id", "Trajectory"), ("tokens", "VersionSpan")])
def test_a_part_that_lacks_what_has_no_default_is_refused_by_name(lost: str, record: str) -> None:
    with pytest.raises(ValueError, match=f"found no {lost} of a {record}"):
        parts.decode(older([LONG], [lost]))


def test_equal_trajectories_make_equal_bytes() -> None:
    assert parts.encode([LONG, MASKED]) == parts.encode([LONG, MASKED])


def test_bytes_that_are_no_part_are_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        parts.decode(b"no parquet")
    sink = io.BytesIO()
    pq.write_table(pa.table({"strange": [1]}), sink)
    with pytest.raises(ValueError, match="strange"):
        parts.decode(sink.getvalue())


def test_each_trajectory_says_its_item_and_its_last_answer() -> None:
    first, last = (replace(call([1, 2], [3]), text=text) for text in ("one", "two"))
    stored = [replace(trajectory(7, 0, first), item={"prompt": "a?"}),
              replace(trajectory(7, 1, first, last), item={"prompt": "a?", "more": [1]})]
    assert parts.texts(parts.encode(stored)) == {
        (7, 0): parts.SampleText({"prompt": "a?"}, "one"),
        (7, 1): parts.SampleText({"prompt": "a?", "more": [1]}, "two")}


def test_what_is_no_part_says_nothing() -> None:
    with pytest.raises(pa.ArrowInvalid):
        parts.texts(b"no part")
