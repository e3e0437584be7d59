"""Parameters of a foreign generator are tried in a process of its own, and once, however many ask."""

import subprocess
from typing import Any
from unittest import mock

import pytest

from hone.environments import trial
from hone.resolution import resolve
from hone.spec.problems import Invalid

SPEC: dict[str, Any] = {"name": "gym", "model": {"base": "toy"}, "steps": 3}


@pytest.mark.parametrize(("params", "expected"), [
    ({"task": "count_primes", "max_n": 10**10}, "within 8 s of a processor and 4 GiB"),
    ({"task": "simple_integration", "operators": []}, "Cannot choose from an empty sequence")])
def test_what_a_generator_cannot_bear_is_refused_and_hurts_nobody(
    params: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = mock.Mock(wraps=subprocess.run)
    monkeypatch.setattr(subprocess, "run", begun)
    monkeypatch.setattr(trial, "_FORGOTTEN_S", 10**9)
    monkeypatch.setattr(trial, "LONGEST_S", 8)
    with pytest.raises(Invalid) as refused:
        resolve({**SPEC, "task": {"environment": "reasoning_gym", "params": params}})
    (problem,) = refused.value.problems
    assert begun.call_count == 1, "several parts of the resolution ask"
    assert (problem.field, expected in problem.expected) == ("task.params", True)
