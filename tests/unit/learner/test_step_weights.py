"""Phase A in numbers: tracks with tokens of their own, modulation over the whole step, weights whose mean is 1."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hone.algorithms.catalogue import ADVANTAGES, MODULATIONS
from hone.algorithms.inputs import Track
from hone.algorithms.method import Method
from hone.trajectory import parts
from hone.trajectory.packing import Spans, pack
from hone.trajectory.records import Span
from services.learner.trainer.learner import Learner
from services.learner.trainer.reference_pass import BeforeUpdate
from services.learner.trainer.step_weights import compute_step_weights
from tests.support.learner.learners import OPTIMIZER, assert_equal_gradients, gradient, learner
from tests.unit.trajectory.samples import call, plan, random_episodes, random_step, step_of, trajectory


def two_tracks(inputs, _, state):
    """1 on every token, and -2 on the first token of each trajectory, which weighs a quarter."""
    first = np.zeros(int(inputs.tokens.sum()), np.bool_)
    first[np.cumsum(inputs.tokens) - inputs.tokens] = True
    everywhere = np.ones(len(first))
    return [Track("all", everywhere, np.ones(len(first), np.bool_)),
            Track("first", -2 * everywhere, first, 0.25, "reinforce")], state, {}


@pytest.fixture
def tracks(monkeypatch):
    monkeypatch.setitem(ADVANTAGES, "grpo", Method(two_tracks, ADVANTAGES["grpo"].params))


@pytest.mark.usefixtures("tracks")
@pytest.mark.parametrize(("aggregation", "whole", "first"), [
    ("token-mean", [1 / 6] * 6, [0.125, 0, 0.125, 0, 0, 0]),
    ("seq-mean-token-mean", [1 / 4] * 2 + [1 / 8] * 4, [0.125, 0, 0.125, 0, 0, 0]),
    ("seq-mean-token-sum", [1 / 2] * 6, [0.125, 0, 0.125, 0, 0, 0]),
])
def test_a_track_is_averaged_over_its_own_tokens(aggregation, whole, first):
    step = plan({0: [1.0, 0.0]}, {"aggregation": {"name": aggregation}})
    batch = pack(step, [trajectory(0, 0, call([1], [2, 3])), trajectory(0, 1, call([1], [2, 3, 4, 5]))])
    everywhere, alone = compute_step_weights(batch, step, BeforeUpdate(), {}).terms
    np.testing.assert_allclose(everywhere.scale, whole)
    np.testing.assert_allclose(alone.scale, first)
    assert (everywhere.loss, alone.loss) == (None, "reinforce")


@pytest.mark.usefixtures("tracks")
def test_tracks_add_up_to_the_same_gradient_however_the_step_is_cut():
    step = random_step(seed=3)
    (whole, at_once), (cut, parts) = gradient(step), gradient(step, token_budget=30)
    assert_equal_gradients(at_once, parts)
    assert cut["loss"] == pytest.approx(whole["loss"], rel=1e-5)
    assert {"loss/all/ratio_mean"} <= set(whole)


@pytest.mark.usefixtures("tracks")
def test_the_gradient_of_tracks_is_the_sum_of_theirs(monkeypatch):
    both = gradient(random_step(seed=4))[1]
    names = dict(both)
    expected = {name: torch.zeros_like(tensor) for name, tensor in names.items()}
    for place in (0, 1):
        def alone(inputs, params, state, place=place):
            return [two_tracks(inputs, params, state)[0][place]], state, {}

        monkeypatch.setitem(ADVANTAGES, "grpo", Method(alone, ADVANTAGES["grpo"].params))
        for name, tensor in gradient(random_step(seed=4))[1].items():
            expected[name] += tensor
    assert_equal_gradients(both, expected)


def test_losses_take_the_advantage_that_the_modulation_made(monkeypatch):
    def doubled(inputs, _, state):
        return 2 * inputs.advantage, state, {}

    monkeypatch.setitem(MODULATIONS, "none", Method(doubled, MODULATIONS["none"].params))
    step = plan({0: [1.0, 0.0]})
    batch = pack(step, [trajectory(0, 0, call([1], [2, 3])), trajectory(0, 1, call([1], [2]))])
    [term] = compute_step_weights(batch, step, BeforeUpdate(), {}).terms
    before = [1 / np.sqrt(2)] * 2 + [-1 / np.sqrt(2)]
    np.testing.assert_allclose(term.unmodulated, before, rtol=1e-5)
    np.testing.assert_allclose(term.advantage, 2 * np.array(before), rtol=1e-5)


def test_normalized_weights_have_mean_1_over_the_step():
    step, trajectories = random_step(seed=5, algorithm={
        "correction": {"name": "tis", "params": {"normalize": True}}, "skip_zero_advantage": False})
    whole = learner().forward_backward(step, trajectories)
    parts = learner(token_budget=30).forward_backward(step, trajectories)
    assert whole["correction/weight_mean"] == pytest.approx(1.0, abs=1e-5)
    assert parts["correction/weight_mean"] == pytest.approx(1.0, abs=1e-5)
    assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-4)


def test_in_bypass_mode_the_ratio_of_the_loss_compares_with_the_sampler():
    step, trajectories = random_step(seed=6, algorithm={"correction": {"name": "bypass"}})
    bypassed = learner().forward_backward(step, trajectories)
    decoupled = learner().forward_backward(*random_step(seed=6))
    assert decoupled["loss/ratio_mean"] == pytest.approx(1.0)
    assert bypassed["loss/ratio_mean"] == pytest.approx(decoupled["correction/weight_mean"], rel=0.5)
    assert abs(bypassed["loss/ratio_mean"] - 1) > 0.01


SESSIONS = [(10.0, [0, -1, 0]), (0.0, [0, 0]), (10.0, [-1, -1, 0]), (0.0, [0, -1])]
"""Example 1 of duca.md: outcomes, and the score of each turn by the rule `repetition`."""
LONG_TURN = 4  # of the ten, the one that breaks the rule `length`


def stored_dialogues():
    """A step's sessions as the trainer reads them: out of a part. Each turn is one token."""
    place, made = 0, []
    for index, (_, scores) in enumerate(SESSIONS):
        calls, steps = [], []
        for turn, repeated in enumerate(scores):
            rules = {"repetition": float(repeated), "length": -float(place == LONG_TURN), "compliance": 0.0}
            calls.append(call([1, *range(turn)], [turn], turn))
            steps.append(step_of(turn, turn, "more", 2 * rules["repetition"] + rules["length"], rules=rules))
            place += 1
        made.append(replace(trajectory(0, index, *calls), steps=steps))
    return parts.decode(parts.encode(made))


