"""Experiments: means over seeds, expectations that can fail, and the page that tells of them."""

import pytest

from benchmarks.methods import EXPERIMENTS, bandits, report
from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from benchmarks.methods.measured import mean_curve, measure

FAKE = Experiment(
    "fake.md (b)", "Is one more than nothing?", "height", ("none", "one"),
    lambda variant, seed: Outcome({"end": (variant == "one") + seed / 10}, [0.0, seed]),
    (Expectation("one > none", lambda m: m["one"]["end"] > m["none"]["end"]),
     Expectation("none > one", lambda m: m["none"]["end"] > m["one"]["end"])))


def test_figures_are_averaged_over_seeds_and_expectations_may_fail() -> None:
    result, found = measure(FAKE, seeds=3)
    assert {variant: figures["end"] for variant, figures in result["means"].items()} == pytest.approx(
        {"none": 0.1, "one": 1.1})
    assert result["half_ranges"]["one"]["end"] == pytest.approx(0.1)
    assert [one["holds"] for one in result["expectations"]] == [True, False]
    assert mean_curve(found["one"]) == [0.0, 1.0]


def test_the_page_tells_what_was_missed() -> None:
    result, _ = measure(FAKE, seeds=2)
    page = report.page({"maspo": {**result, "machine": {"cores": 2, "cpu": "X"}, "date": "2026-01-01"}})
    assert "64 softmax bandits" in page
    assert "1 of 2 expected directions held in 1 experiments." in page
    assert "- held: one > none" in page
    assert "- **missed**: none > one" in page
    assert "| one | 1.05 |" in page


def test_every_experiment_has_a_baseline_and_expects_something() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert experiment.expects, name
        assert experiment.seeds >= 3, name
        assert experiment.source.split()[0].endswith(".md"), name


def test_losses_coincide_with_one_update_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandits, "UPDATES", 1)
    curves = [bandits.run.__wrapped__(loss, 0).curve for loss in ("ppo_clip", "clip_higher", "maspo")]
    assert max(abs(a - b) for a, b in zip(curves[0], curves[2], strict=True)) < 1e-6
    assert max(abs(a - b) for a, b in zip(curves[0], curves[1], strict=True)) < 1e-6
