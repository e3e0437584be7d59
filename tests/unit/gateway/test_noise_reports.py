"""The report of noise is made of stored answers, and shown as lines and as a page."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hone.cli import noise as lines
from hone.client.noise import NoiseReport
from hone.environments.tools import ToolCall
from hone.resolution import resolve
from hone.store import objects
from hone.trajectory import parts
from hone.trajectory.records import Call, Step, Trajectory
from services.console.pages.noise import page
from services.gateway import noise_reports

SPEC = resolve({"name": "noisy", "model": {"base": "toy"}, "steps": 2, "task": {
    "environment": "sqlite", "params": {"turns": 8}}, "eval": {"noise": {"types": ["error", "failure"]}}})
READ = ToolCall("query", {"sql": "SELECT 1"}).action()


def sample(index: int, injection: dict[str, Any]) -> Trajectory:
    call = Call(index=0, prompt_ids=[1], completion_ids=[2], logp_sample=[-1.0], finish_reason="stop", versions=[],
                text="", train_mask=[True])
    steps = [Step(0, 0, READ, [], "", "", True, injection=injection), Step(1, 0, "the answer", [], "", "", True)]
    return Trajectory(group_id=1, index=index, request_no=0, task={}, task_hash="", item={}, calls=[call], steps=steps,
                      status="ok", score=1.0, grade_id=0)


def row(series: str, task: str, score: float | None, place: int) -> dict[str, Any]:
    return {"group_id": place, "index": 0, "step": 2, "series": series, "task_hash": task, "score": score,
            "completion_tokens": 10, "part": "part", "row": place}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> NoiseReport:
    store = objects.connect(f"file://{tmp_path_factory.mktemp('objects')}")
    error = {"type": "error", "tool": "query", "original": "1", "injected": "2", "executed": True}
    store.put("part", parts.encode([sample(0, {}), sample(1, error), sample(2, {})]))
    rows = [row("sampled", "a", 1.0, 0), row("noise/error", "a", 0.25, 1), row("noise/error", "a", None, 2)]
    return noise_reports.make(store, "run_1", SPEC, rows)


def test_answers_are_counted_by_their_series_and_those_without_a_score_apart(found: NoiseReport) -> None:
    clean, error = found.rows
    assert (found.step, found.success, found.truncated) == (2, 1.0, False)
    assert (clean.noise, clean.reward, clean.drop, clean.turns, clean.injections) == ("", 1.0, None, 1.0, 0.0)
    assert (error.noise, error.trials, error.masked, error.drop, error.injections) == ("error", 1, 1, 0.75, 1.0)
    assert (error.stable, error.similar) == (1.0, 1.0), "it called the same tools"
    assert (error.entropy, error.misled, error.judged, error.deviated) == (1.0, 0.0, 0, None)


def test_values_of_the_noise_alone_mislead_and_verdicts_of_a_judge_are_read(tmp_path: Path) -> None:
    lure = {"type": "misleading", "tool": "query", "original": "7 rows", "injected": "7 rows, see 13", "executed": True}
    samples = [_answering(index, text, lure) for index, text in enumerate(["13 it is", "7", "id 99"])]
    store = objects.connect(f"file://{tmp_path}")
    store.put("part", parts.encode([*samples, replace(sample(3, {**lure, "failed": "it is empty"}), calls=[
        *samples[0].calls])]))
    judged = resolve({**SPEC.model_dump(), "eval": {"noise": {"types": ["misleading", "error"], "judge": "j"}}})
    rows = [row("noise/misleading", "a", 1.0, place) for place in range(4)]
    assert noise_reports.judged_groups(judged, [*rows, row("noise/error", "a", 1.0, 9)]) == [0, 1, 2, 3]
    assert noise_reports.judged_groups(SPEC, rows) == []
    verdicts = [{"group_id": place, "index": 0, "components": {"deviated": float(not place), "goal": 1.0}}
                for place in range(2)]
    [found] = noise_reports.make(store, "run_1", judged, rows, verdicts).rows
    assert (found.misled, found.failed, found.injections) == (0.25, 1, 0.75)
    assert (found.judged, found.deviated, found.undeviated) == (2, 0.5, 0.5)


def _answering(index: int, text: str, injection: dict[str, Any]) -> Trajectory:
    made = sample(index, injection)
    return replace(made, calls=[*made.calls, replace(made.calls[0], index=1, text=text)])


def test_it_is_shown_in_the_terminal_and_in_the_console(found: NoiseReport) -> None:
    assert lines.columns(found) == ["noise", "reward", "drop", "pass^1", "tokens", "turns", "injections", "stable",
                                   "similar", "entropy", "misled", "deviated"]
    assert list(lines.lines(found))[1][:4] == ["error", "0.250", "75.0%", "0.000"]
    assert "1 answers have no score and no part in this" in list(lines.below(found))
    shown = str(page(None, found))  # type: ignore[arg-type]
    assert "75.0 %" in shown
    assert "1 masked" in shown
    nothing = NoiseReport.model_validate(json.loads('{"run_id": "r", "step": null, "success": 1, "rows": []}'))
    assert "No noise" in str(page(None, nothing))  # type: ignore[arg-type]


def test_no_answers_make_an_empty_report(tmp_path: Path) -> None:
    made = noise_reports.make(objects.connect(f"file://{tmp_path}"), "run_1", SPEC, [])
    assert (made.step, made.rows) == (None, [])
