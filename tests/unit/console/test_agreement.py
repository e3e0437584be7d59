"""Measured and predicted rates as drawings and tables."""

from datetime import UTC, datetime

from hone.client.audience_resources import (
    AudienceFit,
    AudienceReaction,
    FitSpending,
    MeasuredMerchant,
    MinedPolicies,
    MinedPolicy,
    StepReaction,
)
from services.console.pages import audiences
from services.console.pages.reactions import reaction
from services.console.widgets import agreement


def merchant(name: str, rate: float, reasoned: float | None) -> MeasuredMerchant:
    return MeasuredMerchant(id=name, merchant=name, stratum="", users=100, rates=[rate], fitted=[0.4],
                            reasoned=None if reasoned is None else [reasoned],
                            fused=None if reasoned is None else [(0.4 + reasoned) / 2])


def test_each_prediction_has_a_drawing_with_its_error() -> None:
    shown = agreement.section(["order"], [merchant("<m1>", 0.5, 0.6), merchant("m2", 0.3, 0.6)])
    assert "20.0 points off" in shown
    assert shown.count("<circle") == 6
    assert "&lt;m1&gt;: predicted 60.0%, measured 50.0%, 100 users" in shown
    alone = agreement.section(["order"], [merchant("m1", 0.5, None)])
    assert alone.count("<circle") == 1


def test_the_best_error_that_was_not_fitted_to_these_merchants_stands_out() -> None:
    found: dict[str, dict[str, float | None]] = {
        "fitted": {"gse": 12.0, "mae": 0.04}, "fused": {"gse": 8.0, "mae": 0.02},
        "left_out": {"gse": None, "mae": 0.03}}
    shown = agreement.errors(found)
    assert '<span class="best">3.0</span>' in shown
    assert shown.count('class="best"') == 1
    assert shown.index("Model") < shown.index("Fused, left out")


def test_an_alarm_and_flags_stand_above_a_reaction() -> None:
    step = StepReaction(step="order", rate=0.5, reasoned=0.8, fitted=0.4, weight=0.25)
    found = AudienceReaction(id="sim_1", steps=[step], policies=[], flags=["extrapolates: strategy.discount"], users=9,
                             personas=4, gap=0.4, mean_gap=0.2, alarm=True)
    shown = reaction(found)
    assert "20 points apart on average" in shown
    assert "strategy.discount is outside the range of the logs" in shown
    alone = reaction(found.model_copy(update={"gap": None, "alarm": False, "flags": ["no reasoner"], "steps": [
        step.model_copy(update={"reasoned": None})]}))
    assert "Alarm" not in alone
    assert alone.count('class="bar') == 2


def test_rules_are_shown_in_the_words_that_the_reasoner_reads() -> None:
    record = {"condition": [{}], "step": "order", "rate": 0.4, "base_rate": 0.2, "support": 9, "merchants": 3}
    text = "Where user.loyalty is more than 0.5, 40.0% of users reach order, against 20.0%."
    shown = audiences.rules(MinedPolicies(data=[
        MinedPolicy(id="p0", text=text, record=record),
        MinedPolicy(id="p1", text="Loyal users order: 40%, others 20%.", record={
            **record, "words": "Loyal users order: 40%, others 20%."})]))
    assert ">Where user.loyalty is more than 0.5</span>" in shown
    assert ">Loyal users order: 40%, others 20%.</span>" in shown


def test_what_a_reasoner_added_and_used_is_shown() -> None:
    report = {"hypotheses": {"proposed": 5, "kept": 2, "refused": 1, "complaints": ["a <bad> column"]}}
    fit = AudienceFit(id="fit_1", state="done", dataset="logs", params={}, report=report,
                      spent=FitSpending(answers=12, tokens=1440, cost=0.5), created_at=datetime.now(UTC))
    shown = audiences._written(fit)
    assert "2 of 5 kept" in shown
    assert "a &lt;bad&gt; column" in shown
    assert "1 440 tokens" in shown
