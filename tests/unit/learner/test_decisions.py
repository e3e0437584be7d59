"""What a run does next, as a table: a view of its rows, and the action that follows from it."""

from dataclasses import replace
from typing import Any

import pytest

from hone.algorithms import presets
from hone.algorithms.self_verify import GenerationGroup
from hone.limits import Limit
from hone.resolution.stages import stages
from hone.spec.run import RunSpec
from services.learner.driver.decisions import (
    BeginStage,
    Collect,
    DropRefused,
    End,
    Expire,
    PlanStep,
    PublishBase,
    ReadSamples,
    RecordEvaluation,
    RequestEvaluation,
    RequestGroups,
    SetState,
    StepSource,
    Wait,
    decide,
)
from services.learner.driver.lease import RunLease
from services.learner.driver.pacing import Outline
from services.learner.driver.rollouts import Rollouts
from services.learner.driver.supervised import PLAN_AHEAD, SupervisedRows
from services.learner.driver.verification import NothingToJudge, Verification
from services.learner.driver.view import GroupCount, Memory, ReadySamples, View
from tests.support.learner.decisions import NEW, PROMPTS, STEPS, at, spec
from tests.support.learner.samples import sample

NOTHING: Any = None


AHEAD = spec(max_staleness=2)
EVALUATED = spec(eval={"prompts": 3, "every": 2})
FILTERED = spec(algorithm="dapo")
STAGED = spec(stages=[{"name": "warm-up", "until": 2, "algorithm": "sft"}])
JUDGED = spec(algorithm={"preset": "self_verify", "builder": {"name": "self_verify", "params": {"interval": 2}}})
ONLY_JUDGED = spec(algorithm={"preset": "self_verify", "builder": {
    "name": "self_verify", "params": {"mode": "self_verify", "max_batches": 3}}})


def source(run: RunSpec, step: int) -> StepSource:
    """Return the source of a step, which can decide but has nobody to ask."""
    stage = next(one for one in stages(run) if step <= one.last or one.last == run.steps)
    slots, outline = presets.resolve(stage.spec.algorithm), Outline.of(run)
    lease = RunLease("run_1", "ten_1", "mod_1", 1, stage.spec)
    if slots["builder"]["name"] == "dataset":
        return SupervisedRows(stage, outline, slots, NOTHING, lease, NOTHING)
    rollouts = Rollouts(stage, outline, slots, NOTHING, NOTHING, lease, NOTHING)
    if slots["builder"]["name"] == "self_verify":
        return Verification(rollouts, outline, slots, NOTHING, NOTHING, lease)
    return rollouts


def decided(run: RunSpec, view: View) -> Any:
    return decide(Outline.of(run), source(run, view.planned + 1), view)


def train(step: int, requested: int = 0, ready: int = 0, **more: Any) -> dict[tuple[str, int], GroupCount]:
    return {("train", step): GroupCount(total=requested + ready, requested=requested, ready=ready, **more)}


def evaluation(step: int, requested: int, ready: int) -> dict[tuple[str, int], GroupCount]:
    return {("eval", step): GroupCount(total=requested + ready, requested=requested, ready=ready)}


def samples(*groups: int, scores: tuple[float, float] = (1.0, 0.0)) -> ReadySamples:
    return ReadySamples([sample(group, index, scores[index]) for group in groups for index in (0, 1)])


def remembered(view: View, **changes: Any) -> View:
    return replace(view, memory=replace(view.memory, **changes))


