"""Preflights by all services: what a run would do is found out, and no run is there afterwards."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hone.client.preflight import PreflightReport
from tests.acceptance import toy
from tests.acceptance.scene import Scene

ROWS = b"""{"prompt": "s317=", "answer": "137", "completion": "137"}
{"prompt": "s204=", "answer": "024", "completion": "024"}
{"prompt": "s951=", "answer": "", "completion": "159"}
"""


@pytest.fixture(scope="module")
def base(plain: Scene, bases: Callable[..., Path]) -> str:
    plain.client.upload_dataset("preflight-rows", ROWS)
    return plain.client.upload_model("preflight-base", bases(careless=0.5)).name


def levels(report: PreflightReport) -> dict[str, str]:
    """Return the worst level of each check."""
    return {one.check: one.level for one in reversed(report.findings)}


def test_the_base_answers_the_first_tasks_and_nothing_is_created(plain: Scene, base: str) -> None:
    before = plain.client.run_counts()
    report = plain.client.preflight(toy.spec("looked at", base, steps=2))
    assert report.ok, report.findings
    assert {**levels(report), "groups with signal": ""} == {
        "spec": "ok", "ends": "ok", "references": "ok", "length of prompts": "ok", "ends of samples": "ok",
        "grades": "ok", "groups with signal": "", "vocabulary": "ok"}
    assert plain.client.run_counts() == before
    assert "looked at" not in [run.name for run in plain.client.runs(search="looked").data]
    trained(plain, report)
    assert [len(one.tokens.ids) for one in report.prompts] == [5, 5, 5]
    assert report.lengths[0].counted == 64
    assert report.signal is not None
    assert report.signal.samples == 8
    assert [cost.name for cost in report.times] == ["a step: sampling", "a step: training"]


def trained(plain: Scene, report: PreflightReport) -> None:
    """Assert that each sample is a stored one with a grade, and that its tokens are those that a step would train."""
    assert report.run_id is not None
    assert len(report.samples) == 8
    for sample in report.samples:
        stored = plain.client.trajectory(report.run_id, sample.group_id, sample.index)
        assert sample.tokens.ids == stored.calls[0]["completion_ids"]
        assert (sample.score, sample.trained) == (stored.score, [True] * len(sample.tokens.ids))
        assert stored.purpose == "pilot"
    assert plain.rows("SELECT id FROM operations WHERE model_id = (SELECT policy_model_id FROM runs WHERE id = %s)",
                      report.run_id) == [], "no trainer was asked"


def test_what_is_wrong_is_a_finding_with_what_mends_it(plain: Scene, base: str) -> None:
    rows: dict[str, Any] = {"dataset": "preflight-rows"}
    report = plain.client.preflight(toy.spec(
        "cut off", base, steps=2, task=rows, grader={"type": "exact", "reference": "{{ item.answer }}"},
        sampling={"max_tokens": 2}, eval=None))
    assert levels(report)["ends of samples"] == "warning"
    assert levels(report)["references"] == "warning"
    mends = {one.check: one.mend for one in report.findings}
    assert "sampling.max_tokens" in mends["ends of samples"]


def test_supervised_rows_are_shown_with_their_trained_tokens_and_sampled_later(plain: Scene, base: str) -> None:
    report = plain.client.preflight(toy.spec(
        "two stages", base, steps=4, eval=None, stages=[
            {"name": "warm-up", "until": 2, "algorithm": "sft", "task": {"dataset": "preflight-rows"}}]))
    assert report.ok, report.findings
    first = report.prompts[0]
    assert first.task == "warm-up: row 1"
    completion = first.completions[0]
    assert "".join(completion.tokens.texts[:-1]) == "137"
    assert completion.trained == [True] * 4
    assert completion.tokens.control == [3]
    assert len(report.samples) == 8, "the stage that samples is sampled"


def test_a_spec_that_does_not_fit_is_a_report_and_a_base_that_is_absent_is_not_looked_at(plain: Scene) -> None:
    report = plain.client.preflight(toy.spec("nowhere", "absent", steps=2))
    assert not report.ok
    assert [one.check for one in report.findings if one.level == "error"] == ["model.base"]
    assert report.samples == []
