"""Headings of the groups of metrics."""

from hone.client.catalog import SlotFilling, slot_fillings
from hone.client.metric_table import ADVANTAGE, CRITIC, LOSS, REGULARIZERS
from services.console.pages.metrics import contents, heading
from tests.unit.client.specs import resolved


def test_a_heading_names_what_fills_the_slot_and_where_it_is_from() -> None:
    found = heading(LOSS, slot_fillings(resolved(preset="dapo")))
    assert '<h2 id="metrics-policy-loss">Policy loss' in found
    assert "<code>clip_higher</code>, <code>token-mean</code>" in found
    assert "arXiv 2503.14476 (DAPO).</p>" in found
    assert "<span>low 0.2</span><span>high 0.28</span>" in found
    assert "reconstruction" not in found


def test_a_reconstruction_is_marked() -> None:
    assert "reconstruction</span>" in heading(ADVANTAGE, slot_fillings(resolved(preset="rdpo")))


def test_several_fillings_stand_side_by_side() -> None:
    kl = {"name": "kl", "params": {"coefficient": 0.1}}
    found = heading(REGULARIZERS, slot_fillings(resolved(regularizers=[kl, {"name": "entropy"}])))
    assert "<code>kl</code>, <code>entropy</code>" in found
    assert '<span>coefficient 0.1</span><span>estimator &#34;k3&#34;</span>' in found


def test_parameters_stand_as_in_a_spec_short_and_none_without_content() -> None:
    found = heading(LOSS, {"loss": [SlotFilling("x", {"on": True, "floor": None, "weights": {}, "text": "ä" * 99})]})
    assert f"<span>on true</span><span>floor null</span><span>text &#34;{'ä' * 39}…</span>" in found
    assert "weights" not in found


def test_a_group_of_no_slot_has_its_name_alone() -> None:
    assert heading(CRITIC, slot_fillings(resolved())) == (
        '<div class="slot"><h2 id="metrics-critic">Critic</h2></div>')


def test_names_are_escaped() -> None:
    assert "<script>" not in heading(LOSS, {"loss": [SlotFilling("<script>", {"<script>": "<script>"}, "<script>")]})


def test_contents_lead_to_headings() -> None:
    found = contents([LOSS, CRITIC])
    assert '<a href="#metrics-policy-loss">Policy loss</a><a href="#metrics-critic">Critic</a>' in found
