"""Turns of trajectories: their tokens, their rewards, and the observations before them."""

from dataclasses import replace

from hone.trajectory.packing import pack
from hone.trajectory.turns import turns
from tests.unit.trajectory.samples import call, plan, random_episodes, step_of, trajectory


def episode(index, *said, rewards=None, masks=None):
    """A trajectory whose environment said these things, one after each call."""
    calls, text = [], [1, 2]
    for place, _ in enumerate(said):
        mask = (masks or {}).get(place, [True, True])
        calls.append(call(text, [3, 4], place, train_mask=mask, kind=f"kind{place}"))
        text = [*text, 3, 4, 5]
    steps = [step_of(place, place, words, (rewards or {}).get(place, 0.0)) for place, words in enumerate(said)]
    return replace(trajectory(0, index, *calls), steps=steps, task_hash="the task")


def test_a_turn_sees_what_was_said_before_it_and_is_paid_for_its_own_steps():
    found = turns([episode(0, "kitchen", "garden", rewards={1: -0.5}), episode(1, "garden", "kitchen", "end")])
    assert found.trajectory.tolist() == [0, 0, 1, 1, 1]
    assert found.observation.tolist() == [0, 1, 0, 2, 1]  # task, kitchen; task, garden, kitchen
    assert found.reward.tolist() == [0.0, -0.5, 0.0, 0.0, 0.0]
    assert found.kind == ("kind0", "kind1", "kind0", "kind1", "kind2")


def test_a_turn_has_what_each_rule_gave_its_own_steps():
    graded = episode(0, "a", "b", "c")
    first, second, third = graded.steps
    graded = replace(graded, steps=[
        replace(first, rules={"length": -1.0, "right": 0.0}), replace(second, rules={"right": -0.5}),
        replace(third, call=1, rules={"length": -2.0, "right": -1.0})])
    found = turns([episode(1, "a"), graded])
    assert {name: scores.tolist() for name, scores in found.rules.items()} == {
        "length": [0.0, -1.0, -2.0, 0.0], "right": [0.0, 0.0, -1.5, 0.0]}
    assert turns([episode(0, "a")]).rules == {}


def test_a_turn_counts_the_tokens_that_train():
    found = turns([episode(0, "a", "b", "c", masks={1: [False, False], 2: [True, False]})])
    assert found.tokens.tolist() == [2, 0, 1]


def test_other_roles_take_no_turn():
    asked = trajectory(0, 0, call([1], [2]), call([1, 2], [3], 1, role="user"), call([1, 2, 3], [4], 2))
    assert turns([asked]).tokens.tolist() == [1, 1]


def test_a_batch_has_the_turns_and_the_parts_of_rewards_of_its_trajectories_alone():
    step, trajectories = random_episodes(groups=2, samples=3)
    masked = step.groups[0].model_copy(update={"rewards": [None, *step.groups[0].rewards[1:]]})
    batch = pack(step.model_copy(update={"groups": [masked, step.groups[1]]}), trajectories)
    assert len(batch.tokens) == 5
    tokens = [int(batch.turns.tokens[batch.turns.trajectory == place].sum()) for place in range(5)]
    assert tokens == batch.tokens.tolist()
    expected = [parts["exec"] for parts in (*step.groups[0].components[1:], *step.groups[1].components)]
    assert batch.components["exec"].tolist() == expected


def test_a_missing_part_is_not_a_number():
    step, trajectories = random_episodes(groups=1, samples=2)
    parts = [{"exec": 1.0}, {}]
    batch = pack(step.model_copy(update={"groups": [step.groups[0].model_copy(update={"components": parts})]}),
                 trajectories)
    assert batch.components["exec"][0] == 1.0
    assert batch.components["exec"][1] != batch.components["exec"][1]


def test_plans_of_old_runs_have_no_parts():
    batch = pack(plan({0: [1.0]}), [trajectory(0, 0, call([1], [2, 3]))])
    assert batch.components == {}