def credited(**params):
    step = plan({0: [outcome for outcome, _ in SESSIONS]}, {"preset": "hian", "advantage": {
        "name": "hian", "params": params}}, steps=10)
    weights = compute_step_weights(pack(step, stored_dialogues()), step, BeforeUpdate(), {})
    [term] = weights.terms
    return term.advantage.numpy(), weights.metrics


def test_stored_turns_are_credited_by_what_each_rule_gave_them():
    """The first rule is example 1's; one turn of ten scores -0.9 / 0.3 = -3; a rule that never fires counts."""
    session = np.repeat([1, -1, 1, -1], [3, 2, 3, 2])
    repeats = np.array([0.816495 if each == 0 else -1.224742 for _, scores in SESSIONS for each in scores])
    lengths = np.where(np.arange(10) == LONG_TURN, -3, 1 / 3)
    apart, metrics = credited(per_rule=True, rule_weights={"repetition": 2.0})
    np.testing.assert_allclose(apart, session + (2 * repeats + lengths + 0) / 4, atol=2e-5)
    assert {name: value for name, value in metrics.items() if name.startswith("advantage/rule/")} == pytest.approx(
        {"advantage/rule/repetition": -0.4, "advantage/rule/length": -0.1, "advantage/rule/compliance": 0.0})
    alone, _ = credited(per_rule=True, rule_weights={"length": 0.0, "compliance": 0.0})
    np.testing.assert_allclose(alone, session + repeats, atol=2e-5)


def test_stored_turns_are_credited_by_the_sum_of_their_rules():
    paid = np.array([2.0 * each for _, scores in SESSIONS for each in scores]) - (np.arange(10) == LONG_TURN)
    whole, metrics = credited()
    expected = np.repeat([1, -1, 1, -1], [3, 2, 3, 2]) + (paid - paid.mean()) / paid.std()
    np.testing.assert_allclose(whole, expected, atol=2e-5)
    assert metrics["advantage/turn_reward"] == pytest.approx(-0.9)


