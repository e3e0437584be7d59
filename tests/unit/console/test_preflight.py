"""The report of a preflight as a page: every part is there, and texts of models are escaped."""

from hone.client.preflight import (
    PreflightReport,
)
from services.console.pages.preflight import shown
from tests.support.client.preflight import REPORT


def test_every_part_is_shown_and_escaped() -> None:
    page = str(shown(REPORT))
    for text in ("raise it", "config.json", "row 1, 2 tokens; it opens &lt;think&gt;", "chosen, trained",
                 "1 over 8, the model&#39;s positions", "dataset", "no box", "engine: weights", "a step: sampling",
                 "in control token", "not trained"):
        assert text in page, text
    assert "<b>" not in page


def test_parts_without_content_are_left_out() -> None:
    page = str(shown(PreflightReport(ok=True, spec={}, findings=[])))
    assert "Findings" in page
    assert "Samples of the base" not in page
