"""trust_sql runs whole with the environment of hidden databases: its harness marks spans, its grader names parts."""

from typing import Any

import pytest

from hone.resolution import read, resolve
from hone.spec.files import as_json

SPEC: dict[str, Any] = {"name": "sql", "model": {"base": "toy"}, "steps": 3, "algorithm": "trust_sql",
                        "task": {"environment": "sql_exploration"}}


def test_a_run_names_its_environment_and_its_preset_and_nothing_else() -> None:
    spec = as_json(resolve(SPEC))
    assert (spec["harness"]["name"], spec["harness"]["params"]["max_turns"]) == ("sql_phases", 10)
    assert spec["algorithm"]["advantage"]["params"] | {"explore": "explore", "span": "schema", "gated": True} == (
        spec["algorithm"]["advantage"]["params"])
    assert resolve(as_json(resolve(SPEC))) == resolve(SPEC)


@pytest.mark.parametrize(("change", "found", "expected"), [
    ({"algorithm": {"preset": "trust_sql", "advantage": {"name": "dual_track", "params": {"span": "tables"}}}},
     "explore, schema", "a span named tables, because advantage dual_track reads it"),
    ({"grader": {"type": "environment"}}, '{"type": "environment"}', "a grader of named components"),
    ({"harness": {"name": "tool_loop"}}, "nothing", "a span named schema")])
def test_what_the_method_cannot_read_is_refused(change: dict[str, Any], found: str, expected: str) -> None:
    problem = read({**SPEC, **change}).problems[0]
    assert (problem.found, expected in problem.expected) == (found, True)
