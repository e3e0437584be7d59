"""A teacher's word and another context, in the order of a packed step's trained tokens."""

from dataclasses import replace

import numpy as np
import pytest

from hone.trajectory.packing import Unpackable, pack
from hone.trajectory.records import Scored
from hone.trajectory.teaching import stored_teacher, under_context
from tests.unit.trajectory.samples import call, plan, random_episodes, trajectory, with_context, with_teacher

WORD = Scored("teacher", "ver_t", [-1.0, -2.0], [4, 5, 6, 7], [-0.1, -3.0, -0.2, -4.0])


def packed(*trajectories):
    return pack(plan({0: [1.0] * len(trajectories)}), trajectories), trajectories


def word_of(step):
    batch, trajectories = step
    return stored_teacher(batch, trajectories, "teacher")


def test_words_stand_at_the_trained_tokens_in_their_order():
    step = packed(
        trajectory(0, 1, call([1], [2, 3], train_mask=[False, True], scored=[WORD])),
        trajectory(0, 0, call([1], [8])))
    word = word_of(step)
    assert word.known.tolist() == [False, True]
    assert (word.logp[1], word.top_ids[1].tolist(), word.top_logp[1].tolist()) == (-2.0, [6, 7], [-0.2, -4.0])
    assert len(set(word.top_ids[0])) == 2
    assert np.isfinite(word.top_logp).all()


def test_without_ids_there_are_none():
    step = packed(trajectory(0, 0, call([1], [2, 3], scored=[replace(WORD, top_ids=[], top_logp=[])])))
    assert word_of(step).top_ids.shape == (2, 0)


def test_another_role_is_no_teacher():
    step = packed(trajectory(0, 0, call([1], [2, 3], scored=[replace(WORD, name="judge")])))
    assert not word_of(step).known.any()


@pytest.mark.parametrize(("changed", "said"), [
    ({"logp": [-1.0]}, "found 1 log-probabilities of role teacher, expected 2"),
    ({"top_ids": [1, 2, 3]}, "found 3 likeliest ids"),
    ({"top_logp": [-1.0]}, "with 1 log-probabilities"),
])
def test_a_word_that_does_not_fit_its_completion_is_refused(changed, said):
    step = packed(trajectory(0, 0, call([1], [2, 3], scored=[replace(WORD, **changed)])))
    with pytest.raises(Unpackable, match=said):
        word_of(step)


def test_under_another_context_the_same_tokens_are_trained():
    made, trajectories = random_episodes(seed=3)
    trajectories = with_context(trajectories, left_out={(0, 0), (2, 1)})
    batch = pack(made, trajectories)
    moved, known = under_context(batch, trajectories, "privileged")
    for before, after in zip(batch.rows, moved.rows, strict=True):
        assert [row.response[place] for row in before for place in row.trained] == [
            row.response[place] for row in after for place in row.trained]
    places = {key: place for place, key in enumerate(batch.keys)}
    assert moved.rows[places[0, 0]] == batch.rows[places[0, 0]]
    assert moved.rows[0 if places[0, 0] else 1][0].prompt[:2] == (7, 8)
    of = np.repeat(np.arange(len(batch.tokens)), batch.tokens)
    assert set(of[~known]) == {places[0, 0], places[2, 1]}


def test_every_call_of_a_teacher_is_read_back():
    made, trajectories = random_episodes(seed=4)
    trajectories = with_teacher(trajectories)
    word = stored_teacher(pack(made, trajectories), trajectories, "teacher")
    spoken = [logp for one in trajectories for each in one.calls for scored in each.scored for logp in scored.logp]
    assert word.logp[word.known].tolist() == spoken
