"""Dual-Track GRPO against the numbers of trust-sql.md, the oracle, and its exact properties."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.advantages.dual_track import DualTrackParams, dual_track
from hone.algorithms.advantages.grpo import GrpoParams, grpo
from hone.algorithms.inputs import AdvantageInputs
from hone.trajectory.turns import Turns
from tests.oracles import dual_track as oracle

TEN = [True] * 4 + [False] * 6
EXAMPLE = [(0, 1, 0.1, 1, TEN), (0, 1, 0.1, 0, TEN), (0, 0.2, 0.1, 1, TEN), (0, 0, 0, 0, TEN)]


def inputs(rows):
    """Rows of (group, exec, fmt, schema, whether each token is before the boundary)."""
    columns = np.array([row[1:4] for row in rows], np.float64)
    return AdvantageInputs(
        columns[:, 0] + columns[:, 1], np.array([row[0] for row in rows], np.int64),
        np.array([len(row[4]) for row in rows], np.int64), np.full(len(rows), np.nan),
        components=dict(zip(("exec", "fmt", "schema"), columns.T, strict=True)),
        spans={"schema": np.concatenate([row[4] for row in rows]).astype(bool)})


def tracks(rows, **params):
    return dual_track(inputs(rows), DualTrackParams(**params), {})[0]


def by_row(track, rows):
    """Advantage of the first token of each row."""
    starts = np.cumsum([0, *(len(row[4]) for row in rows[:-1])])
    return track.advantage[starts]


def coefficients(found, rows):
    """Factor of grad logp in -grad L at rho = 1, each track averaged over its own tokens of a row."""
    row = np.repeat(np.arange(len(rows)), [len(each[4]) for each in rows])
    total = np.zeros(len(row))
    for track in found:
        own = np.bincount(row, track.counts, len(rows))[row]
        total += np.where(track.counts, track.weight * track.advantage / np.maximum(own, 1), 0)
    return total


FULL = [0.975962, 0.975962, -0.667764, -1.284161]


def test_a1_full_and_gated_schema_track():
    full, schema = tracks(EXAMPLE)
    np.testing.assert_allclose(by_row(full, EXAMPLE), FULL, atol=1.5e-6)
    np.testing.assert_allclose(by_row(schema, EXAMPLE), [1.732047, -0.577349, -0.577349, -0.577349], atol=1.5e-6)


def test_a1_ungated_schema_track():
    full, schema = tracks(EXAMPLE, gated=False)
    np.testing.assert_allclose(by_row(full, EXAMPLE), FULL, atol=1.5e-6)
    np.testing.assert_allclose(by_row(schema, EXAMPLE), [0.999998, -0.999998, 0.999998, -0.999998], atol=1.5e-6)


def test_a2_coefficient_of_each_token():
    found = coefficients(tracks(EXAMPLE), EXAMPLE).reshape(4, 10)
    np.testing.assert_allclose(
        found[:, :4], np.repeat([[0.205849], [0.061512], [-0.102861], [-0.164500]], 4, axis=1), atol=1.5e-6)
    np.testing.assert_allclose(
        found[:, 4:], np.repeat([[0.097596], [0.097596], [-0.066776], [-0.128416]], 6, axis=1), atol=1.5e-6)


def test_a4_lambda_zero_is_grpo_on_exec_and_fmt():
    full, schema = tracks(EXAMPLE, schema_weight=0)
    assert full.advantage.tolist() == grpo(inputs(EXAMPLE), GrpoParams(std_ddof=0), {})[0].tolist()
    assert full.counts.all()
    assert (full.weight, schema.weight) == (1.0, 0.0)


def test_a4_tokens_after_the_boundary_are_bit_identical_for_any_lambda():
    one, other = (coefficients(tracks(EXAMPLE, schema_weight=weight), EXAMPLE).reshape(4, 10) for weight in (0.1, 5))
    assert (one[:, 4:] == other[:, 4:]).all()
    assert (one[:, :4] != other[:, :4]).all()


def test_a4_a_row_without_schema_tokens_adds_nothing_to_the_schema_track():
    rows = [*EXAMPLE[:3], (0, 0, 0, 0, [False] * 3)]
    schema = tracks(rows)[1]
    assert not schema.counts[30:].any()
    assert (schema.advantage[30:] == 0).all()
    np.testing.assert_allclose(by_row(schema, rows)[:3], [1.732047, -0.577349, -0.577349], atol=1.5e-6)


def test_one_track_without_variance_leaves_the_other():
    rows = [(0, 1, 0.1, schema, TEN) for schema in (1, 0, 0)]
    full, schema = tracks(rows)
    assert (full.advantage == 0).all()
    assert (schema.advantage[schema.counts] != 0).all()


def test_an_aborted_row_is_in_no_statistic_and_has_no_advantage():
    rows = [*EXAMPLE, (0, np.nan, np.nan, np.nan, TEN)]
    for track, alone in zip(tracks(rows), tracks(EXAMPLE), strict=True):
        assert track.advantage[:40].tolist() == alone.advantage.tolist()
        assert (track.advantage[40:] == 0).all()


def test_fewer_than_two_valid_rows_have_no_advantage():
    assert all((track.advantage == 0).all() for track in tracks([EXAMPLE[0], (0, np.nan, 0, 0, TEN)]))


def test_advantages_are_clamped():
    rows = [(0, 1, 0, 1, [True]), *[(0, 0, 0, 0, [True])] * 120]
    for track in tracks(rows):
        assert track.advantage[0] == 10
    assert tracks(rows, bound=3)[0].advantage[0] == 3


def test_it_reads_components_and_spans_and_names_its_tracks():
    assert DualTrackParams().needs() == {"components", "spans", "turns"}
    assert [(track.name, track.weight, track.loss) for track in tracks(EXAMPLE)] == [
        ("full", 1.0, "policy"), ("schema", 0.25, "policy")]


def test_metrics_are_the_mean_rewards_of_both_tracks():
    _, _, metrics = dual_track(inputs(EXAMPLE), DualTrackParams(), {})
    assert metrics["full_reward"] == pytest.approx(0.625)
    assert metrics["schema_reward"] == 0.25


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = []
    for _ in range(draw(st.integers(1, 16))):
        tokens = int(random.integers(1, 6))
        boundary = int(random.integers(0, tokens + 1))
        executed = [0.0, 0.2, 1.0, 1.0, np.nan][random.integers(5)]
        rows.append((int(random.integers(3)), executed, [0.0, 0.1][random.integers(2)],
                     float(np.round(random.random(), 1)), [t < boundary for t in range(tokens)]))
    return rows


@given(batches(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_it_agrees_with_the_oracle(rows, gated):
    given_rows = [(*row[:4], len(row[4]), row[4]) for row in rows]
    full, _ = oracle.dual_track(given_rows, gated)
    found = tracks(rows, gated=gated)
    np.testing.assert_allclose(by_row(found[0], rows), full, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        coefficients(found, rows), oracle.coefficients(given_rows, 0.25, gated), rtol=1e-6, atol=1e-9)


def test_the_boundary_stands_behind_the_last_span_of_the_name_that_is_asked_for():
    rows = [(0, 1, 0.1, 1, [False, True, False, True, False]), (0, 1, 0.1, 0, [False] * 3), (0, 0, 0, 0, [True])]
    found = inputs(rows)
    schema = dual_track(found, DualTrackParams(), {})[0][1]
    assert schema.counts.tolist() == [True] * 4 + [False] + [False] * 3 + [True]
    assert schema.advantage.tolist()[4:8] == [0] * 4
    other = replace(found, spans={"tables": found.spans["schema"]})
    assert not dual_track(other, DualTrackParams(), {})[0][1].counts.any()
    named = dual_track(other, DualTrackParams(span="tables"), {})[0][1]
    assert (named.name, named.counts.tolist()) == ("schema", schema.counts.tolist())


def explored(*rows, spans=None):
    """Rows of (exec, schema, proposed tokens, turns as (tokens, answered)) in one group; fmt is 0."""
    executed, schema = np.array([row[:2] for row in rows], np.float64).T
    tokens = np.array([sum(length for length, _ in row[3]) for row in rows], np.int64)
    owner = np.repeat(np.arange(len(rows)), [len(row[3]) for row in rows])
    lengths, answered = zip(*(turn for row in rows for turn in row[3]), strict=True)
    none = np.zeros(len(owner))
    turns = Turns(owner, np.array(lengths, np.int64), none, none.astype(np.int64), ("answer",) * len(owner),
                  answered=np.array(answered, np.bool_))
    proposed = np.concatenate([np.isin(np.arange(count), row[2]) for count, row in zip(tokens, rows, strict=True)])
    return AdvantageInputs(
        executed, np.zeros(len(rows), np.int64), tokens, np.full(len(rows), np.nan), turns=turns,
        components={"exec": executed, "fmt": np.zeros(len(rows)), "schema": schema},
        spans={"schema": proposed, **(spans or {})})


TURNS = [(2, True), (3, True), (2, False)]


def test_without_a_proposal_the_boundary_is_the_end_of_the_last_exploring_turn_and_the_schema_is_worth_nothing():
    given = explored((1, 1, [3], TURNS), (1, 1, [], TURNS), (1, 1, [], [(3, False)]))
    schema, _, metrics = dual_track(given, DualTrackParams(), {})[0][1], *dual_track(given, DualTrackParams(), {})[1:]
    assert schema.counts.tolist() == [True] * 4 + [False] * 3 + [True] * 5 + [False] * 2 + [False] * 3
    np.testing.assert_allclose(schema.advantage[:4], 1.414211, atol=3e-6)  # schema rewards 1, 0, 0
    np.testing.assert_allclose(schema.advantage[7:12], -0.707105, atol=3e-6)
    assert (schema.advantage[12:] == 0).all()
    assert metrics["schema_reward"] == pytest.approx(1 / 3)
    assert metrics["unproposed_fraction"] == pytest.approx(2 / 3)


def test_where_spans_mark_exploring_turns_a_turn_that_tries_the_query_is_none():
    marked = np.zeros(10, np.bool_)
    marked[[3, 4]] = True  # inside the first turn of the second trajectory, and in its second turn's first token
    rows: Any = ((1, 1, [0], [(1, False)]), (0, 1, [], [(3, True), (4, True), (2, False)]))
    found = dual_track(explored(*rows, spans={"look": marked}), DualTrackParams(explore="look"), {})[0][1]
    assert found.counts.tolist() == [True] + [True] * 7 + [False] * 2
    marked[4] = False
    found = dual_track(explored(*rows, spans={"look": marked}), DualTrackParams(explore="look"), {})[0][1]
    assert found.counts.tolist() == [True] + [True] * 3 + [False] * 6


def test_nobody_proposed():
    """All schema rewards are 0: that track trains nothing, the other one still does."""
    full, schema = dual_track(explored((1, 1, [], TURNS), (0, 1, [], TURNS)), DualTrackParams(), {})[0]
    assert (schema.advantage == 0).all()
    assert (full.advantage != 0).all()
