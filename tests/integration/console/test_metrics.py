"""The page of metrics: groups in the order of a step, titles and meanings, search, keyboard."""

from functools import partial

import pytest
from selenium.webdriver.common.keys import Keys

from tests.integration.console.conftest import kept_picture
from tests.integration.console.rows import World
from tests.servers.chromium import Browser

HEADINGS = [
    "Reward and evaluation", "Rollouts", "Rollout budgets — uniform", "Filter — dynamic_sampling",
    "Reward processing — overlong", "Advantage — grpo", "Correction — tis", "Policy loss — clip_higher, token-mean",
    "Regularizers — kl", "Critic", "Optimizer and schedule — constant", "Verification — self_verify",
    "Time and storage", "Other"]


@pytest.fixture
def metrics(signed_in: Browser, world: World) -> Browser:
    signed_in.open(f"/runs/{world.running.id}/metrics", "Weather: clouds")
    return signed_in


def headings(browser: Browser) -> list[str]:
    return [one.text for one in browser.all(".groups h2")]


def test_groups_are_in_the_order_of_a_step_with_what_fills_them(metrics: Browser) -> None:
    assert headings(metrics) == HEADINGS
    links = [one.text for one in metrics.all("nav[aria-label='Groups of metrics'] a")]
    assert links == [heading.partition(" — ")[0] for heading in HEADINGS]
    assert "The soft overlong penalty of DAPO, arXiv 2503.14476." in metrics.text()


def test_a_reconstruction_says_so(signed_in: Browser, world: World) -> None:
    signed_in.open(f"/runs/{world.failed.id}/metrics", "Advantage — rdpo")
    assert "Advantage — rdpo reconstruction" in headings(signed_in)
    kept_picture(signed_in, "metrics-reconstruction-1280")


def test_every_seed_is_in_the_caption_with_the_unit(metrics: Browser) -> None:
    captions = [one.get_attribute("textContent") for one in metrics.all("figure .unseen")]
    [gap] = [text for text in captions if str(text).startswith("Trainer-sampler gap, nats a token: ")]
    assert all(f"seed {seed} " in str(gap) for seed in range(3))


def test_a_search_shows_the_groups_it_means(metrics: Browser) -> None:
    metrics.press("/")
    metrics.wait(lambda: metrics.focused().get_attribute("aria-label") == "Find a metric")
    metrics.press("policy loss")
    metrics.wait(lambda: headings(metrics) == ["Policy loss — clip_higher, token-mean"])
    metrics.wait(lambda: len(metrics.all("figure.chart")) == 9)
    metrics.press(Keys.BACKSPACE * 11)
    metrics.press("clipped")
    metrics.wait(lambda: headings(metrics) == ["Policy loss — clip_higher, token-mean", "Verification — self_verify"])
    metrics.press("x")
    metrics.wait_for("No metrics")


def test_a_metric_is_explained_to_who_comes_by_key(metrics: Browser) -> None:
    tips = metrics.all(".about .tip")
    assert not any(tip.is_displayed() for tip in tips)
    metrics.find("nav[aria-label='Groups of metrics'] a:last-child").send_keys(Keys.TAB)
    focused = metrics.focused()
    assert focused.get_attribute("aria-label") == (
        "Mean reward: Mean score of the step's samples, before rewards are processed.")
    metrics.wait(tips[0].is_displayed)
    kept_picture(metrics, "metrics-tip-1280")
    metrics.press(Keys.TAB)
    metrics.wait(lambda: tips[1].is_displayed() and not tips[0].is_displayed())


def test_a_link_leads_to_its_group(metrics: Browser) -> None:
    for width, end, group in ((1280, "policy-loss", "#metrics-policy-loss"), (390, "-rollouts", "#metrics-rollouts")):
        metrics.look(width)
        assert not _in_view(metrics, group)
        metrics.find(f"nav[aria-label='Groups of metrics'] a[href$='{end}']").send_keys(Keys.ENTER)
        metrics.wait(partial(_in_view, metrics, group))


def _in_view(browser: Browser, selector: str) -> bool:
    return 0 <= browser.top(selector) < 300
