"""Parts: what is stored comes back, and stock tools read it."""

import io
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hone.trajectory import parts
from hone.trajectory.records import Call, Step, Trajectory, VersionSpan

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
    Step(0, 0, "go", [{"role": "user", "content": "here"}], "hash", "state", True, True, 0.5, ["stop"], ["box"]),
    Step(1, 2, "stop", [], "hash", "state", False, None, None, None, [])], harness="tool_loop", ended="max_turns")


@pytest.mark.parametrize("trajectories", [
    [], [TRAJECTORY], [MASKED], [TRAJECTORY, MASKED, LONG, TRAJECTORY], [replace(TRAJECTORY, calls=[SFT])]])
def test_what_is_stored_comes_back_in_order(trajectories: list[Trajectory]) -> None:
    assert parts.decode(parts.encode(trajectories)) == trajectories


def test_a_part_opens_as_a_plain_parquet_table() -> None:
    table = pq.read_table(io.BytesIO(parts.encode([TRAJECTORY, LONG])))
    assert table.schema.equals(parts.SCHEMA)
    row = table.to_pylist()[1]
    assert row["calls"][2]["index"] == 2
    assert row["calls"][0]["versions"] == [{"version_id": "ver_a", "tokens": 1}, {"version_id": "ver_b", "tokens": 1}]
    assert json.loads(row["task"]) == TRAJECTORY.task


def test_equal_trajectories_make_equal_bytes() -> None:
    assert parts.encode([LONG, MASKED]) == parts.encode([LONG, MASKED])


def test_bytes_that_are_no_part_are_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        parts.decode(b"no parquet")
