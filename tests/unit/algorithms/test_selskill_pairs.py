"""From samples with branches to the pairs of a step: made by hand, as the harness notes them."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from hone.algorithms.selskill import DISCARDED, SelskillPairs, pairs_of_round
from hone.trajectory import parts
from tests.support.algorithms.branches import both, branched, said, side, trunk
from tests.unit.trajectory.samples import call, trajectory


def made(*groups, seed="s", **params):
    return pairs_of_round(groups, SelskillPairs(**params), seed)


def only(round_, kind):
    return [pair for pair in round_.pairs if pair.granularity == kind]


def test_a_success_and_a_failure_of_a_task_are_an_episode_pair_of_their_trunks():
    group = [trajectory(7, 0, *trunk(False)), trajectory(7, 1, *trunk(True, 5, first=20)),
             trajectory(7, 2, *trunk(True, 3, first=30))]
    found = made(group)
    [pair] = found.pairs
    assert (pair.granularity, pair.reason) == ("episode", "outcome")
    assert pair.body()["chosen"] == {"group": 7, "index": 2, "calls": ["0", "1", "2", "3"]}
    assert pair.body()["rejected"]["index"] == 0
    assert found.metrics["pairs/episode"] == 1


def test_episode_pairs_are_limited_for_each_task_and_leave_out_equal_words_and_unfinished_trunks():
    group = [trajectory(0, place, *trunk(place < 3, first=10 * place)) for place in range(6)]
    assert len(made(group, episode_pairs=2).pairs) == 2
    assert len(made(group, group, episode_pairs=1).pairs) == 2
    assert made(group, episode_pairs=0).pairs == []
    assert made([trajectory(0, 0, *trunk(True)), trajectory(0, 1, *trunk(False))]).pairs == []
    lone = trajectory(0, 1, *(replace(one, notes={}) for one in trunk(False, first=30)))
    assert made([trajectory(0, 0, *trunk(True)), lone]).pairs == []


def test_the_sides_of_a_step_pair_are_the_first_three_turns_after_the_branch():
    found = only(made(both(), episode_pairs=0), "step")
    pair = next(one for one in found if one.branch["verdict"] == "invoke")
    assert pair.body() == {
        "granularity": "step", "task_hash": "", "reason": "outcome",
        "chosen": {"group": 0, "index": 0, "calls": ["4.0.0", "4.0.1", "4.0.2"]},
        "rejected": {"group": 0, "index": 0, "calls": ["4.1.0", "4.1.1", "4.1.2"]},
        "verdict": "invoke", "turn": 1, "skill": "z", "entropy": 0.5, "invoked": True}


def test_property_3_a_short_continuation_is_compared_as_a_whole():
    group = [branched(0, (True, 2), (False, 2), length=2), branched(1, (False, 2), (True, 2), length=2)]
    assert {len(pair.chosen.calls) for pair in only(made(group), "step")} == {2}


def test_pairs_are_stored_as_trajectories_that_packing_reads_as_pairs():
    found = made(both())
    stored = parts.decode(parts.encode(found.trajectories()))
    assert [(one.request_no, one.index) for one in stored] == [(n, i) for n in range(len(found.pairs)) for i in (0, 1)]
    for number, pair in enumerate(found.pairs):
        chosen = stored[2 * number]
        assert [one.completion_ids for one in chosen.calls] == [one.completion_ids for one in pair.chosen.calls]
        assert [one.index for one in chosen.calls] == list(range(len(chosen.calls)))
        assert chosen.calls[0].kind == (pair.branch["verdict"] if pair.branch else "answer")


@pytest.mark.parametrize(("invoke", "skip", "reason"), [
    ((False, 2), (False, 2), "both_failed"), ((True, 2), (True, 2), "equal_steps"), (None, (True, 2), "unfinished"),
])
def test_a_branch_without_a_winner_is_discarded_with_its_reason(invoke, skip, reason):
    found = made([*both(), branched(2, invoke, skip)])
    assert found.discarded == {reason: 1}
    assert found.metrics[f"pairs/discarded/{reason}"] == 1
    assert {f"pairs/discarded/{each}" for each in DISCARDED} <= found.metrics.keys()


def test_fewer_steps_after_the_branch_win_where_both_succeed():
    found = made([branched(0, (True, 4), (True, 3)), branched(1, (True, 3), (True, 4))])
    assert {(one.branch["verdict"], one.reason) for one in only(found, "step")} == {
        ("skip", "steps"), ("invoke", "steps")}


def test_both_sides_with_equal_words_are_degenerate():
    same = [replace(one, completion_ids=[5]) for name in ("invoke", "skip")
            for one in side(name, (name == "skip", 2), place=int(name == "skip"))]
    assert made([*both(), trajectory(0, 2, *trunk(True), *same)]).discarded == {"degenerate": 1}


@pytest.mark.parametrize(("second", "discarded"), [((True, False), {}), ((False, True), {"disagree": 1})])
def test_repeats_of_a_branch_have_to_agree(second, discarded):
    calls = [*trunk(True), *side("invoke", (True, 2)), *side("skip", (False, 2), place=1),
             *side("invoke", (second[0], 2), place=2, repeat=1), *side("skip", (second[1], 2), place=3, repeat=1)]
    found = made([*both(), trajectory(0, 2, *calls)])
    assert found.discarded == discarded
    assert len(only(found, "step")) == 3 - len(discarded)


def test_a_task_has_no_more_branches_than_its_quota_the_most_uncertain_ones():
    group = [branched(place, (place % 2 == 0, 2), (place % 2 == 1, 2), entropy=place / 10) for place in range(6)]
    found = made(group, step_pairs=2, episode_pairs=0)
    assert {pair.chosen.sample.index for pair in found.pairs} == {4, 5}
    assert found.discarded == {"quota": 4}


def test_branches_without_their_other_verdict_are_no_pairs():
    found = made([branched(0, (True, 2), (False, 2))])
    assert (found.pairs, found.discarded) == ([], {"unbalanced": 1})
    assert found.metrics["pairs/invoke_share"] == 1


def test_refused_draws_and_other_roles_are_no_continuations():
    refused = said("5.0.0", [9], "skip", refused=True)
    asked = call([1], [3], number="4.0.9", role="user")
    found = made([*both(), trajectory(0, 2, *trunk(True), refused, asked)])
    assert found.discarded == {}


def test_few_step_pairs_are_used_several_times_in_an_order_that_the_seed_draws():
    groups = [[trajectory(n, 0, *trunk(True, first=10 * n)), trajectory(n, 1, *trunk(False, first=10 * n + 5))]
              for n in range(1, 37)]
    found = made(*groups, both(group=99))
    assert found.metrics["pairs/step_uses"] == 2
    kinds = [pair.granularity for pair in found.pairs]
    assert (kinds.count("step"), kinds.count("episode")) == (4, 36)
    again, other = made(*groups, both(group=99)), made(*groups, both(group=99), seed="t")
    assert [one.body() for one in again.pairs] == [one.body() for one in found.pairs]
    assert [one.body() for one in other.pairs] != [one.body() for one in found.pairs]


def test_figures_are_those_of_trunks():
    group = [trajectory(0, 0, *trunk(True, 4, skills={1: "completed", 2: "invalid_call"})),
             trajectory(0, 1, *trunk(False, 2, skills={0: "completed"}), *side("invoke", (True, 9)))]
    metrics = made(group).metrics
    assert {name: value for name, value in metrics.items() if name.startswith("skills/")} == {
        "skills/success": 0.5, "skills/steps": 3.0, "skills/calls": 1.5,
        "skills/execution_precision": pytest.approx(2 / 3)}
    assert "skills/execution_precision" not in made([trajectory(0, 0, *trunk(True))]).metrics


def test_a_builder_without_pairs_of_any_kind_is_refused():
    with pytest.raises(ValidationError, match="branches or episode_pairs above 0"):
        SelskillPairs(branches=0, episode_pairs=0)
