"""Parameters of harnesses beside the rest of a spec."""

import pytest

from hone.resolution import resolve
from hone.spec.problems import Invalid
from tests.unit.resolution.test_graders import BASE


def test_a_harness_with_a_temperature_of_its_own_is_evaluated_and_not_trained() -> None:
    warm = {"name": "heavy", "params": {"temperature": 0.7}}
    with pytest.raises(Invalid, match=r"^harness\.params\.temperature: found 0\.7, expected null or sampling\.temper"):
        resolve({**BASE, "harness": warm})
    source = {"name": "warm", "environment": "sort_digits", "harness": warm}
    for fields in ({"harness": warm, "sampling": {"temperature": 0.7}}, {"eval": {"sources": [source]}}):
        assert resolve({**BASE, **fields})
