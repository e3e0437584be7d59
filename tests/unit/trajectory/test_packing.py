"""Trajectories become rows: order, merging, masks, and samples that are left out and counted."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hone.trajectory.packing import Spans, Unpackable, pack, rows, sequences, spans
from hone.trajectory.records import Span, VersionSpan
from tests.unit.trajectory.samples import call, plan, step_of, trajectory


def test_rows_come_in_request_and_index_order_whatever_arrives_first():
    samples = [trajectory(group, index, call([1, group], [3, 4])) for group in (9, 2) for index in (1, 0)]
    batch = pack(plan({9: [1.0, 0.0], 2: [0.5, 0.25]}), samples)
    assert batch.keys == [(2, 0), (2, 1), (9, 0), (9, 1)]
    assert batch.reward.tolist() == [0.5, 0.25, 1.0, 0.0]
    assert batch.group.tolist() == [0, 0, 1, 1]
    assert batch.tokens.tolist() == [2, 2, 2, 2]
    assert batch.offsets.tolist() == [0, 2, 4, 6]


def test_a_call_that_goes_on_from_the_last_merges_into_its_row():
    first = call([1, 2], [3, 4], logp_sample=[-0.1, -0.2])
    second = call([1, 2, 3, 4, 9, 9], [5], index=1, logp_sample=[-0.3])
    [row] = rows(trajectory(0, 0, first, second))
    assert row.prompt == (1, 2)
    assert row.response == [3, 4, 9, 9, 5]
    assert row.trained == [0, 1, 4]
    assert row.logp_sample == [-0.1, -0.2, -0.3]
    assert row.calls == (0, 1)


def test_a_call_with_a_rewritten_context_is_a_row_of_its_own():
    calls = [call([1, 2], [3, 4], kind="plan"), call([1, 2, 3, 5], [6], index=1, kind="act")]
    assert [(row.prompt, row.response, row.kind) for row in rows(trajectory(0, 0, *calls))] == [
        ((1, 2), [3, 4], "plan"), ((1, 2, 3, 5), [6], "act")]


def test_a_trajectory_is_one_vote_however_many_rows_it_packs_into():
    samples = [trajectory(0, 0, call([1], [2]), call([7], [8, 9], index=1)), trajectory(0, 1, call([1], [3]))]
    batch = pack(plan({0: [1.0, 0.0]}), samples)
    assert [len(found) for found in batch.rows] == [2, 1]
    assert batch.tokens.tolist() == [3, 1]


def test_tokens_that_do_not_train_are_masked_and_a_tail_of_them_is_cut():
    masked = call([1], [2, 3, 4, 5], train_mask=[False, True, True, False])
    [row] = rows(trajectory(0, 0, masked))
    assert row.response == [2, 3, 4]
    assert row.trained == [1, 2]


def test_calls_of_other_roles_are_no_rows():
    assert rows(trajectory(0, 0, call([1], [2], role="judge"))) == []


def test_masked_samples_and_fully_masked_ones_do_not_count():
    samples = [trajectory(0, 0, call([1], [2])), trajectory(0, 1, call([1], [3])),
               trajectory(0, 2, call([1], [4], train_mask=[False]))]
    batch = pack(plan({0: [1.0, None, 0.0]}), samples)
    assert batch.keys == [(0, 0)]
    assert (batch.masked_samples, batch.rejected_rows) == (1, 0)


@pytest.mark.parametrize("logp", [[math.nan, -1.0], [-math.inf, -1.0], [-1.0], []])
def test_rows_without_finite_log_probabilities_are_rejected_and_counted(logp):
    samples = [trajectory(0, 0, call([1], [2, 3], logp_sample=logp)), trajectory(0, 1, call([1], [3]))]
    batch = pack(plan({0: [1.0, 0.0]}), samples)
    assert batch.keys == [(0, 1)]
    assert (batch.masked_samples, batch.rejected_rows) == (0, 1)


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_rewards_that_are_no_finite_number_are_rejected_and_counted(reward):
    batch = pack(plan({0: [reward, 0.0]}), [trajectory(0, index, call([1], [2])) for index in range(2)])
    assert batch.keys == [(0, 1)]
    assert batch.rejected_rows == 1


@pytest.mark.parametrize("step", [step_of(0, 0, "a", math.nan), step_of(0, 0, "a", rules={"length": -math.inf})])
def test_turns_that_are_paid_no_finite_number_are_rejected_and_counted(step):
    paid = replace(trajectory(0, 0, call([1], [2])), steps=[step])
    batch = pack(plan({0: [1.0, 0.0]}), [paid, trajectory(0, 1, call([1], [2]))])
    assert (batch.keys, batch.rejected_rows) == ([(0, 1)], 1)


def test_a_sample_is_truncated_where_a_call_was_cut_off_or_the_context_was_used_up():
    samples = [trajectory(0, index, call([1], [2])) for index in range(3)]
    samples[1] = trajectory(0, 1, call([1], [2], finish_reason="length"))
    samples[2] = replace(samples[2], ended="max_context")
    assert pack(plan({0: [1.0, 0.0, 0.0]}), samples).truncated.tolist() == [False, True, True]


@pytest.mark.parametrize(("rule", "kept"), [("keep", 2), ("drop", 1)])
def test_truncated_rows_are_kept_or_dropped_as_the_plan_says(rule, kept):
    samples = [trajectory(0, 0, call([1], [2], finish_reason="length")), trajectory(0, 1, call([1], [3]))]
    batch = pack(plan({0: [1.0, 0.0]}, {"truncated": rule}), samples)
    assert len(batch.rows) == kept
    assert batch.masked_samples == 2 - kept


def test_a_change_of_weights_in_mid_sequence_is_reported():
    mixed = call([1], [2, 3], versions=[VersionSpan("a", 1), VersionSpan("b", 1)])
    batch = pack(plan({0: [1.0, 0.0]}), [trajectory(0, 0, mixed), trajectory(0, 1, call([1], [2]))])
    assert batch.version[0] == ""
    assert batch.version[1].startswith("ver_")


@pytest.mark.parametrize(("samples", "problem"), [
    ([trajectory(0, 0, call([1], [2]))], r"group 0: found samples \[0\], expected 2"),
    ([trajectory(0, 0, call([1], [2]))] * 2, "0/0: not planned, or given twice"),
    ([trajectory(5, 0, call([1], [2]))], "5/0: not planned"),
    ([trajectory(0, 0, call([], [2])), trajectory(0, 1, call([1], [2]))], "0/0 call 0: empty prompt"),
])
def test_what_does_not_fit_the_plan_is_refused(samples, problem):
    with pytest.raises(Unpackable, match=problem):
        pack(plan({0: [1.0, 0.0]}), samples)


def test_demonstrations_need_no_groups_and_keep_their_order():
    samples = [trajectory(0, 0, call([1], [place, 2], logp_sample=[])) for place in (7, 5)]
    batch = pack(plan({}, {"preset": "sft"}), samples)
    assert [found[0].response[0] for found in batch.rows] == [7, 5]
    assert batch.group.tolist() == [0, 1]
    assert np.isnan(batch.baseline).all()


def test_sequences_train_every_token_but_the_first():
    batch = sequences([[1, 2, 3], [4, 5]])
    assert [found[0].prompt for found in batch.rows] == [(1,), (4,)]
    assert batch.tokens.tolist() == [2, 1]


def test_tokens_are_flagged_by_name_and_weights_that_overlap_multiply():
    said = call([1], [5, 6, 7, 8], spans=[Span("query", 0, 3, 2.0), Span("table", 2, 4, 0.5), Span("query", 3, 4)])
    found = spans([trajectory(0, 0, said), trajectory(0, 1, call([1], [9, 9], spans=[Span("table", 1, 2, 3.0)]))])
    assert {name: flags.tolist() for name, flags in found.inside.items()} == {
        "query": [True, True, True, True, False, False], "table": [False, False, True, True, False, True]}
    np.testing.assert_array_equal(found.weight, [2.0, 2.0, 1.0, 0.5, 1.0, 3.0])


def test_only_what_the_policy_said_and_what_trains_is_counted():
    user = call([1, 2], [3, 3], 1, role="user", spans=[Span("query", 0, 2, 7.0)])
    half = call([1, 2, 9], [4, 5, 6], 2, train_mask=[False, True, True], spans=[Span("query", 0, 2, 4.0)])
    found = spans([trajectory(0, 0, call([1], [2]), user, half)])
    assert found.inside["query"].tolist() == [False, True, False]
    np.testing.assert_array_equal(found.weight, [1.0, 4.0, 1.0])


def test_steps_that_a_grader_scored_are_numbered_over_all_trajectories_and_the_later_of_two_has_a_shared_token():
    said = call([1], [5, 6, 7, 8], spans=[
        Span("step", 0, 2, score=0.25), Span("query", 0, 4), Span("step", 1, 3, score=1.0)])
    other = call([1], [9, 9], spans=[Span("step", 1, 2, score=0.5)])
    found = spans([trajectory(0, 0, said), trajectory(0, 1, call([1], [4])), trajectory(0, 2, other)])
    np.testing.assert_array_equal(found.step, [0, 1, 1, -1, -1, -1, 2])
    np.testing.assert_array_equal(found.score, [0.25, 1.0, 0.5])
    assert found.inside["step"].tolist() == [True, True, True, False, False, False, True]
    wrong = replace(said, spans=[Span("step", 0, 2, score=float("nan"))])
    assert pack(plan({0: [1.0, 0.0]}), [trajectory(0, 0, wrong), trajectory(0, 1, other)]).rejected_rows == 1


def test_a_step_without_spans_has_none_and_weights_of_one_are_no_weights():
    plain = trajectory(0, 0, call([1], [2, 3]))
    assert spans([plain]) == sequences([[1, 2]]).spans == Spans()
    named = spans([trajectory(0, 0, call([1], [2, 3], spans=[Span("query", 0, 1)]))])
    assert (named.weight, named.inside["query"].tolist()) == (None, [True, False])


def test_a_batch_has_the_spans_of_its_tokens_in_their_flat_order():
    first = trajectory(0, 0, call([1], [2, 3], spans=[Span("query", 1, 2, 2.0)]))
    alone = call([1, 2, 4], [5], 1, spans=[Span("query", 0, 1, 0.5)])
    other = replace(trajectory(0, 1, call([7], [8]), alone))
    batch = pack(plan({0: [1.0, 0.0]}), [other, first])
    assert batch.tokens.tolist() == [2, 2]
    np.testing.assert_array_equal(batch.spans.inside["query"], [False, True, False, True])
    np.testing.assert_array_equal(batch.spans.weight, [1.0, 2.0, 1.0, 0.5])
    masked = pack(plan({0: [None, 0.0]}), [other, first])
    np.testing.assert_array_equal(masked.spans.weight, [1.0, 0.5])
