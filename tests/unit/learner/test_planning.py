"""From graded samples to a step's plan: the groups that are kept, masked samples, and the learning rate."""

from typing import Any

import pytest

from services.learner.driver.operations import step_operations
from services.learner.driver.planning import choose, learning_rate, rollout_plan, supervised_plan
from tests.support.learner.samples import sample, slots, spec

GROUPS = [sample(101, 0, 1.0), sample(101, 1, 0.0), sample(102, 0, 1.0), sample(102, 1, 1.0)]


def test_without_a_filter_every_group_counts_even_one_without_signal() -> None:
    choice = choose(GROUPS, slots(preset="grpo"), prompts=2, states={})
    assert [group[0]["group_id"] for group in choice.kept] == [101, 102]
    assert choice.filtered_ids == []


def test_dynamic_sampling_removes_groups_without_signal_and_names_them() -> None:
    choice = choose(GROUPS, slots(preset="dapo"), prompts=2, states={})
    assert [group[0]["group_id"] for group in choice.kept] == [101]
    assert choice.filtered_ids == [102]


@pytest.mark.parametrize(("bounds", "scores", "kept"), [
    ((0.0, 1.0), [1.0, 0.0], True), ((0.0, 1.0), [1.0, 1.0], False), ((0.0, 1.0), [0.2, 0.4], True),
    ((-1.0, 1.0), [-1.0, 1.0], True), ((-1.0, 1.0), [-1.0, -1.0], False), ((-1.0, 1.0), [0.0, -1.0], True),
    ((0.0, 10.0), [10.0, 0.0], True), ((0.0, 10.0), [10.0, 10.0], False), ((0.0, 10.0), [4.0, 6.0], True),
    ((0.0, 10.0), [None, 10.0], False), ((0.0, 10.0), [None, None], False),
])
def test_contrast_is_read_on_the_graders_scale(
    bounds: tuple[float, float], scores: list[float | None], kept: bool
) -> None:
    samples = [sample(101, index, score) for index, score in enumerate(scores)]
    choice = choose(samples, slots(filter={"name": "contrast"}), 2, {}, bounds)
    assert bool(choice.kept) == kept


def test_a_filter_goes_on_from_the_step_before_and_the_plan_keeps_its_state() -> None:
    chosen = slots(filter={"name": "length_band", "params": {"memory": 0.5}})
    choice = choose(GROUPS, chosen, 2, {"filter": {"keep_rate": 0.8}})
    assert choice.state == {"keep_rate": 0.5 * 0.8 + 0.5 * 0.5}
    plan, _ = rollout_plan(spec(), chosen, 2, choice, lambda _: {})
    assert plan.state == {"filter": choice.state}


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, ""), ({"roles": {"teacher": {"model": "run_t"}}}, "model"),
    ({"contexts": {"privileged": [{"text": "hint"}], "top_k": 4}}, "context")])
def test_a_plan_says_whose_word_is_read_and_how_often_it_updates(changes: dict[str, Any], expected: str) -> None:
    made = spec(**changes, batch={"prompts": 2, "samples": 2, "minibatches": 2, "epochs": 3})
    plan, _ = rollout_plan(made, slots(), 1, choose(GROUPS, slots(), 2, {}), lambda _: {})
    assert (plan.teacher, plan.top_k, plan.updates) == (expected, 4 if expected == "context" else 0, 6)
    kinds = [payload.kind for _, payload in step_operations("run_a", plan)]
    assert kinds == ["forward_backward", "optim_step"] * 6 + ["save"]


def test_plan_names_grades_rewards_and_parts_in_request_order() -> None:
    samples = [*GROUPS[:2], sample(102, 0, None, status="infra_error"), GROUPS[3]]
    chosen = slots(preset="grpo")
    plan, metrics = rollout_plan(spec(), chosen, 3, choose(samples, chosen, 2, {}), lambda _: pytest.fail("not asked"))
    assert [group.group_id for group in plan.groups] == [101, 102]
    assert plan.groups[1].rewards == [None, 1.0]
    assert plan.groups[1].grade_ids == [1020, 1021]
    assert plan.parts == ["part0", "part1"]
    assert [group.parts for group in plan.groups] == [["part1"], ["part0"]]
    assert metrics["reward/mean"] == pytest.approx(2 / 3)
    assert metrics["reward/masked"] == 1.0


