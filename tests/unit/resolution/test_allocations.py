"""Numbers of rollouts that an allocation cannot give, and what does not go with it, are refused by their field."""

from typing import Any

import pytest

from hone.resolution import resolve
from hone.spec.problems import Invalid

BASE: dict[str, Any] = {"name": "sort", "model": {"base": "toy"}, "steps": 3, "task": {"environment": "sort_digits"}}


@pytest.mark.parametrize(("fields", "field", "found", "words"), [
    ({"batch": {"samples": 64}, "algorithm": {"allocation": {"name": "v0"}}}, "batch.samples", "64",
     "between 2 and 32, the rollouts that allocation v0 may give a prompt"),
    ({"batch": {"samples": 4}, "algorithm": {"preset": "coba_rl", "allocation": {
        "name": "coba_rl", "params": {"n_min": 1}}}}, "algorithm.allocation.params.n_min", "1",
     "at least 2, because advantage grpo"),
    ({"algorithm": {"preset": "coba_rl", "allocation": {"name": "coba_rl", "params": {"n_min": 9, "n_max": 4}}}},
     "algorithm.allocation.params", None, "n_min of at most n_max, 4"),
    ({"algorithm": {"allocation": {"name": "v0_5", "params": {"k_init": 2}}}},
     "algorithm.allocation.params.k_init", "2", "greater than or equal to 3"),
    ({"algorithm": {"advantage": {"name": "v0_5"}, "reward": {"name": "overlong"}}}, "algorithm.reward", '"overlong"',
     "another method beside advantage 'v0_5'"),
])
def test_what_an_allocation_cannot_do_is_refused(
    fields: dict[str, Any], field: str, found: str | None, words: str
) -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, **fields})
    [problem] = refused.value.problems
    assert problem.field == field
    assert found in (None, problem.found)
    assert words in problem.expected


def test_a_single_rollout_is_enough_where_no_samples_are_compared() -> None:
    spec = resolve({**BASE, "batch": {"samples": 4}, "algorithm": {
        "preset": "reinforce_pp", "allocation": {"name": "coba_rl", "params": {"n_min": 1}}}})
    assert spec.algorithm.allocation is not None
    assert spec.algorithm.allocation.params["n_min"] == 1
