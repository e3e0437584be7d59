"""Parameters of the grader whose reward comes from a verify server. Its grades: tests/integration/reward."""

from typing import Any

import pytest

from hone.graders.contract import Needs
from hone.graders.specs import checked
from hone.spec.problems import Invalid

GRADER = {"type": "verify_server", "server": "gym"}


def test_its_range_and_its_components_are_known_before_a_run() -> None:
    given = checked({**GRADER, "range": [-1.0, 2.0], "components": ["exact"], "fields": {"gold": "answer"}})
    assert given.bounds == (-1.0, 2.0)
    assert given.components == frozenset({"exact"})
    assert given.needs == frozenset({Needs.VERIFIER})
    assert checked(GRADER).bounds == (0.0, 1.0)


@pytest.mark.parametrize(("change", "field"), [
    ({"server": ""}, "server"), ({"range": [1.0, 0.0]}, "range"), ({"range": [0.0, float("inf")]}, "range"),
    ({"fields": "answer"}, "fields"), ({"reasoning": "some"}, "reasoning"), ({"model": "m"}, "model")])
def test_bad_parameters_are_refused_with_the_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked({**GRADER, **change})
    assert refused.value.problems[0].field.startswith(field)
