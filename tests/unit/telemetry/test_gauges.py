"""Rows become metrics: a sample for each row, except where the column is null."""

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from hone.store.sql import statement
from hone.telemetry import gauges

EMPTY: dict[str, list[dict[str, Any]]] = {name: [] for name in gauges.STATEMENTS}


def samples(found: dict[str, list[dict[str, Any]]]) -> dict[tuple[str, tuple[str, ...]], float]:
    return {(sample.name, tuple(sample.labels.values())): sample.value
            for family in text_string_to_metric_families(gauges.text(found)) for sample in family.samples}


def test_every_statement_exists() -> None:
    assert all(statement(name) for name in gauges.STATEMENTS)


def test_names_are_exported_without_a_row() -> None:
    names = {family.name for family in text_string_to_metric_families(gauges.text(EMPTY))}
    assert names == {family.name for family in gauges.FAMILIES}


def test_a_row_is_a_sample_with_its_labels() -> None:
    found = {**EMPTY, "gauges.groups": [{"purpose": "train", "state": "ready", "groups": 3, "oldest_s": 1.5}],
             "gauges.engine_models": [
                 {"engine": 'e"1', "model": "m", "generated_tokens": 7, "generated_samples": 2, "computed_s": 0.5}]}
    assert samples(found) == {
        ("hone_groups", ("train", "ready")): 3, ("hone_groups_oldest_seconds", ("train", "ready")): 1.5,
        ("hone_engine_tokens_total", ('e"1', "m")): 7, ("hone_engine_samples_total", ('e"1', "m")): 2,
        ("hone_engine_computed_seconds_total", ('e"1', "m")): 0.5}


def test_a_null_is_left_out() -> None:
    row = dict.fromkeys((family.column for family in gauges.FAMILIES if family.statement == "open_runs"), None)
    found = {**EMPTY, "gauges.open_runs": [{**row, "run": "run_1", "step": 0, "gap": "0.25"}]}
    assert samples(found) == {("hone_run_step", ("run_1",)): 0, ("hone_run_gap_nats", ("run_1",)): 0.25}
