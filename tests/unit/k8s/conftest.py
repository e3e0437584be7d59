"""Fixtures of the chart's tests.

rendered   what the chart makes of a set of values, of each set in turn
render_of  returns the same for a set's name
"""

from collections.abc import Callable
from functools import cache

import pytest

from tests.unit.k8s import charts
from tests.unit.k8s.charts import SETS, Rendered


@pytest.fixture(scope="session")
def render_of(need: Callable[[str | None], None]) -> Callable[[str], Rendered]:
    need(charts.absent())
    return cache(lambda name: charts.render(SETS[name]))


@pytest.fixture(scope="module", params=list(SETS))
def rendered(request: pytest.FixtureRequest, render_of: Callable[[str], Rendered]) -> Rendered:
    return render_of(request.param)
