"""Rollouts to a target: levels without a word in common, equal arms, where a curve gets to, and the page of it all."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from benchmarks.through_services import levels, reaching, rollouts_to_target, target_page
from benchmarks.through_services.curves import Point
from hone.environments.reasoning_gym import ReasoningGymParams, score
from hone.resolution import resolve, sources


def run_of(values: list[float], step: int = 100) -> list[Point]:
    return [Point(place, place * step, value, value) for place, value in enumerate(values)]


def test_levels_are_tasks_of_the_package_and_what_is_shown_trained_and_held_out_has_no_word_in_common() -> None:
    rows, shown = levels.datasets(), list(levels.demonstrations(300, careless=0.0))
    prompts = [row["prompt"] for row in chain(*rows.values())]
    assert len(set(prompts)) == len(prompts) == len(levels.LETTERS) * (levels.TRAINED + levels.HELD_OUT)
    assert not {row["prompt"] for row in shown} & set(prompts)
    assert all(row["prompt"].endswith(": " + row["completion"][::-1]) for row in shown)
    lengths = [len(row["completion"]) for row in shown]
    assert set(lengths) == set(levels.LETTERS)
    assert lengths.count(3) > lengths.count(10)
    slipped = list(levels.demonstrations(300, careless=0.05))
    assert 0 < sum(row != right for row, right in zip(slipped, shown, strict=True)) < 300
    known = ReasoningGymParams.model_validate({"task": "spell_backward", "min_word_len": 10, "max_word_len": 10})
    assert score(known, 0, rows["words-10"][0]["answer"]) == 1


def test_arms_differ_in_the_method_alone_and_have_equal_budgets() -> None:
    arms = {arm: resolve({**spec, "name": arm, "model": {"base": "b"}})
            for arm, spec in rollouts_to_target.ARMS.items()}
    baseline = arms[rollouts_to_target.BASELINE]
    for spec in arms.values():
        assert spec.batch.prompts * spec.batch.samples == baseline.batch.prompts * baseline.batch.samples
        assert (spec.task, spec.eval, spec.optimizer, spec.steps) == (
            baseline.task, baseline.eval, baseline.optimizer, baseline.steps)
        assert [one.name for one in sources.held_out(spec)] == [levels.name(one) for one in levels.LETTERS]
    resolve({**rollouts_to_target.teaching(), "model": {"base": "b"}})


def test_a_target_is_reached_where_the_smoothed_curve_first_is_there() -> None:
    run = run_of([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert [value for _, value in reaching.smoothed(run)] == pytest.approx([0.1, 0.15, 0.2, 0.3, 0.35, 0.4])
    assert reaching.reached(run, 0.25) == pytest.approx(250)
    assert reaching.reached(run, 0.1) == 0
    assert reaching.reached(run, 0.41) is None
    assert reaching.target(run) == pytest.approx(0.9 * 0.3)


def test_a_ratio_has_an_interval_only_where_every_seed_got_there() -> None:
    found = reaching.ratio([70.0, 80.0, 90.0], [100.0, 100.0, 100.0])
    assert [found.mean, found.width] == pytest.approx([0.8, 4.303 * 0.1 / 3**0.5])
    assert reaching.ratio([70.0, None], [100.0, 100.0]) == ([0.7, None], None, None)


def series_of(values: list[float]) -> dict[str, list[tuple[int, float]]]:
    names = [levels.name(letters) for letters in levels.LETTERS]
    own = {"rollouts/signal_share": [(1, 0.5)], "rollouts/group_mean": [(1, 8.0)], "advantage/zero_share": [(1, 0.5)],
           "value/band/0-20/groups": [(1, 4.0), (2, 2.0)], "value/band/0-20/rollouts": [(1, 10.0), (2, 4.0)],
           "value/band/0-20/expected": [(1, 0.1), (2, 0.1)], "value/band/0-20/actual": [(1, 0.0), (2, 0.3)]}
    each = {f"source/{name}/{metric}": points for name in names for metric, points in {
        "eval/sampled": list(enumerate(values)), "groups": [(1, 2.0)], "completion/tokens": [(1, 60.0)],
        "completion/mean_tokens": [(1, 6.0)]}.items()}
    return {**own, **each}


def kept_of(seeds: dict[str, list[list[float]]]) -> dict[str, Any]:
    names = [levels.name(letters) for letters in levels.LETTERS]
    arms = {arm: {"spec": rollouts_to_target.ARMS[arm], "raw": [
        {"seed": seed, "points": [point.__dict__ for point in run_of(values)],
         "levels": reaching.by_level(series_of(values), names), "figures": reaching.figures(series_of(values)),
         "bands": reaching.bands(series_of(values))} for seed, values in enumerate(runs, 1)]}
        for arm, runs in seeds.items()}
    return {"target": 0.25, "rows": {"trained": 96, "held_out": 64}, "arms": arms, "date": "2026-01-01",
            "machine": {"cores": 2, "cpu": "a CPU"}, "start": {"sampled": dict.fromkeys(names, 0.1)},
            "pilot": {"arms": {"uniform, 8": {"raw": [{"seed": 100}]}}}}


def test_the_page_says_where_an_arm_never_got_and_where_its_rollouts_went(tmp_path: Path) -> None:
    kept = kept_of({"uniform, 8": [[0.1, 0.2, 0.3, 0.4, 0.5]] * 2, "v0": [[0.1, 0.1, 0.1, 0.1, 0.1]] * 2})
    page = target_page.page(kept)
    assert "| uniform, 8 | 100, 100 | 1.00 ± 0.00 (1.00, 1.00) |" in page
    assert "| v0 | > 400, > 400 | –, – |" in page
    assert f"| v0 | {' | '.join(['16.7%'] * 6)} | 8.0 (8.0 to 8.0) |" in page
    assert "| 100%, 8.0, 0.10 |" in page
    target_page.draw(kept, tmp_path / "a.svg")
    target_page.draw(kept, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    merged = rollouts_to_target.merged(kept, kept_of({"v0": [[0.1, 0.5, 0.5, 0.5, 0.5]]}))
    assert [run["seed"] for run in merged["arms"]["v0"]["raw"]] == [1, 2]
    assert merged["arms"]["v0"]["raw"][0]["points"][1]["sampled"] == 0.5
