"""The simulator: its policies, both branches, what it stores, and the edge cases of the spec."""

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from hone.audiences import fitting, shipped, stored, world
from hone.audiences.anchoring import sigmoid
from hone.audiences.behaviour import Behaviour
from hone.audiences.columns import Features, Floats
from hone.audiences.decision_policies import DecisionPolicy, Predicate
from hone.audiences.mining import MiningParams, mine
from hone.audiences.reasoning import Question, ask, read
from hone.audiences.simulator import Audience, Simulator, personas
from hone.audiences.training import CalibrationGroup, FitParams, calibrate, groups, parts, train
from hone.spec.problems import Invalid

MERCHANT: dict[str, float | str] = {"category": "tea", "tier": "low", "rating": 4.0, "distance": 1.0}
TEA = Audience(MERCHANT)


@cache
def logs(merchants: int = 12) -> Behaviour:
    return world.behaviour(0, "train", merchants, (0.0, 0.25), world.Habits.of(0))


@cache
def fitted() -> Simulator:
    return train(logs(), FitParams(seed=3, mining=MiningParams(max_policies=5)))


def q_of(rows: Sequence[Features]) -> Floats:
    return np.asarray(world.reasoned(rows))[:, None]


def test_kept_policies_are_as_they_claim() -> None:
    behaviour, params = logs(), MiningParams()
    found = mine(behaviour, params)
    assert 0 < len(found.policies) <= params.max_policies
    for policy in found.policies:
        fired = policy.fires(found.names, behaviour.encoded)
        assert (policy.support, policy.merchants) == (fired.sum(), len(set(behaviour.merchants[fired])))
        assert policy.support >= params.n_min
        assert policy.merchants >= params.merchants_min
        assert abs(policy.log_odds_ratio) >= params.lor_min
        assert policy.rate == pytest.approx(behaviour.outcomes[fired].mean())
        assert f"{policy.rate:.1%}" in policy.text
        assert policy.transferable


def test_duplicates_are_left_out_and_hypotheses_are_measured() -> None:
    behaviour = logs()
    cheap = (Predicate(column="strategy.discount", comparison="<=", bound=0.05),)
    same = (Predicate(column="strategy.discount", comparison="<=", bound=0.0501),)
    found = mine(behaviour, MiningParams(), [cheap, same, cheap])
    fired = [policy.fires(found.names, behaviour.encoded) for policy in found.policies]
    overlaps = [(one & other).sum() / (one | other).sum() for place, one in enumerate(fired) for other in fired[:place]]
    assert max(overlaps) <= 0.8
    assert sum(policy.condition in (cheap, same) for policy in found.policies) <= 1


def test_an_effect_of_few_merchants_is_not_transferable() -> None:
    """Half of the merchants turn the direction round: no policy about the discount agrees on enough of them."""
    behaviour = logs()
    other = np.array([int(name.split("-")[1]) % 2 == 0 for name in behaviour.merchants])
    discount = behaviour.encoded[:, behaviour.columns.names.index("strategy.discount")]
    turned = replace(behaviour, outcomes=((discount > 0.12) ^ other).astype(np.float64)[:, None])
    condition = (Predicate(column="strategy.discount", comparison=">", bound=0.12),)
    assert condition not in [one.condition for one in mine(turned, MiningParams(), [condition]).policies]


def test_a_single_merchant_is_split_by_week_and_its_policies_say_so() -> None:
    behaviour = logs(1)
    lone = replace(behaviour, outcomes=(behaviour.encoded[:, [0]] > np.median(behaviour.encoded[:, 0])).astype(float))
    found = mine(lone, MiningParams(n_min=30, cal_max=0.5, agree=0.5))
    assert found.policies
    assert not any(policy.transferable for policy in found.policies)
    assert "not tested on other merchants" in found.policies[0].text
    with pytest.raises(Invalid, match="week: found 2 in every row, expected several weeks"):
        mine(replace(lone, weeks=np.full(len(lone), 2.0)), MiningParams())


