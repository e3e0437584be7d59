"""Every metric has an entry and a group, and docs/metrics.md shows the whole table."""

import random
from pathlib import Path

import pytest

from hone.algorithms.slots import SLOTS
from hone.client import metric_catalog
from hone.client.metric_table import (
    ADVANTAGE,
    GROUPS,
    LOSS,
    OTHER,
    REGULARIZERS,
    REWARD,
    SOURCES,
    VERIFICATION,
    WORK,
)
from hone.client.metric_types import Metric

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_groups_are_in_the_order_of_a_step_and_nothing_is_lost() -> None:
    names = ["lr", "reward/mean", "eval/greedy", "gap/mean", "staleness/max", "filtered_groups", "rejected_rewards",
             "advantage/groups", "modulation/gate", "correction/weight_max", "loss", "loss/schema/clip_fraction",
             "regularizers/kl.0/mean", "critic/loss", "verify/loss", "source/a/reward/mean", "trainer/idle_s",
             "weather", "weather/rain"]
    random.Random(0).shuffle(names)
    found = metric_catalog.grouped(names)
    assert [group.title for group, _ in found] == [
        "Reward and evaluation", "Rollouts", "Filter", "Reward processing", "Advantage", "Modulation", "Correction",
        "Policy loss", "Regularizers", "Critic", "Optimizer and schedule", "Verification", "Sources of tasks",
        "Time and storage", "Other"]
    assert sorted(name for _, members in found for name in members) == sorted(names)


def test_groups_without_metrics_are_left_out() -> None:
    assert metric_catalog.grouped([]) == []
    assert [group for group, _ in metric_catalog.grouped(["loss"])] == [LOSS]


def test_metrics_of_a_group_are_in_the_order_of_the_table() -> None:
    names = ["loss/ratio_p95", "loss/schema/ratio_p95", "entropy", "loss/full/ratio_p95", "loss"]
    [(_, members)] = metric_catalog.grouped(names)
    assert members == ["loss", "entropy", "loss/full/ratio_p95", "loss/ratio_p95", "loss/schema/ratio_p95"]


@pytest.mark.parametrize(("name", "group", "title", "unit"), [
    ("eval/greedy", REWARD, "Held-out accuracy, greedy", ""),
    ("eval/masked", REWARD, "Masked held-out samples", "samples"),
    ("advantage/z_rms_exec_time", ADVANTAGE, "Spread of exec time", ""),
    ("loss/clip_fraction", LOSS, "Clipped tokens", "share"),
    ("loss/teacher_path/clip_fraction", LOSS, "Clipped tokens, teacher path", "share"),
    ("regularizers/kl.2/mean", REGULARIZERS, "Distance to the reference", "nats a token"),
    ("verify/reward/mean", VERIFICATION, "Mean reward", ""),
    ("verify/loss/full/clip_fraction", VERIFICATION, "Clipped tokens, full", "share"),
    ("source/my_sql/reward/mean", SOURCES, "Mean reward, my_sql", ""),
    ("source/my_sql/groups", SOURCES, "Groups, my_sql", "groups"),
    ("source/my_sql/eval/greedy", SOURCES, "Held-out accuracy, greedy, my_sql", ""),
    ("source/my_sql/weather", OTHER, "Source: my sql: weather", ""),
    ("trainer/export_s", WORK, "Export", "s"),
    ("storage/write_back", OTHER, "Storage: write back", ""),
    ("verify/weather", OTHER, "Verify: weather", ""),
    ("loss/full/weather", OTHER, "Loss: full: weather", ""),
])
def test_a_name_is_found(name, group, title, unit) -> None:
    found = metric_catalog.find(name)
    assert (found.group.title, found.metric.title, found.metric.unit) == (group.title, title, unit)


def test_only_what_the_table_has_is_known() -> None:
    assert metric_catalog.known("storage/write_back") is None
    assert metric_catalog.known("verify/loss") is not None


def test_a_verification_step_says_so() -> None:
    assert metric_catalog.find("verify/grad_norm").metric.meaning == (
        "Of verification steps: Norm of the gradient before clipping.")


def test_a_name_is_in_one_group_alone() -> None:
    names = [name for group in GROUPS for name in group.metrics]
    assert len(names) == len(set(names))


def test_every_group_names_slots_that_there_are() -> None:
    assert {slot for group in GROUPS for slot in group.slots} <= set(SLOTS)


def test_words_are_whole() -> None:
    for name, (title, _, meaning) in ((name, metric) for group in GROUPS for name, metric in group.metrics.items()):
        assert title, name
        assert meaning.endswith((".", "}")), name
        assert len(meaning) <= 100, name


def test_the_page_shows_the_table() -> None:
    expected = [row(name, metric) for group in GROUPS for name, metric in group.metrics.items()]
    shown = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert shown == expected, "docs/metrics.md is to have:\n" + "\n".join(expected)


def test_the_page_has_the_groups_in_order() -> None:
    headings = [line.removeprefix("## ") for line in PAGE.read_text().splitlines() if line.startswith("## ")]
    assert headings == [group.title for group in GROUPS]


def row(name: str, metric: Metric) -> str:
    """Return the line of a metric on the page."""
    return f"| `{name}` | {metric.title} | {metric.unit} | {metric.meaning} |"
