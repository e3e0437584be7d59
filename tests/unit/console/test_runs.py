"""The list of runs reads as many as it shows, in pages that the gateway allows."""

from types import SimpleNamespace
from typing import Any

import pytest

from services.console.pages.runs import newest

ALL = 1203


class View:
    """A view whose gateway has ALL runs, by their number from the newest on."""

    def __init__(self) -> None:
        self.hone, self.limits = SimpleNamespace(runs="runs"), list[int]()

    async def ask(self, _: str, limit: int, after: int | None, state: str) -> Any:
        assert state == "failed"
        self.limits.append(limit)
        first = 0 if after is None else after + 1
        data = list(range(first, min(ALL, first + limit)))
        return SimpleNamespace(data=data, next=data[-1] if data[-1] < ALL - 1 else None)


@pytest.mark.parametrize(("most", "limits", "older"), [
    (50, [50], True), (500, [500], True), (1150, [500, 500, 150], True), (1203, [500, 500, 203], False),
    (1250, [500, 500, 250], False)])
async def test_each_page_goes_on_after_the_last(most: int, limits: list[int], older: bool) -> None:
    view = View()
    found: Any = await newest(view, most, {"state": "failed"})  # type: ignore[arg-type]
    assert found == (list(range(min(most, ALL))), older)
    assert view.limits == limits
