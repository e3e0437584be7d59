"""Proposals to merchants: what they are worth, and what each way to score them would teach."""

import pytest

from hone.environments.merchant_strategies import (
    GAP,
    MerchantStrategies,
    MerchantStrategiesParams,
    merchant,
    prediction,
    worth,
)

WORLD, PARAMS = MerchantStrategies(), MerchantStrategiesParams()


def test_the_score_is_the_worth_of_the_fused_prediction() -> None:
    one = WORLD.episode(PARAMS, 5, None)
    one.reset()
    seen = one.step("discount 20").observation.item
    found = prediction(merchant(5), 20)
    assert seen["fused"] == pytest.approx(found.weight * found.reasoned + (1 - found.weight) * found.fitted)
    assert seen["verified"] == worth(found.fused, 20, PARAMS)
    assert seen["components"] == {GAP: abs(found.reasoned - found.fitted)}


def test_the_scale_holds_every_worth() -> None:
    assert worth(0.0, PARAMS.most, PARAMS) == pytest.approx(0.0)
    assert worth(1.0, 0, PARAMS) == pytest.approx(1.0)


@pytest.mark.parametrize("action", ["", "discount", "discount -1", "discount 61", "discount 999", "coupon 20", "2 0",
                                    "discount 20 or 30", "discount 1.5"])
def test_an_answer_without_a_discount_scores_nothing(action: str) -> None:
    one = WORLD.episode(PARAMS, 5, None)
    one.reset()
    taken = one.step(action)
    assert (taken.valid, taken.observation.item["verified"]) == (False, 0.0)
    assert "components" not in taken.observation.item


def test_other_rewards_are_the_branches() -> None:
    scores = {}
    for reward in ("fused", "reasoned", "fitted", "unanchored"):
        one = WORLD.episode(MerchantStrategiesParams(reward=reward), 5, None)
        one.reset()
        scores[reward] = one.step("Discount 45 %").observation.item["verified"]
    assert scores["fitted"] < scores["fused"] < scores["reasoned"] < scores["unanchored"]


def test_merchants_differ_by_seed() -> None:
    assert len({merchant(seed) for seed in range(64)}) > 50
    assert "Answer `discount N`, N from 0 to 60." in WORLD.messages(PARAMS, 0, None)[0]["content"]
