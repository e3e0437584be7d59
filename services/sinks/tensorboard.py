"""TensorBoard: event files below a directory, one folder for each run."""

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from services.sinks.contract import LibraryMissing, Point, SinkAway

PointKey = tuple[str, int]
"""Name and step of a point."""


class TensorBoard:
    """Appends to event files. A point that a run's files hold already is not written again."""

    def __init__(self, directory: str) -> None:
        try:
            import tensorboard.summary.writer.event_file_writer  # noqa: F401  # a missing library is reported at the start
        except ImportError as error:
            raise LibraryMissing("tensorboard", "tensorboard") from error
        self._directory = Path(directory)
        self._runs: dict[str, _EventFiles] = {}

    def write(self, points: Sequence[Point]) -> None:
        try:
            for run_id, of_run in groupby(points, key=lambda point: point.run_id):
                self._write_run(run_id, list(of_run))
        except OSError as error:
            for point in points:
                self._runs.pop(point.run_id, None)
            raise SinkAway(f"{self._directory}: {error}") from error

    def end(self, run_id: str, run_name: str, state: str) -> None:
        if run_id in self._runs:
            self._runs.pop(run_id).close()

    def close(self) -> None:
        for run_id in list(self._runs):
            self.end(run_id, "", "")

    def _write_run(self, run_id: str, points: list[Point]) -> None:
        if run_id not in self._runs:
            self._runs[run_id] = _EventFiles(self._directory / folder(points[0]))
        self._runs[run_id].append(points)


def folder(point: Point) -> str:
    """Return the name of a run's folder: readable and unique."""
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '_', point.run_name)}-{point.run_id}"


class _EventFiles:
    """The event files of one run: the existing ones, which are read once, and a new one."""

    def __init__(self, directory: Path) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._known = written(directory)
        self._writer: Any = EventFileWriter(str(directory))

    def append(self, points: list[Point]) -> None:
        new = [point for point in points if (point.name, point.step) not in self._known]
        for step, of_step in groupby(new, key=lambda point: point.step):
            self._writer.add_event(_event(step, list(of_step)))
        self._writer.flush()
        self._known.update((point.name, point.step) for point in new)

    def close(self) -> None:
        self._writer.close()


def written(directory: Path) -> set[PointKey]:
    """Return the name and step of every point in a directory's event files. A file may end in the middle of a point."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    files = sorted(directory.glob("events.out.tfevents.*"))
    events = (event for file in files for event in LegacyEventFileLoader(str(file)).Load())
    return {(value.tag, event.step) for event in events for value in event.summary.value}


def _event(step: int, points: list[Point]) -> Any:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    values = [Summary.Value(tag=point.name, simple_value=point.value) for point in points]
    return Event(wall_time=points[0].at, step=step, summary=Summary(value=values))