def test_rloo_gets_the_running_means_of_its_prompts() -> None:
    chosen = slots(preset="rloo")
    plan, _ = rollout_plan(spec(), chosen, 1, choose(GROUPS, chosen, 2, {}), lambda hashes: {hashes[0]: 0.25})
    assert [group.baseline for group in plan.groups] == [0.25, None]
    shaped = slots(preset="rloo", reward={"name": "overlong"})
    plan, _ = rollout_plan(spec(), shaped, 1, choose(GROUPS, shaped, 2, {}), lambda _: pytest.fail("not shaped"))
    assert [group.baseline for group in plan.groups] == [None, None]


@pytest.mark.parametrize(("n", "expected"), [(1, 2e-4), (6, 2e-4), (10, 2e-4 / 3)])
def test_linear_schedule_decays_over_its_last_part(n: int, expected: float) -> None:
    optimizer = {"lr": 2e-4, "schedule": "linear", "schedule_params": {"decay_fraction": 0.3}}
    assert learning_rate(spec(optimizer=optimizer), n) == pytest.approx(expected, rel=1e-6)


def test_a_supervised_plan_is_one_part_and_no_groups() -> None:
    plan = supervised_plan(spec(), slots(preset="sft"), 1, "runs/r/parts/p.parquet")
    assert (plan.builder, plan.parts, plan.groups) == ("dataset", ["runs/r/parts/p.parquet"], [])


@pytest.mark.parametrize(("scores", "share"), [
    ([1.0, 0.0, 1.0, 1.0], 0.0), ([0.5, 0.0, 0.25, 1.0], 0.5), ([None, 0.5, None, 1.0], 0.5), ([None] * 4, 0.0)])
def test_rewards_that_are_neither_right_nor_wrong_are_counted(scores: list[float | None], share: float) -> None:
    samples = [{**row, "score": score} for row, score in zip(GROUPS, scores, strict=True)]
    _, metrics = rollout_plan(spec(), slots(), 1, choose(samples, slots(), 2, {}), lambda _: {})
    assert metrics["reward/between"] == share


MIXED = {"mixture": [
    {"name": "a", "weight": 1, "environment": "sort_digits", "sampling": {"max_tokens": 9}},
    {"name": "b", "weight": 1, "environment": "sort_digits", "grader": {"type": "string_check", "operation": "eq",
     "input": "{{ sample.output_text }}", "reference": "x"}}, {"name": "c", "weight": 1, "environment": "sqlite"}]}


def test_each_source_of_a_mixture_has_metrics_of_its_own() -> None:
    rows = [sample(101, 0, 1.0, source="a"), sample(101, 1, 0.5, source="a", completion_tokens=8),
            sample(102, 0, None, source="b"), sample(102, 1, 1.0, source="b")]
    made = spec(task=MIXED)
    plan, metrics = rollout_plan(made, slots(), 1, choose(rows, slots(), 2, {}), lambda _: {})
    assert plan.max_tokens == 256
    assert {name: metrics[name] for name in metrics if name.startswith("source/a/")} == {
        "source/a/groups": 1.0, "source/a/signal_share": 1.0,
        "source/a/reward/length_correlation": -1.0, "source/a/reward/mean": 0.75, "source/a/reward/masked": 0,
        "source/a/reward/between": 0.5, "source/a/reward/pass_rate": 0.5, "source/a/completion/mean_tokens": 7.0,
        "source/a/completion/max_tokens": 8.0, "source/a/completion/tokens": 14.0, "source/a/completion/truncated": 0}
    assert (metrics["source/b/reward/masked"], metrics["source/b/signal_share"]) == (1.0, 0.0)
    assert {name for name in metrics if name.startswith("source/c/")} == {"source/c/groups", "source/c/signal_share"}
    assert metrics["reward/mean"] == pytest.approx(2.5 / 3)


def test_a_plain_task_has_no_metrics_of_sources() -> None:
    _, metrics = rollout_plan(spec(), slots(), 1, choose(GROUPS, slots(), 2, {}), lambda _: {})
    assert not [name for name in metrics if name.startswith("source/")]
