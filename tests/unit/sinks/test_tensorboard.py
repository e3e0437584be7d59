"""TensorBoard's event files, read back by TensorBoard's own reader."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from services.sinks.contract import Point

pytest.importorskip("tensorboard", reason="tensorboard is not installed (pip install -e .[tensorboard])")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from services.sinks.tensorboard import TensorBoard, written


def points(steps: range, run_id: str = "run_1", run_name: str = "sort digits") -> list[Point]:
    return [Point(run_id, run_name, step, name, step / 8, 1000.0 + step)
            for step in steps for name in ("loss", "eval/greedy")]


def read(directory: Path) -> dict[str, list[Any]]:
    found = EventAccumulator(str(directory), size_guidance={"scalars": 0})
    found.Reload()
    return {tag: found.Scalars(tag) for tag in found.Tags()["scalars"]}


def test_points_are_there_at_once_with_their_steps_and_times(tmp_path: Path) -> None:
    sink = TensorBoard(str(tmp_path))
    sink.write([*points(range(1, 4)), *points(range(1, 3), "run_2", "other")])
    assert {path.name for path in tmp_path.iterdir()} == {"sort_digits-run_1", "other-run_2"}
    series = read(tmp_path / "sort_digits-run_1")
    assert series.keys() == {"loss", "eval/greedy"}
    assert [(one.step, one.value, one.wall_time) for one in series["loss"]] == [
        (1, 0.125, 1001.0), (2, 0.25, 1002.0), (3, 0.375, 1003.0)]
    sink.close()


def test_points_that_come_again_to_this_process_or_the_next_are_written_once(tmp_path: Path) -> None:
    first = TensorBoard(str(tmp_path))
    first.write(points(range(1, 4)))
    first.write(points(range(2, 5)))
    after_a_crash = TensorBoard(str(tmp_path))
    after_a_crash.write(points(range(3, 7)))
    series = read(tmp_path / "sort_digits-run_1")
    assert [one.step for one in series["loss"]] == [1, 2, 3, 4, 5, 6]
    first.close()
    after_a_crash.close()


def test_a_file_that_a_crash_cut_off_counts_as_far_as_it_goes(tmp_path: Path) -> None:
    sink = TensorBoard(str(tmp_path))
    sink.write(points(range(1, 5)))
    sink.close()
    (file,) = (tmp_path / "sort_digits-run_1").glob("events*")
    file.write_bytes(file.read_bytes()[:-7])
    assert ("loss", 4) not in written(file.parent)
    again = TensorBoard(str(tmp_path))
    again.write(points(range(1, 5)))
    again.end("run_1", "sort digits", "succeeded")
    assert Counter(written(file.parent)) == Counter({("loss", n): 1 for n in range(1, 5)} | {
        ("eval/greedy", n): 1 for n in range(1, 5)})
