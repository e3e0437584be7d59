"""Every cost is the one that its benchmark's result holds, and grows along a line."""

import json
from pathlib import Path
from typing import Any

import pytest

from hone.sizing import costs
from hone.sizing.costs import Measured, Source

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = 256
"""Of a step of benchmarks.overhead."""


def result(source: Source) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / source.file).read_text())
    return found


@pytest.mark.parametrize("source", [costs.OVERHEAD, costs.INGEST, costs.FOOTPRINT], ids=lambda source: source.file)
def test_a_source_is_dated_and_named_as_its_file_says(source: Source) -> None:
    found = result(source)
    assert source.date == found["date"]
    assert source.machine == f"{found['machine']['cores']} cores of {found['machine']['cpu']}"


@pytest.mark.parametrize("kind", costs.PROCESSOR_MS)
def test_processor_time_is_that_of_the_overhead_benchmark(kind: str) -> None:
    scales = [result(costs.OVERHEAD)["scales"][name] for name in ("toy", "six_million")]
    cost = costs.PROCESSOR_MS[kind]
    name = kind if kind == "postgres" else f"{kind}-0"
    measured = [1000 * scale["cpu"]["by_process_s"][name] / SAMPLES for scale in scales]
    assert list(cost.costs) == pytest.approx(measured, rel=1e-3)
    assert list(cost.tokens) == pytest.approx([scale["mean_tokens"] for scale in scales], rel=1e-3)


@pytest.mark.parametrize(("name", "cost"), [
    ("tables", costs.ROW_BYTES), ("log", costs.LOG_BYTES), ("parts", costs.PART_BYTES)])
def test_bytes_of_a_sample_are_those_of_the_footprint_benchmark(name: str, cost: Measured) -> None:
    scales = [result(costs.FOOTPRINT)["scales"][scale] for scale in ("short", "longer")]
    assert list(cost.costs) == pytest.approx([scale["bytes_a_sample"][name] for scale in scales], rel=1e-3)
    assert list(cost.tokens) == pytest.approx([scale["mean_tokens"] for scale in scales], rel=1e-3)


def test_bytes_of_a_weight_are_those_of_the_footprint_benchmark() -> None:
    found = result(costs.FOOTPRINT)
    weights = found["parameter_bytes"] / 4
    longer = found["scales"]["longer"]
    assert pytest.approx(longer["version_bytes"] / weights, rel=0.01) == costs.VERSION_BYTES
    assert pytest.approx(longer["snapshot_bytes"] / weights, rel=0.01) == costs.SNAPSHOT_BYTES


def test_groups_a_second_are_those_of_the_ingest_benchmark() -> None:
    assert pytest.approx(result(costs.INGEST)["groups_per_s"]["hone"], rel=1e-3) == costs.GROUPS_A_SECOND


def test_a_cost_is_a_line_that_does_not_fall_below_its_first_point() -> None:
    cost = Measured((10.0, 20.0), (1.0, 3.0))
    assert [cost.at(tokens) for tokens in (5, 10, 15, 20, 40)] == [1.0, 1.0, 2.0, 3.0, 7.0]