def test_turns_that_no_rule_graded_are_reported():
    step, trajectories = random_step(algorithm={"advantage": {"name": "hian", "params": {"per_rule": True}}})
    with pytest.raises(ValueError, match=r"turns\.rules: found none"):
        compute_step_weights(pack(step, trajectories), step, BeforeUpdate(), {})


def test_turns_are_steps_whose_scores_rules_make():
    """s = 1 + the mean of three rules; the advantage of turn j is multiplied by 1 + c (s_j - mean s)."""
    algorithm = {"modulation": {"name": "step_credit", "params": {"c": 0.6}}}
    step = plan({0: [outcome for outcome, _ in SESSIONS]}, algorithm, steps=10)
    [term] = compute_step_weights(pack(step, stored_dialogues()), step, BeforeUpdate(), {}).terms
    scores = [[1 + each / 3 for each in scores] for _, scores in SESSIONS]
    scores[1][1] -= 1 / 3  # LONG_TURN
    factor = [1 + 0.6 * (score - sum(own) / len(own)) for own in scores for score in own]
    np.testing.assert_allclose(term.advantage, term.unmodulated * torch.tensor(factor), rtol=1e-5)
    assert factor[0] == pytest.approx(1 + 0.6 / 9)
    bare, trajectories = random_step(algorithm=algorithm)
    [term] = compute_step_weights(pack(bare, trajectories), bare, BeforeUpdate(), {}).terms
    torch.testing.assert_close(term.advantage, term.unmodulated, rtol=0, atol=0)


def test_steps_inside_answers_come_before_turns_and_leave_other_tokens_alone():
    """The grader's s_j in one sample; the others have no such steps, and one turn each, which moves nothing."""
    step, trajectories = random_step(groups=2, algorithm={"modulation": {"name": "step_credit", "params": {"c": 0.5}}})
    first = trajectories[0]
    ids = [*range(7)]
    steps = [Span("step", 1, 3, score=1.0), Span("step", 4, 6, score=0.5), Span("other", 0, 7)]
    said = replace(first.calls[0], completion_ids=ids, logp_sample=[-1.0] * 7, train_mask=[True] * 7, spans=steps)
    scored = [replace(first, calls=[said]), *trajectories[1:]]
    graded = [replace(one, calls=[replace(each, scores={"score": -0.5}) for each in one.calls]) for one in scored]
    for given in (scored, graded):
        [term] = compute_step_weights(pack(step, given), step, BeforeUpdate(), {}).terms
        factor = torch.tensor([1, 1.125, 1.125, 1, 0.875, 0.875, 1] + [1.0] * (len(term.advantage) - 7))
        torch.testing.assert_close(term.advantage, term.unmodulated * factor)
        assert term.unmodulated.abs().min() > 0


@pytest.mark.parametrize("advantage", ["rdpo", "hian"])
def test_what_estimators_carry_from_step_to_step_survives_an_interrupt(advantage):
    algorithm = {"advantage": {"name": advantage}}
    steps = [random_episodes(seed=seed, algorithm=algorithm) for seed in range(4)]
    straight, stopped = learner(), learner()
    for place, step in enumerate(steps):
        for trained in (straight, stopped):
            trained.forward_backward(*step)
            trained.optim_step(1e-3, 1.0)
        stopped = Learner.restore(stopped.snapshot(), OPTIMIZER, token_budget=10_000)
        assert stopped.snapshot() == straight.snapshot(), place
    assert straight.models.states["advantage"]


def named(trajectories, weight, name="query"):
    """The same trajectories, the first two tokens of each call a span of this weight."""
    return [replace(one, calls=[replace(each, spans=[Span(name, 0, min(2, len(each.completion_ids)), weight)])
                                for each in one.calls]) for one in trajectories]


WEIGHED = {"token-mean": {"aggregation": {"name": "token-mean"}}, "grpo": {"preset": "grpo"},
           "turn-mean": {"aggregation": {"name": "turn-mean"}}, "entropy": {"regularizers": [{"name": "entropy"}]}}


@pytest.mark.parametrize("name", WEIGHED)
def test_spans_of_weight_one_change_no_bit(name):
    step, trajectories = random_step(seed=6, algorithm=WEIGHED[name])
    (plain, before), (weighed, after) = gradient((step, trajectories)), gradient((step, named(trajectories, 1.0)))
    assert all(torch.equal(before[each], after[each]) for each in before)
    tokens = [len(one.calls[0].completion_ids) for one in trajectories]
    assert weighed.pop("span/query") == pytest.approx(sum(min(2, each) for each in tokens) / sum(tokens))
    assert weighed == plain