@pytest.mark.parametrize(("run", "view", "action"), [
    # It ends or rests before it does anything else.
    (spec(), replace(NEW, desired="cancel", failure="broken"), End("cancelled", "cancelled on request", "cancelled")),
    (spec(), replace(NEW, failure="broken", past_deadline=True), End("failed", "broken", "failed")),
    (spec(), at(1, 2, past_deadline=True), End("failed", "the run's deadline of 60 s passed while it waited for the "
                                               "trainer to commit step 2", "failed")),
    (spec(), replace(NEW, desired="pause"), SetState("paused")),
    (spec(), replace(NEW, desired="pause", state="paused"), Wait("the trainer to publish the base weights")),
    (spec(), replace(NEW, state="paused"), SetState("running")),
    # It begins with version 0.
    (spec(), NEW, PublishBase()),
    (spec(), remembered(NEW, base_requested=True), Wait("the trainer to publish the base weights")),
    (spec(), at(0, unpublished=("teacher",), memory=Memory()), PublishBase()),
    (spec(), at(0, unpublished=("teacher",)), Wait("the trainer to publish the teacher's weights")),
    # It asks for a synchronous step's groups, waits for every one, and plans the step.
    (spec(), at(1), RequestGroups(2, 2, PROMPTS, "ver_1")),
    (spec(), at(1, counts=train(2, requested=1, ready=1)), Wait("1 of 2 train groups of step 2")),
    (spec(), at(1, counts=train(2, requested=1, ready=1, reason="reward: away")),
     Wait("1 of 2 train groups of step 2; reward: away")),
    (spec(), at(1, counts=train(2, ready=2)), ReadSamples(2)),
    (spec(), at(1, 2), Wait("the trainer to commit step 2")),
    (spec(), at(1, counts=train(2, requested=1, refused=1)), DropRefused()),
    # Where rollouts run ahead it asks for more, drops what is too old, and waits only for what would become so.
    (AHEAD, at(1, counts=train(2, requested=2)), RequestGroups(2, 2, 2 * PROMPTS, None)),
    (AHEAD, at(1, 2, counts=train(2, ready=6)), ReadSamples(3)),
    (AHEAD, at(3, 3, counts=train(4, requested=4, ready=2, begun=1)), Wait("4 of 6 train groups of step 4")),
    (AHEAD, at(3, 3, counts=train(4, requested=4, ready=2, begun=2)), ReadSamples(4)),
    (AHEAD, at(3, counts=train(4, ready=6, oldest=0)), Expire(1)),
    (AHEAD, at(3, counts=train(4, requested=6, late=1)), Expire(1)),
    (AHEAD, at(STEPS - 1, STEPS - 1, counts=train(6, requested=2)), ReadSamples(STEPS)),
    # No more is sampled or planned ahead than the rest of the budget pays for, but one step is always begun.
    (AHEAD, at(1, counts=train(2, requested=2), affordable=5), RequestGroups(2, 2, 3, None)),
    (AHEAD, at(1, affordable=0), RequestGroups(2, 2, PROMPTS, None)),
    (AHEAD, at(1, counts=train(2, ready=2), affordable=0), ReadSamples(2)),
    (AHEAD, at(1, 2, counts=train(2, ready=2), affordable=2), Wait("the trainer to commit step 2")),
    (AHEAD, at(1, 2, counts=train(2, ready=4), affordable=4), ReadSamples(3)),
    (spec(), at(1, affordable=0), RequestGroups(2, 2, PROMPTS, "ver_1")),
    (STAGED, at(0, 1, affordable=1), Wait("the trainer to commit step 1")),
    # Weights that are to be evaluated are evaluated before the next step is planned.
    (EVALUATED, at(2), RequestEvaluation(2, "ver_2")),
    (EVALUATED, at(2, counts=evaluation(2, 1, 5)), RequestGroups(3, 4, PROMPTS, "ver_2")),
    (EVALUATED, at(2, counts=evaluation(2, 1, 5) | train(3, ready=2)), Wait("1 of 6 eval groups of step 2")),
    (EVALUATED, at(2, counts=evaluation(2, 0, 6)), RecordEvaluation(2)),
    (EVALUATED, remembered(at(2, counts=train(3, ready=2)), evaluated=frozenset({0, 2})), ReadSamples(3)),
    # It succeeds once the last step is committed and evaluated.
    (spec(), at(STEPS), End("succeeded", None, "surplus")),
    (EVALUATED, at(STEPS), RequestEvaluation(STEPS, f"ver_{STEPS}")),
    (EVALUATED, remembered(at(STEPS), evaluated=frozenset({STEPS})), End("succeeded", None, "surplus")),
    # Supervised steps are planned ahead; the next stage begins once they are committed.
    (STAGED, at(0), PlanStep(1)),
    (STAGED, at(0, 1), PlanStep(2)),
    (STAGED, at(0, 2), Wait("the trainer to commit step 1")),
    (STAGED, at(2), BeginStage(stages(STAGED)[1])),
    (STAGED, at(2, stage=1), RequestGroups(3, 4, PROMPTS, "ver_2")),
])
def test_the_action_that_follows_from_a_view(run: RunSpec, view: View, action: Any) -> None:
    assert decided(run, view) == action


