"""Samples are read in the order of their rows, whichever parts hold them: what is made of them is the same."""

from typing import Any

from hone.algorithms.topocurate.curation import CurationParams
from hone.algorithms.topocurate.manifest import entries
from hone.trajectory import parts, stored_samples
from tests.support.gateway.curations import Objects, row, sample

SAMPLES = [sample(index, letters, score, task) for index, (letters, score, task) in enumerate((
    ("AB", 1.0, "b" * 64), ("AC", 0.0, "b" * 64), ("A", 1.0, "a" * 64), ("AD", 0.0, "a" * 64)))]


def held(*layout: tuple[int, ...]) -> tuple[Any, list[dict[str, Any]]]:
    """Return the samples in parts of this layout, and their rows in order."""
    stored = {f"part{number}": parts.encode([SAMPLES[one] for one in own]) for number, own in enumerate(layout)}
    of = {one: (f"part{number}", place) for number, own in enumerate(layout) for place, one in enumerate(own)}
    return Objects(**stored), [row(of[one][1], SAMPLES[one], of[one][0]) for one in range(len(SAMPLES))]


def test_parts_change_nothing() -> None:
    made = []
    for layout in (((0, 1, 2, 3),), ((3, 0), (2, 1)), ((0,), (2,), (1,), (3,))):
        objects, rows = held(*layout)
        samples, complete = stored_samples.read(objects, rows)
        assert complete
        assert [one.index for _, one in samples] == [0, 1, 2, 3]
        made.append(entries(samples, {"": 1.0}, CurationParams()))
    assert made[0] == made[1] == made[2]
    assert [one.task_hash[0] for one in made[0]] == ["a", "b"]
    objects, rows = held((3, 0), (2, 1))
    assert stored_samples.read(objects, rows, most_bytes=1) == ([], False)
