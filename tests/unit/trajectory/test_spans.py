"""Spans of a step: flags by name and weights over the trained tokens alone."""

from dataclasses import replace

import numpy as np

from hone.trajectory.packing import pack, sequences
from hone.trajectory.records import Span
from hone.trajectory.spans import Spans, spans
from tests.unit.trajectory.samples import call, plan, trajectory


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
