"""What the checks of a run's judge ask for: another check, patience, or the end of the run."""

from dataclasses import replace
from typing import Any

import pytest

from hone.algorithms.agreement import Agreement
from hone.spec.run import JudgeCheckSpec
from services.learner.driver.judge_gate import DRIFTED, JudgeStanding, RunCheck, standing, together

SPEC = JudgeCheckSpec(every=10)
ANSWERS = {"expert": "http://judge model-1"}


def check(number: int = 0, step: int = 0, fp: int = 0, fn: int = 0, keys: int = 0, **fields: Any) -> RunCheck:
    """Return a check of 100 right outputs, 80 wrong ones and 20 master keys."""
    counts = {"right": Agreement(tp=100 - fn, fn=fn), "wrong": Agreement(fp=fp, tn=80 - fp),
              "master_key": Agreement(fp=keys, tn=20 - keys)}
    return RunCheck(number, step, "done", judges=ANSWERS, pairs=200, judged=200, **{"counts": counts, **fields})


def test_a_run_asks_for_its_first_check_and_waits_for_it() -> None:
    assert standing(SPEC, [], {}, 0).due == 0
    waiting = replace(check(), state="taken", judged=120, reason="the judge is away")
    found = standing(SPEC, [waiting], {}, 0)
    assert (found.stop, found.due) == (None, None)
    assert found.waits == "the check of its judge after step 0, 120 of 200 pairs: the judge is away"


@pytest.mark.parametrize(("found", "words"), [
    (check(fp=30, fn=20), "1 - fp - fn = 0.5000 of 200 pairs of short_answers after step 0, with fp 0.3000 and fn "
                          "0.2000; expected at least 0.6"),
    (check(keys=1), "0.0500 of the master keys"),
    (check(counts={"right": Agreement(invalid=100), "wrong": Agreement(tn=80)}), "no verdict on right or on wrong"),
    (replace(check(), state="failed", reason="the set is gone"), "failed: the set is gone")])
def test_a_bad_judge_begins_no_run(found: RunCheck, words: str) -> None:
    stopped = standing(SPEC, [found], {}, 0)
    assert stopped.stop is not None
    assert words in stopped.stop
    assert stopped.event is None


def test_a_good_judge_is_checked_again_at_its_step_or_when_another_one_answers() -> None:
    first = check(fp=5)
    assert standing(SPEC, [first], ANSWERS, 9) == standing(SPEC, [first], {}, 0)
    assert standing(SPEC, [first], ANSWERS, 9).due is None
    assert standing(SPEC, [first], ANSWERS, 10).due == 1
    other = {"expert": "http://judge model-2"}
    assert standing(SPEC, [first], other, 3).due == 1
    assert standing(SPEC, [first], {"another": "http://elsewhere"}, 3).due is None, "no grader asks it"
    late = check(1, 3, fp=5, asked=other)
    assert standing(SPEC, [first, late], other, 4).due is None, "this check was for that change"
    assert standing(SPEC, [first, replace(late, judges=other)], other, 10).due == 2


def test_a_judge_that_goes_bad_ends_the_run_with_both_numbers() -> None:
    first, steady, worse = check(fp=5), check(1, 10, fp=10), check(1, 10, fp=11)
    assert standing(SPEC, [first, steady], ANSWERS, 10).stop is None, "5 points are no more than 5"
    found = standing(SPEC, [first, worse], ANSWERS, 10)
    assert found.stop is not None
    assert "accepts 0.1100 of the wrong ones of 200 pairs of short_answers after step 10, and 0.0500 at" in found.stop
    assert found.event is not None
    assert (found.event.kind, found.event.data["now"]["false_accepts"]) == (DRIFTED, 0.11)
    silent = standing(SPEC, [first, check(2, 20, fn=70)], ANSWERS, 20)
    assert "1 - fp - fn = 0.3000" in str(silent.stop), "one that refuses nearly everything teaches nothing"


def test_a_grader_of_another_stage_has_its_first_check_alone() -> None:
    first = check(fp=5)
    assert standing(SPEC, [], {}, 0, current=False).due == 0
    assert standing(SPEC, [first], ANSWERS, 20, current=False) == JudgeStanding()
    assert standing(SPEC, [first], ANSWERS, 20).due == 1, "when its stage begins"
    assert standing(SPEC, [check(fp=60)], {}, 0, current=False).stop is not None


def test_all_graders_are_checked_at_once_and_the_end_of_one_is_that_of_the_run() -> None:
    due, waits, ends = JudgeStanding(due=0, grader="b"), JudgeStanding(waits="a check"), JudgeStanding(stop="bad")
    assert together([waits, due], 3) == JudgeStanding(due=3, grader="b"), "before it waits for the first"
    assert together([JudgeStanding(), waits], 3) == waits
    assert together([waits, due, ends], 3) == ends
    assert together([JudgeStanding()], 3) == JudgeStanding()
