"""The drawings of a run's rollout budgets are made of its newest metrics, and say in words what they show."""

from services.console.widgets import expectations

METRICS = {
    "rollouts/signal_share": 0.5, "value/used_share": 1.0,
    **{f"value/band/{band}/{name}": value for band, values in {
        "0-20": (2.0, 12.0, 0.1, 0.2), "80-100": (8.0, 4.0, 0.9, 1.0)}.items()
       for name, value in zip(("groups", "rollouts", "expected", "actual"), values, strict=True)},
    "value/band/40-60/groups": 1.0}


def test_only_bands_with_all_their_figures_are_shown() -> None:
    assert [one.band for one in expectations.of(METRICS)] == ["0-20", "80-100"]
    assert expectations.section({"rollouts/signal_share": 0.5}) == ""


def test_dots_and_bars_stand_where_their_figures_are() -> None:
    page = str(expectations.section(METRICS))
    assert page.count("<circle") == 2
    assert 'cx="42.8" cy="160.4" r="8.0"' in page
    assert 'cx="177.2" cy="26.0" r="12.0"' in page
    assert 'height="168.0"' in page
    assert 'height="56.0"' in page
    assert "expected 10%, actual 20%; expected 90%, actual 100%" in page
    assert "0-20 %: 12.0; 80-100 %: 4.0" in page
    assert "Groups with signal" in page
    assert "50%" in page


def test_predictions_that_order_nothing_are_an_alarm() -> None:
    good = str(expectations.section({
        **METRICS, "value/auc": 0.8, "value/calibration_error": 0.04, "value/low_steps": 0.0}))
    assert "Order of predictions" in good
    assert "80%" in good
    assert "Calibration error" in good
    assert "4%" in good
    assert "chance for" not in good
    low = {**METRICS, "value/auc": 0.5, "value/low_steps": 20.0}
    assert "chance for 20 steps: predictions say nothing, alarm at 20" in str(expectations.section(low))
