"""A step whose samples were cut off, or of whose samples few are left, says so with numbers and how to mend it."""

from typing import Any

import pytest

from services.learner.driver.planning import choose
from services.learner.driver.reporting import Event
from services.learner.driver.sample_warnings import of_evaluation, of_step, of_whole_answers
from tests.support.learner.samples import sample, slots, spec


def warnings(samples: list[dict[str, Any]], **algorithm: Any) -> list[Event]:
    made = spec(algorithm={"preset": "grpo", **algorithm}, batch={"prompts": 2, "samples": 4})
    return of_step(made, "train", 2, choose(samples, slots(preset="grpo", **algorithm), 2, {}))


def group(number: int, cut: int = 0, masked: int = 0, status: str = "infra_error") -> list[dict[str, Any]]:
    rows = [sample(number, index, float(index % 2)) for index in range(4)]
    for row in rows[:cut]:
        row["finish_reason"] = "length"
    for row in rows[4 - masked:]:
        row |= {"score": None, "status": status}
    return rows


@pytest.mark.parametrize(("cut", "warned"), [(0, False), (2, False), (3, True), (4, True)])
def test_most_samples_cut_off_are_a_warning(cut: int, warned: bool) -> None:
    found = warnings(group(1, cut) + group(2, cut))
    assert [event.kind for event in found] == ["truncated_samples"] * warned
    if warned:
        assert f"{2 * cut} of 8 samples of the step ({2 * cut / 8:.0%}) were cut off" in found[0].message
        assert "sampling.max_tokens 256" in found[0].message
        assert found[0].data == {"of": "train", "truncated": 2 * cut, "samples": 8}


def test_dropped_samples_are_few_and_say_why() -> None:
    cut, few = warnings(group(1, cut=3) + group(2, cut=2, masked=1), truncated="drop")
    assert "leaves them out (algorithm.truncated: drop)" in cut.message
    assert few.message.startswith("2 of 8 samples of the step are left to train on: 1 have no score (1 infra_error)")
    assert "5 were cut off and algorithm.truncated is drop, so raise sampling.max_tokens" in few.message


@pytest.mark.parametrize(("masked", "warned"), [(1, False), (2, False), (3, True), (4, True)])
def test_masked_samples_are_counted_by_their_reason(masked: int, warned: bool) -> None:
    found = warnings(group(1, masked=masked) + group(2, masked=masked, status="timeout"))
    assert [event.kind for event in found] == ["few_samples"] * warned
    if warned:
        assert f"{8 - 2 * masked} of 8 samples" in found[0].message
        assert f"{2 * masked} have no score ({masked} infra_error, {masked} timeout)" in found[0].message


def test_groups_that_a_filter_removed_are_named() -> None:
    same = [{**row, "score": 1.0} for number in (2, 3) for row in group(number)]
    made = spec(algorithm={"preset": "dapo"}, batch={"prompts": 4, "samples": 4})
    [few] = of_step(made, "train", 4, choose(group(1) + same, slots(preset="dapo"), 4, {}))
    assert few.message.startswith("4 of 16 samples of the step are left to train on: 12 are of groups that were not "
                                  "ready or did not vary, after the filter removed 8,")


def test_held_out_answers_that_were_cut_off_are_a_warning_of_their_own() -> None:
    assert of_evaluation(spec(), group(1, cut=2)) == []
    [event] = of_evaluation(spec(), group(1, cut=4))
    assert (event.kind, event.data["of"]) == ("truncated_samples", "evaluation")
    assert event.message.startswith("4 of 4 held-out answers (100%) were cut off")
    ended = of_whole_answers(group(1, cut=1))
    assert (ended.kind, ended.data) == ("whole_answers", {"of": "evaluation"})
    assert ended.message == "held-out answers come to their end: 1 of 4 were cut off"
