"""Parameters of harnesses beside the rest of a spec."""

import pytest

from hone.resolution import resolve
from hone.spec.problems import Invalid
from tests.support.resolution.base import BASE


def test_a_harness_with_a_temperature_of_its_own_is_evaluated_and_not_trained() -> None:
    warm = {"name": "heavy", "params": {"temperature": 0.7}}
    with pytest.raises(Invalid, match=r"^harness\.params\.temperature: found 0\.7, expected null or sampling\.temper"):
        resolve({**BASE, "harness": warm})
    source = {"name": "warm", "environment": "sort_digits", "harness": warm}
    for fields in ({"harness": warm, "sampling": {"temperature": 0.7}}, {"eval": {"sources": [source]}}):
        assert resolve({**BASE, **fields})


def test_a_memory_that_rewrites_itself_needs_the_results_of_periods() -> None:
    silent = {"environment": "changing_user", "params": {"results": False}}
    evolving = {"name": "remembering", "params": {"memory": "awi-evolve"}}
    with pytest.raises(Invalid, match=r"^task\.params\.results: found false, expected true, because the memory awi-ev"):
        resolve({**BASE, "task": silent, "harness": evolving})
    with pytest.raises(Invalid, match=r"^eval\.sources\[0\]\.params\.results: found false"):
        resolve({**BASE, "eval": {"sources": [{"name": "own", **silent, "harness": evolving}]}})
    assert resolve({**BASE, "task": silent, "harness": {"name": "remembering"}})