def test_supervised_steps_are_planned_so_far_ahead_and_not_past_an_evaluation() -> None:
    plain, evaluated = spec(algorithm="sft", steps=20), spec(algorithm="sft", steps=20, eval={"prompts": 3, "every": 3})
    assert [decided(plain, at(5, 5 + ahead)) for ahead in (0, PLAN_AHEAD - 1)] == [PlanStep(6), PlanStep(9)]
    assert decided(plain, at(5, 5 + PLAN_AHEAD)) == Wait("the trainer to commit step 6")
    assert decided(evaluated, at(5, 5)) == PlanStep(6)
    assert decided(evaluated, at(5, 6)) == Wait("the trainer to commit step 6")


def test_a_step_is_planned_of_the_first_groups_that_its_filter_keeps() -> None:
    view = at(1, counts=train(2, ready=2), samples=samples(101, 102))
    action = decided(spec(), view)
    assert (type(action), action.step) == (PlanStep, 2)
    assert [group[0]["group_id"] for group in action.data.kept] == [101, 102]


def test_groups_that_the_filter_removes_are_replaced_until_there_are_enough() -> None:
    flat = samples(101, 102, scores=(1.0, 1.0))
    view = at(1, counts=train(2, ready=2), samples=flat)
    assert decided(FILTERED, view) == RequestGroups(2, 2, 2, "ver_1")
    rounds = presets.resolve(FILTERED.algorithm)["filter"]["params"]["max_rounds"]
    most = PROMPTS * (1 + rounds)
    numbers = range(101, 101 + most)
    spent = at(1, counts=train(2, ready=most), samples=samples(*numbers, scores=(1.0, 1.0)))
    action = decided(FILTERED, spent)
    assert (action.data.kept, action.data.filtered_ids) == ([], list(numbers))


def test_a_step_that_runs_ahead_waits_for_groups_that_are_still_sampled() -> None:
    view = at(1, counts=train(2, requested=5, ready=1, begun=1), samples=samples(101))
    assert decided(AHEAD, view) == Wait("5 of 6 train groups of step 2")


def collected(**state: Any) -> dict[str, Any]:
    return {"verification": {"version": 2, "state": {"batch": 2, "first": 3, "updates": [], "buffer": [], **state}}}


def test_verdicts_are_requested_and_planned_when_the_collection_says_so() -> None:
    due = collected(updates=[[(1, 0), (2, 1), (2, 0)]])
    requested = decided(JUDGED, at(2, collected=due))
    assert (requested.count, requested.version_id, requested.purpose) == (3, "ver_2", "train")
    assert (requested.judged.version, requested.judged.items) == (2, [(1, 0), (2, 1), (2, 0)])
    assert decided(JUDGED, at(2, collected=due, counts=train(3, requested=1, ready=2))) == Wait(
        "1 of 3 train groups of step 3")
    assert decided(JUDGED, at(2, collected=due, counts=train(3, ready=3))) == PlanStep(3, requested.judged)