def test_a_policy_that_never_holds_changes_nothing() -> None:
    made, behaviour = fitted(), logs()
    never = DecisionPolicy(id="never", condition=(Predicate(column="user.loyalty", comparison=">", bound=9.0),),
                           step="order", rate=0.9)
    more = replace(made, policies=replace(made.policies, policies=(*made.policies.policies, never)))
    for one, other in zip(made.evidence(behaviour.encoded), more.evidence(behaviour.encoded), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(made.fitted(behaviour.encoded), more.fitted(behaviour.encoded))


def test_the_order_of_users_does_not_matter() -> None:
    made = fitted()
    rows = made.rows(TEA, {"discount": 0.1}, made.users[:80])
    fusion = calibrate([CalibrationGroup("m", "", np.array([0.3]), np.array([0.5]), np.array([0.2]), 100)])
    one, other = (made.react(order, order, q_of(order), fusion) for order in (rows, rows[::-1]))
    assert one.rates == pytest.approx(other.rates)
    assert one.reasoned == pytest.approx(other.reasoned)


def test_it_says_what_scikit_learn_said() -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    behaviour = logs()
    outcome, none = behaviour.outcomes[:, 0], np.zeros(len(behaviour), bool)
    made = fitting.fit(behaviour.encoded, outcome, none, "boosting", 5)
    peer = GradientBoostingClassifier(n_estimators=fitting.TREES, learning_rate=fitting.RATE, max_depth=fitting.DEPTH,
                                      min_samples_leaf=fitting.LEAF, subsample=0.8, random_state=5)
    peer.fit(behaviour.encoded, outcome)
    assert made.predict(behaviour.encoded) == pytest.approx(peer.predict_proba(behaviour.encoded)[:, 1], abs=1e-9)


def test_a_logistic_model_is_the_fallback() -> None:
    made = train(logs(), FitParams(model="logistic", mining=MiningParams(max_policies=0)))
    assert not made.models[0].trees
    assert made.fitted(logs().encoded).mean() == pytest.approx(logs().outcomes.mean(), abs=0.05)


def test_a_step_that_all_or_none_reach_is_a_constant() -> None:
    rows, none = np.zeros((50, 2)), np.zeros(50, bool)
    assert fitting.fit(rows, np.zeros(50), none, "boosting").predict(rows) == pytest.approx(0.5 / 51)


def test_without_policies_the_evidence_is_the_rate_of_all() -> None:
    made = train(logs(), FitParams(mining=MiningParams(max_policies=0)))
    rates, support = made.evidence(logs().encoded)
    assert rates == pytest.approx(logs().outcomes.mean())
    assert not support.any()
    rows = made.rows(TEA, {"discount": 0.1}, made.users[:40])
    assert "no policies" in made.react(rows, rows, q_of(rows), None).flags


def test_too_many_unreadable_personas_leave_the_fitted_rate() -> None:
    made = fitted()
    rows = made.rows(TEA, {"discount": 0.1}, made.users[:40])
    q = q_of(rows)
    q[:8] = math.nan
    read_most = made.react(rows, rows, q, None)
    assert read_most.reasoned is not None
    assert np.isnan(read_most.anchored[:8]).all()
    q[:9] = math.nan
    for missing in (q, None):
        found = made.react(rows, rows, missing, None)
        assert (found.reasoned, found.rates.tolist(), found.gap) == (None, found.fitted.tolist(), None)
        assert "no reasoner" in found.flags


def test_a_strategy_beyond_the_logs_is_flagged_and_gets_the_common_weight() -> None:
    made = train(logs(), FitParams(strata=["merchant.category"], mining=MiningParams(max_policies=2)))
    groups_of = [CalibrationGroup("a", "tea", np.array([0.5]), np.array([0.5]), np.array([0.1]), 100),
                 CalibrationGroup("b", "hotpot", np.array([0.1]), np.array([0.5]), np.array([0.1]), 300)]
    fusion = calibrate(groups_of)
    assert fusion is not None
    for discount, flags, share in ((0.1, (), fusion.strata["tea"]), (0.4, ("extrapolates: strategy.discount",),
                                                                    fusion.weights)):
        rows = made.rows(TEA, {"discount": discount}, made.users[:40])
        found = made.react(rows, rows, q_of(rows), fusion)
        assert (found.flags, tuple(found.weights)) == (flags, share)


def test_a_stored_simulator_predicts_the_same() -> None:
    made = fitted()
    again = stored.of_json(json.loads(json.dumps(stored.as_json(made))))
    assert again.policies == made.policies
    assert np.array_equal(again.fitted(logs().encoded), made.fitted(logs().encoded))
    for broken in ({}, {"format": 1}, {**stored.as_json(made), "models": [{}]}):
        with pytest.raises(stored.NoSimulator):
            stored.of_json(broken)


def test_the_shipped_simulator_is_what_a_fit_finds() -> None:
    found, (kept, fusion) = shipped.fitted(), shipped.synthetic_orders()
    again = stored.of_json(found["simulator"])
    rows = kept.rows(TEA, {"discount": 0.2}, kept.users)
    encoded = kept.columns.encode(rows)
    assert again.fitted(encoded).mean() == pytest.approx(kept.fitted(encoded).mean(), abs=1e-3)
    assert stored.fusion_of_json(found["fusion"]).weights == pytest.approx(fusion.weights, abs=1e-3)


def test_segments_choose_users_and_personas_are_drawn_by_seed() -> None:
    made = fitted()
    loyal = Audience(MERCHANT, (Predicate(column="user.loyalty", comparison=">", bound=0.5),))
    members = made.members(loyal)
    assert 0 < len(members) < len(made.users)
    assert personas(members, 8, 1) == personas(members, 8, 1) != personas(members, 8, 2)
    for column in ("user.age", "merchant.rating"):
        with pytest.raises(Invalid, match=r"segment\[0\].column: found '" + column):
            made.members(Audience(MERCHANT, (Predicate(column=column, comparison=">", bound=0.5),)))
    with pytest.raises(Invalid, match="segment: found no user"):
        made.members(Audience(MERCHANT, (Predicate(column="user.loyalty", comparison=">", bound=2),)))
    unrated = Audience({"category": "tea", "tier": "low", "distance": 1.0})
    with pytest.raises(Invalid, match=r"merchant\.rating: found nothing"):
        made.questions(made.rows(unrated, {"discount": 0.1}, members))


@pytest.mark.parametrize(("params", "field"), [
    ({"drivers": ["user.mood"]}, r"drivers\[0\]"), ({"strata": ["merchant.rating"]}, r"strata\[0\]"),
    ({"hypotheses": [(Predicate(column="x", comparison=">", bound=0),)]}, r"hypotheses\[0\]\[0\].column"),
])
def test_a_fit_refuses_columns_that_the_logs_lack(params: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid, match=field):
        train(logs(), FitParams(**params))


def test_merchants_for_the_fusion_are_not_learned_from() -> None:
    taught, kept = parts(logs(), FitParams())
    assert not set(taught.merchants) & set(kept.merchants)
    assert len(groups(kept)) == 3
    _, named = parts(logs(), FitParams(calibration_merchants=["train-3"]))
    assert set(named.merchants) == {"train-3"}
    with pytest.raises(Invalid, match="calibration_merchants: found 'nobody'"):
        parts(logs(), FitParams(calibration_merchants=["nobody"]))
    assert calibrate([]) is None


class Stammering:
    """Answers nothing readable the first time, and about the second persona never."""

    def __init__(self) -> None:
        self.asked = 0

    async def answer(self, questions: Sequence[Question]) -> list[str]:
        self.asked += len(questions)
        return [json.dumps({"order": 0.25}) if self.asked > 2 and one.features["user"]["loyalty"] == 0.1 else "Well."
                for one in questions]


async def test_an_unreadable_answer_is_asked_for_once_more() -> None:
    questions = [Question({"user": {"loyalty": loyalty}}, (), ("order",)) for loyalty in (0.1, 0.9)]
    reasoner = Stammering()
    assert (await ask(reasoner, questions)).tolist() == [[0.25], pytest.approx([math.nan], nan_ok=True)]
    assert reasoner.asked == 4


@pytest.mark.parametrize("text", ["", "order: 0.5", '{"order": 2}', '{"order": "0.5"}', '{"order": NaN}', "[0.5]",
                                  '{"click": 0.5}', '{"order": true}', '{"order": null}'])
def test_an_answer_of_another_form_is_not_read(text: str) -> None:
    assert read(text, ("order",)) is None


def test_an_answer_with_words_around_it_is_read() -> None:
    assert read('Sure: {"order": 0.5, "click": 1}.', ("click", "order")) == [1.0, 0.5]


def test_a_question_shows_policies_and_what_is_not_known() -> None:
    [one, *_] = fitted().questions(fitted().rows(TEA, {"discount": 0.1}, fitted().users[:3]))
    said = one.messages[-1]["content"]
    assert all(text in said for text in one.policies)
    assert "habits" in said
    assert '"discount": 0.1' in said


def test_a_formula_answers_as_a_reasoner_does() -> None:
    rows = fitted().rows(TEA, {"discount": 0.1}, fitted().users[:5])
    found = asyncio.run(ask(world.formula(), fitted().questions(rows)))
    assert found == pytest.approx(q_of(rows))
    assert sigmoid(np.array([-800.0, 800.0])).tolist() == [0.0, 1.0]
