"""The page of a matrix: every score is text beside its colour, and what is uncertain or missing is said."""

from datetime import UTC, datetime

from hone.client.resources import Run
from services.console.pages import matrix
from services.gateway import matrices
from tests.support.gateway.matrices import ROWS, sequence

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUN = Run.model_validate({"id": "run_1", "name": "a", "state": "succeeded", "desired": "run", "step": 6, "steps": 6,
                          "model_id": "m", "spec": {}, "created_at": NOW, "deadline": NOW})


def test_scores_gains_and_forgetting_are_text_in_tables_with_headings() -> None:
    page = str(matrix.page(RUN, matrices.make("run_1", sequence(), "sampled", ROWS)))
    assert page.count('scope="row"') == 5
    assert '<th scope="col" class="number">sort</th>' in page
    assert '<td class="number heat" style="--share: 0.750" data-label="sort"><span class="strong">0.750</span>' in page
    assert "8 sampled answers to each task" in page
    assert "+0.500 to +0.500" in page
    assert "may be none" in page
    assert "Backward transfer" in page
    assert "-0.250" in page
    assert "Incomplete" not in page
    assert '<a href="/runs/run_1/matrix?series=sampled" aria-current="page">' in page


def test_what_is_missing_is_said_and_names_are_escaped() -> None:
    found = matrices.make("run_1", sequence(), "greedy", ROWS[:2])
    shown = found.rows[1].model_copy(update={"stage": "<b>"})
    page = str(matrix.page(RUN, found.model_copy(update={"rows": [found.rows[0], shown, found.rows[2]]})))
    assert page.count("no score yet") == 4
    assert "Incomplete" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    none = found.model_copy(update={"sources": [], "rows": []})
    assert "nothing is held out" in str(matrix.page(RUN, none))
