"""The conclusions of a preflight: from what it saw to findings, each with what to do."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from hone.client.preflight import (
    EndToken,
    Finding,
    GradedReferences,
    GradedSample,
    ShownPrompt,
    Tokens,
    WrongReference,
)
from hone.doctor.preflight import conclusions, costs, lengths, signal
from hone.doctor.preflight.costs import Measured
from hone.doctor.preflight.lengths import Counted, TokenLimit
from hone.models import architecture, toy
from hone.resolution import resolve
from hone.spec.run import RunSpec
from hone.spec.settings import Settings


def spec(**changes: Any) -> RunSpec:
    return resolve({"name": "x", "model": {"base": "b"}, "task": {"dataset": "d"}, "grader": {
        "type": "exact", "reference": "{{ item.answer }}"}, "sampling": {"max_tokens": 8}, "steps": 1, **changes})


def sample(finish: str = "stop", score: float | None = 1.0, status: str = "ok", reason: str = "") -> GradedSample:
    return GradedSample(
        group_id=1, index=0, prompt_tokens=5, completion_tokens=3, finish_reason=finish, ended="done", status=status,
        score=score, reasons=[reason] if reason else [], prompt="", text="", tokens=Tokens(ids=[], texts=[]),
        trained=[])


def prompt(*ids: int, reasoning: str = "") -> ShownPrompt:
    tokens = Tokens(ids=list(ids), texts=["a"] * len(ids))
    return ShownPrompt(task=f"row {len(ids)}", tokens=tokens, reasoning=reasoning)


def levels(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(finding.check, finding.level) for finding in findings]


CUT, RIGHT = sample("length", 0.0), sample()
BROKEN = sample(score=None, status="invalid_spec", reason="item.answer is missing")
DROPPED = spec(algorithm={"preset": "grpo", "truncated": "drop"})


@pytest.mark.parametrize(("samples", "run", "expected"), [
    ([RIGHT] * 8, spec(), [("ends of samples", "ok"), ("grades", "ok")]),
    ([CUT] * 7 + [RIGHT], spec(), [("ends of samples", "warning"), ("grades", "ok")]),
    ([CUT] * 8, DROPPED, [("ends of samples", "error"), ("grades", "ok")]),
    ([CUT] + [RIGHT] * 15, spec(), [("ends of samples", "ok"), ("grades", "ok")]),
    ([BROKEN] * 8, spec(), [("ends of samples", "ok"), ("grades", "error")]),
    ([BROKEN] + [RIGHT] * 7, spec(), [("ends of samples", "ok"), ("grades", "warning"), ("grades", "ok")]),
    ([sample(score=0.0, status="no_answer", reason="no box")] * 8, spec(),
     [("ends of samples", "ok"), ("answers", "warning")]),
    ([], spec(), []),
])
def test_samples(samples: list[GradedSample], run: RunSpec, expected: list[tuple[str, str]]) -> None:
    assert levels(conclusions.of_samples(samples, run)) == expected


def test_a_finding_names_the_number_and_the_field_that_mends_it() -> None:
    cut, *_ = conclusions.of_samples([CUT] * 7 + [RIGHT], spec())
    assert cut.found == "7 of 8 samples were cut off at max_tokens 8"
    assert "sampling.max_tokens" in cut.mend
    broken, = (one for one in conclusions.of_samples([BROKEN] * 8, spec()) if one.level == "error")
    assert broken.found == "8 of 8 samples have no score: item.answer is missing (× 8)"


@pytest.mark.parametrize(("right", "level"), [(3, "ok"), (2, "warning"), (0, "error")])
def test_references(right: int, level: str) -> None:
    wrong = [WrongReference(row=row, output="x", reason="no number") for row in range(1, 4 - right)]
    found = GradedReferences(source="dataset 'd'", grader="numeric", rows=3, graded=3, right=right, wrong=wrong)
    finding, = conclusions.of_references(found)
    assert finding.level == level
    assert level == "ok" or "row 1: no number" in finding.found


@pytest.mark.parametrize(("rows", "unchecked", "expected"), [
    (3, "reward: UNAVAILABLE", [("references", "warning")]), (0, "a grader of type slowed has no reference", [
        ("references", "ok")]), (0, "", []),
])
def test_references_that_were_not_graded(rows: int, unchecked: str, expected: list[tuple[str, str]]) -> None:
    found = GradedReferences(source="d", grader="math", rows=rows, graded=0, right=0, unchecked=unchecked)
    assert levels(conclusions.of_references(found)) == expected


@pytest.mark.parametrize(("prompts", "run", "expected"), [
    ([prompt(1, 2), prompt(1, 3, 4)], spec(), []),
    ([prompt(), prompt(1)], spec(), [("prompts", "error")]),
    ([prompt(1, 2), prompt(1, 2)], spec(), [("prompts", "warning")]),
    ([prompt(1, reasoning="<think>")], spec(), [("reasoning", "ok")]),
    ([prompt(1, reasoning="<think>")], spec(sampling={"stop": ["</answer>"]}),
     [("reasoning", "ok"), ("reasoning", "warning")]),
])
def test_prompts(prompts: list[ShownPrompt], run: RunSpec, expected: list[tuple[str, str]]) -> None:
    assert levels(conclusions.of_prompts(prompts, run)) == expected


@pytest.mark.parametrize(("ends", "level"), [
    ([], "error"),
    ([EndToken(id=2, text="<eos>", sources=["config.json", "tokenizer_config.json"])], "ok"),
    ([EndToken(id=2, text="<eos>", sources=["generation_config.json"]),
      EndToken(id=3, text="<|im_end|>", sources=["chat template"])], "warning"),
])
def test_ends(ends: list[EndToken], level: str) -> None:
    finding, = conclusions.of_ends(ends)
    assert finding.level == level
    assert all(end.text in finding.found for end in ends)


def test_a_padded_vocabulary_is_reported() -> None:
    assert [one.found for one in conclusions.of_vocabulary(100, 96)] == [
        "100 ids, of which the tokenizer has 96: the other 4 are never sampled"]
    assert not list(conclusions.of_vocabulary(96, 96))


@pytest.mark.parametrize(("unusable", "expected"), [
    ([], []), (["row 2: no completion"], [("rows", "warning")]), (["row 1: x", "row 2: x"], [("rows", "error")])])
def test_rows_that_cannot_be_trained_on(unusable: list[str], expected: list[tuple[str, str]]) -> None:
    assert levels(conclusions.of_rows(unusable, 2)) == expected


def test_lengths_against_limits() -> None:
    counted = Counted("prompts", list(range(1, 101)), [500], total=1000)
    found = lengths.distribution(counted, [TokenLimit("the model's positions", 108, kept=8), TokenLimit("x", 600)])
    assert (found.smallest, found.median, found.p90, found.p99, found.largest) == (1, 50, 90, 99, 500)
    assert [(limit.tokens, limit.over) for limit in found.limits] == [(100, 1), (600, 0)]
    finding, = lengths.conclusions(found, sampled=True)
    assert finding.level == "warning"
    assert finding.found.startswith("1 of 101 prompts have more than 100 tokens")
    every = lengths.distribution(Counted("prompts", [200]), [TokenLimit("the model's positions", 108)])
    assert levels(lengths.conclusions(every, sampled=True)) == [("length of prompts", "error")]


def test_limits_keep_room_for_a_sampled_answer_only() -> None:
    run = spec(harness={"name": "chat", "params": {"max_context": 64}})
    assert [(limit.tokens, limit.kept) for limit in lengths.limits(run, 128, 512, sampled=True)] == [
        (128, 8), (512, 8), (64, 8)]
    assert [(limit.tokens, limit.kept) for limit in lengths.limits(run, 128, 512, sampled=False)] == [(128, 0)]


class TestSignal:
    def test_a_chance_of_one_half_gives_nearly_every_group_signal(self) -> None:
        found = signal.expected([[1, 0]] * 32, 8)
        assert found is not None
        assert found.share > 0.95
        assert found.low > 0.9

    @pytest.mark.parametrize("score", [0.0, 1.0])
    def test_equal_scores_leave_little_signal_and_much_doubt(self, score: float) -> None:
        found, more = (signal.expected([[score, score]] * tasks, 8) for tasks in (4, 32))
        assert found is not None
        assert more is not None
        assert found.low < found.share < found.high
        assert more.share < found.share
        assert more.high - more.low < found.high - found.low

    def test_tasks_that_are_all_right_or_all_wrong_have_less_signal_than_mixed_ones(self) -> None:
        apart, mixed = signal.expected([[1, 1], [0, 0]] * 8, 8), signal.expected([[1, 0]] * 16, 8)
        assert apart is not None
        assert mixed is not None
        assert apart.pass_rate == mixed.pass_rate == 0.5
        assert apart.share < 0.6 < mixed.share

    def test_scores_of_many_values_differ_in_nearly_every_group(self) -> None:
        found = signal.expected([[0.1, 0.7], [0.4, 0.2], [0.9, 0.3], [0.5, 0.6]], 8)
        assert found is not None
        assert found.share > 0.9

    def test_without_scores_or_with_groups_of_one_there_is_no_estimate(self) -> None:
        assert signal.expected([[], []], 8) is None
        assert signal.expected([[1.0]], 1) is None

    @pytest.mark.parametrize(("scores", "relative", "level", "words"), [
        ([[0.0, 0.0]] * 16, True, "warning", "all wrong"), ([[1.0, 1.0]] * 16, True, "warning", "all right"),
        ([[0.0, 0.0]] * 16, False, "ok", ""), ([[1.0, 0.0]] * 16, True, "ok", ""),
    ])
    def test_conclusions(self, scores: list[list[float]], relative: bool, level: str, words: str) -> None:
        found = signal.expected(scores, 8)
        assert found is not None
        finding, = signal.conclusions(found, relative)
        assert finding.level == level
        assert words in finding.found


def test_costs_follow_from_the_architecture_and_the_measured_speed() -> None:
    made = architecture.parse(json.loads(toy.files()["config.json"]))
    full, adapter = ({one.name: one.amount for one in costs.memory(run, made, Settings())}
                     for run in (spec(), spec(model={"base": "b", "kind": "lora"})))
    assert full["trainer: gradients and optimizer"] == 3 * full["trainer: weights"]
    assert adapter["trainer: gradients and optimizer"] < full["trainer: gradients and optimizer"]
    assert adapter["trainer: weights"] > full["trainer: weights"]
    run = spec(batch={"prompts": 4, "samples": 2})
    sampling, training = costs.time(run, Measured(tokens=100, seconds=2, prompt=6, completion=4))
    assert (sampling.amount, training.amount) == (8 * 4 / 50, 3 * 8 * 10 / 50)
    assert not list(costs.time(run, None))
