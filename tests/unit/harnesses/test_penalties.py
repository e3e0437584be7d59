"""The four rule penalties of hipif.md, case by case and against the oracle."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.harnesses.penalties import (
    Sizes,
    SubgoalStep,
    false_finishes,
    loops,
    malformed,
    normal_form,
    process_rewards,
    ungrounded,
)
from tests.oracles import step_pooled as oracle

LEXICON = ["mug 1", "mug 2", "table 1", "side table 1", "shelf 1", "Desk Lamp 1"]
PRESENT = ["mug 1", "side table 2", "shelf 1"]


@pytest.mark.parametrize(("subgoal", "fires"), [
    ("find a mug", False),
    ("find mug 7 on the shelf", False),  # numbers are removed on both sides
    ("take mug1", False),
    ("go to table9", True),
    ("go to the side table", False),  # its text is consumed, so no table is named
    ("go to the table", True),
    ("go from the side table to the table", True),
    ("switch on the DESK  lamp", True),
    ("put it on the tabletop", False),  # whole words
    ("a smug shelf", False),
    ("look around", False),
    ("find the unicorn", False),  # no name of the environment
    ("", False),
])
def test_grounding(subgoal, fires):
    assert ungrounded(subgoal, LEXICON, PRESENT) is fires


def test_grounding_passes_over_names_that_are_only_numbers():
    assert not ungrounded("shelf 12", ["12", "shelf"], ["shelf"])


def test_grounding_reaches_no_name_across_a_consumed_one():
    assert not ungrounded("red side table lamp", ["side table", "red lamp"], ["side table"])


@pytest.mark.parametrize(("observation", "expected"), [
    ("You  SEE\n a mug ", "you see a mug"),
    ("Step 3: you see a mug", ": you see a mug"),
    ("you see a mug (step: 3 / 50)", "you see a mug ()"),
    ("step 3 of 50 you see a mug", "you see a mug"),
    ("step12/50 you see", "you see"),
    ("footstep 3", "footstep 3"),
    ("step up", "step up"),
])
def test_normal_form(observation, expected):
    assert normal_form(observation) == expected == oracle.normal_form(observation)


@pytest.mark.parametrize(("pairs", "starts", "fires"), [
    ([("look", "red"), ("look", "red")], [True, False], [False, True]),
    ([("look", "red"), ("look", "RED  ")], [True, False], [False, True]),
    ([("look", "red step 1"), ("look", "red step 2")], [True, False], [False, True]),
    ([("look", "red"), ("Look", "red")], [True, False], [False, False]),  # the action as written
    ([("look", "red"), ("look", "blue")], [True, False], [False, False]),
    ([("look", "red"), ("look", "red")], [True, True], [False, False]),  # a new subgoal starts anew
    ([("look", "red"), ("go", "x"), ("look", "red"), ("look", "red")], [True, True, False, False],
     [False, False, False, True]),
    ([None, None], [False, False], [False, False]),  # an output without an action is no loop
    ([("look", "red"), None, ("look", "red")], [True, False, False], [False, False, True]),
    ([], [], []),
])
def test_loop(pairs, starts, fires):
    assert loops(pairs, starts) == fires


@pytest.mark.parametrize(("effects", "folded", "succeeded", "fires"), [
    ([True, False, True], [False, False, True], True, [False, False, True]),
    ([True, False, True], [False, False, True], False, [False, False, False]),  # only in episodes that succeed
    ([True, True, False], [False, False, True], True, [False, False, False]),  # its own action comes after
    ([False, False], [False, False], True, [False, False]),
    ([False], [True], True, [False]),  # nothing came before the first step
    ([], [], True, []),
])
def test_false_finish(effects, folded, succeeded, fires):
    assert false_finishes(effects, folded, succeeded) == fires


@pytest.mark.parametrize(("action", "executable", "fires"), [
    ("look", True, False), ("fly", False, True), (None, True, True), (None, False, True),
])
def test_format(action, executable, fires):
    assert malformed(action, executable) is fires


EPISODE = [
    SubgoalStep("go to table", "nothing happens", effect=False, subgoal="find a mug on the table"),
    SubgoalStep("go to table", "nothing happens", executable=False, effect=False),
    SubgoalStep(None, "nothing happens", effect=False),
    SubgoalStep("go to shelf", "a mug", subgoal="go to the shelf", folded=True),
]


@pytest.mark.parametrize(("succeeded", "false_finish"), [(True, -0.1), (False, 0)])
def test_an_episodes_penalties_by_rule(succeeded, false_finish):
    found = process_rewards(EPISODE, LEXICON, PRESENT, succeeded, Sizes())
    assert found == {
        "grounding": [-0.1, 0, 0, 0], "false_finish": [0, 0, 0, false_finish],
        "loop": [0, -0.1, 0, 0], "format": [0, -0.1, -0.1, 0]}


def test_names_may_come_from_iterators():
    found = process_rewards(EPISODE[:1] * 2, iter(LEXICON), iter(PRESENT), True, Sizes(grounding=0.2))
    assert found["grounding"] == [-0.2, -0.2]


def test_an_episode_without_steps_has_no_penalties():
    assert all(len(values) == 0 for values in process_rewards([], [], [], True, Sizes()).values())


@pytest.mark.parametrize("given", [{"subgoal": "find a mug"}, {"folded": True}])
def test_an_output_without_a_parse_has_no_subgoal(given):
    with pytest.raises(ValueError, match="found none beside a subgoal"):
        SubgoalStep(None, "nothing happens", **given)


TEXTS = st.sampled_from(["red", "RED", "red step 1", "red step 2 of 9", "blue", "blue  sky"])
STEPS = st.none() | st.tuples(st.sampled_from(["look", "go"]), TEXTS, st.sampled_from([False, False, True]))


@given(st.lists(STEPS, max_size=12))
@settings(max_examples=100, deadline=None)
def test_loops_agree_with_the_oracle(steps):
    pairs, starts = [step and step[:2] for step in steps], [step is not None and step[2] for step in steps]
    assert loops(pairs, starts) == oracle.loops(steps)


WORDS = ["side", "table", "lamp", "night", "stand", "mug", "the"]
NAMES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), max_size=6)


@given(st.lists(st.sampled_from([*WORDS, "Mug", "3"]), max_size=9).map(" ".join), NAMES, st.integers(0, 6))
@settings(max_examples=200, deadline=None)
def test_grounding_agrees_with_the_oracle(subgoal, names, count):
    present = names[:count]
    assert ungrounded(subgoal, names, present) == bool(oracle.words_named(names, subgoal) - set(present))