@pytest.mark.parametrize("name", WEIGHED)
def test_a_weight_multiplies_its_tokens_in_every_term_and_leaves_the_others(name):
    step, trajectories = random_episodes(seed=6, algorithm=WEIGHED[name])
    plain, weighed = (compute_step_weights(pack(step, made), step, BeforeUpdate(), {})
                      for made in (trajectories, named(trajectories, 2.5)))
    inside = pack(step, named(trajectories, 2.5)).spans.inside["query"]
    assert inside.any()
    assert not inside.all()
    factor = torch.from_numpy(np.where(inside, 2.5, 1.0)).float()
    torch.testing.assert_close(weighed.regularized, plain.scale * factor)
    assert torch.equal(weighed.scale, plain.scale), "span weights do not apply to a critic"
    torch.testing.assert_close(weighed.terms[0].scale, plain.terms[0].scale * factor)
    assert torch.equal(weighed.regularized[~inside], plain.regularized[~inside])
    assert torch.equal(plain.regularized, plain.scale)
    assert torch.equal(weighed.terms[0].advantage, plain.terms[0].advantage)


def test_a_weight_reaches_the_gradient_and_no_cut_changes_it():
    step, trajectories = random_step(seed=7, algorithm={"regularizers": [{"name": "entropy"}]})
    split = [named(trajectories, weight) for weight in (0.0, 1.0, 2.0)]
    none, once, twice = (gradient((step, made))[1] for made in split)
    assert_equal_gradients(twice, {name: 2 * once[name] - none[name] for name in once})
    assert any(not torch.equal(once[name], twice[name]) for name in once)
    assert_equal_gradients(twice, gradient((step, split[2]), token_budget=30)[1])


@pytest.mark.usefixtures("tracks")
def test_each_track_is_weighed_and_averaged_over_as_many_tokens_as_before():
    step = plan({0: [1.0, 0.0]}, {"aggregation": {"name": "token-mean"}})
    batch = pack(step, named([trajectory(0, 0, call([1], [2, 3])), trajectory(0, 1, call([1], [2, 3, 4, 5]))], 3.0))
    everywhere, alone = compute_step_weights(batch, step, BeforeUpdate(), {}).terms
    np.testing.assert_allclose(everywhere.scale, [3 / 6] * 4 + [1 / 6] * 2)
    np.testing.assert_allclose(alone.scale, [0.375, 0, 0.375, 0, 0, 0])


def test_a_trajectory_whose_every_token_weighs_nothing_has_no_gradient():
    step, trajectories = random_step(seed=8)
    silent = [*named(trajectories[:1], 0.0), *trajectories[1:]]
    silent[0] = replace(silent[0], calls=[replace(each, spans=[Span("all", 0, len(each.completion_ids), 0.0)])
                                          for each in silent[0].calls])
    weights = compute_step_weights(pack(step, silent), step, BeforeUpdate(), {})
    assert not weights.kept[0]
    assert weights.kept.any()


def schema_track(trajectories, spans=None):
    step = plan({0: [1.0, 0.0]}, {"preset": "trust_sql"})
    parts_of = [{"exec": 1.0, "fmt": 0.1, "schema": 1.0}, {"exec": 0.0, "fmt": 0.1, "schema": 1.0}]
    step = step.model_copy(update={"groups": [step.groups[0].model_copy(update={"components": parts_of})]})
    batch = pack(step, trajectories)
    batch = batch if spans is None else replace(batch, spans=spans)
    return compute_step_weights(batch, step, BeforeUpdate(), {}).terms[1]


def test_the_schema_track_ends_with_the_last_span_of_that_name_whatever_call_it_is_in():
    first = trajectory(0, 0, call([1], [2, 3], spans=[Span("schema", 0, 1)]),
                       call([1, 2, 3, 9], [4, 5, 6], 1, spans=[Span("schema", 1, 2), Span("query", 2, 3)]))
    other = trajectory(0, 1, call([1], [2, 3], spans=[Span("query", 0, 2)]))
    track = schema_track([first, other])
    assert track.name == "schema"
    np.testing.assert_allclose(track.scale, np.array([0.25] * 4 + [0] * 3) / 2 / 4)
    np.testing.assert_allclose(track.advantage[:4], 1, atol=1e-5)
    none = schema_track([first, other], Spans())
    assert not none.scale.any()