def test_without_verdicts_a_step_of_self_verify_is_one_of_rollouts() -> None:
    assert decided(JUDGED, at(0)) == decided(spec(), at(0)) == RequestGroups(1, 0, PROMPTS, "ver_0")
    assert decided(JUDGED, at(3, collected=collected())) == RequestGroups(4, 6, PROMPTS, "ver_3")
    view = at(0, counts=train(1, ready=2))
    assert decided(JUDGED, view) == ReadSamples(1)
    choice, turn = decided(JUDGED, replace(view, samples=samples(101, 102))).data
    assert (len(choice.kept), turn.kind, turn.batch) == (2, "generate", 1)


def probes(ready: int, requested: int = 0) -> dict[tuple[str, int], GroupCount]:
    return {("probe", 1): GroupCount(total=ready + requested, ready=ready, requested=requested)}


def answers(*outcomes: float) -> ReadySamples:
    """Return two groups whose answers have these outcomes."""
    texts = [str(place) for place in range(len(outcomes))]
    groups = [GenerationGroup(number, "1+1=", texts, outcomes, [True] * len(outcomes)) for number in (101, 102)]
    return ReadySamples([sample(group.group_id, place, outcome) for group in groups
                         for place, outcome in enumerate(outcomes)], answers=groups)


def test_answers_are_sampled_and_judged_batch_after_batch_until_some_are_right_and_some_wrong() -> None:
    request = RequestGroups(1, 0, PROMPTS, "ver_0", "probe")
    assert decided(ONLY_JUDGED, at(0)) == request
    assert decided(ONLY_JUDGED, at(0, counts=probes(1, requested=1))) == Wait("1 of 2 probe groups of step 1")
    view = at(0, counts=probes(2))
    assert decided(ONLY_JUDGED, view) == ReadSamples(1, "probe")
    assert decided(ONLY_JUDGED, replace(view, samples=answers(1.0, 1.0))) == request
    kept = decided(ONLY_JUDGED, replace(view, samples=answers(1.0, 0.0)))
    assert isinstance(kept, Collect)
    assert (kept.version.number, len(kept.version.items), kept.group_ids) == (1, 2, [101, 102])
    assert kept.metrics["reward/mean"] == 0.5


def test_answers_that_never_differ_cannot_be_judged() -> None:
    view = at(0, counts=probes(3 * PROMPTS), samples=answers(1.0, 1.0))
    with pytest.raises(NothingToJudge, match="6 groups of answers"):
        decided(ONLY_JUDGED, view)


LIMIT = Limit("its budget of 5.00 EUR is used up", "a higher budget")


@pytest.mark.parametrize(("changes", "action"), [
    ({"limit": LIMIT}, SetState("paused", LIMIT.reason)),
    ({"limit": LIMIT, "state": "paused", "reason": LIMIT.reason}, Wait(str(LIMIT))),
    ({"limit": LIMIT, "state": "paused"}, SetState("paused", LIMIT.reason)),
    ({"state": "paused", "reason": LIMIT.reason}, SetState("running")),
    ({"state": "paused", "reason": LIMIT.reason, "desired": "pause"}, SetState("paused")),
    ({"limit": LIMIT, "desired": "cancel"}, End("cancelled", "cancelled on request", "cancelled")),
])
def test_a_limit_that_is_reached_pauses_a_run(changes: dict[str, Any], action: Any) -> None:
    assert decided(spec(), at(1, **changes)) == action


def test_a_run_without_steps_evaluates_its_base_and_ends() -> None:
    run = spec(steps=0, eval={"prompts": 3})
    assert decided(run, at(0)) == RequestEvaluation(0, "ver_0")
    answered = {("eval", 0): GroupCount(total=3, ready=3)}
    assert decided(run, at(0, counts=answered)) == RecordEvaluation(0)
    assert decided(run, at(0, memory=Memory(frozenset({0}), 0, True))) == End("succeeded", None, "surplus")
