"""Authors that answer as an untrained model does: a job ends, with what was tried and what the last answer lacked."""

import json
import random
from collections import Counter
from typing import Any

import pytest

from hone.client.package_resources import PackageJob
from tests.support.simulation.authors import Scene, ended, made, named, scene, simulation
from tests.unit.environments.synthesis import apiary
from tests.unit.environments.written_lives import keeper

__all__ = ["scene", "simulation"]
_TOKENS = ("{", "}", "[", "]", '"', ":", ",", "s1", "</s>", "0", "true", "\n", "é", "\0", "```json", "<think>")
_OTHERS: tuple[Any, ...] = (
    {}, {"tables": [1]}, {"domain": 5, "tables": [], "tools": []}, {"source": 7}, {"cases": [], "source": ""},
    {"chain": "find_hive"}, {"instruction": [], "communicate": 3}, {"desk": {"files": 3}, "checks": [{}]},
    {"person": "x"}, {"tables": {"hives": 10**400}}, {"tables": {"hives": {"h1": "\ud800"}}})
_KINDS = ("tokens", "nothing", "half", "other", "list", "nested")
_EXPECTED = ("expected a JSON object", "expected a value", "the reasoning never ends", "expected an object",
             "beyond all floats", "lone surrogates", "nested", "expected Python", "Input should be", "valid")


class Garbage:
    """Says tokens that were drawn, nothing, half an object, another object, a list, or brackets without end."""

    def __init__(self, first: str = "") -> None:
        """`first`: what is asked for begins the garbage; before that an author is a good one."""
        self._first, self._drawn, self._lost = first, random.Random(0), not first
        self.said = Counter[str]()

    def __call__(self, question: str) -> Any:
        self._lost = self._lost or self._first in question
        if not self._lost:
            return apiary.answer(question)
        kind, other = _KINDS[self.said.total() % len(_KINDS)], json.dumps(self._drawn.choice(_OTHERS))
        self.said[kind] += 1
        return {"tokens": "".join(self._drawn.choices(_TOKENS, k=200)), "nothing": "", "half": other[:-1],
                "other": other, "list": f"[{other}]", "nested": '{"tables": ' + "[" * 5000}[kind]


def says_what_it_lacked(job: PackageJob, tried: str) -> bool:
    """Return whether a job ended with what was tried, and its report with what was wrong with each answer."""
    refusals = [why for whys in job.report["refusals"].values() for why in whys]
    return (job.state == "failed" and str(job.reason).startswith(f"{tried} (tried: ") and len(refusals) >= 3
            and any(words in str(job.reason) for words in _EXPECTED) and len(str(job.reason)) <= 4000)


@pytest.mark.usefixtures("simulation")
@pytest.mark.parametrize(("first", "tried"), [
    ("Design", "no schema could be read"), ("Write a small state", "no data could be read"),
    ("Write the tool", "no tool passed its tests"), ("Write cases", "no tool passed its tests"),
    ("Plan task", "no task was accepted"), ("gave", "no task was accepted")])
def test_a_package_ends_in_the_phase_in_which_garbage_begins(scene: Scene, first: str, tried: str) -> None:
    job = made(scene, named(scene, f"from {first.lower()}", Garbage(first)), tasks=1)
    assert says_what_it_lacked(job, tried), job


@pytest.mark.usefixtures("simulation")
def test_tasks_of_the_desk_and_lives_end(scene: Scene) -> None:
    author = {"endpoint": named(scene, "untrained", Garbage())}
    desk = ended(scene, scene.hone.make_desk_tasks("none", "tidy up", author, tasks=2).id)
    assert says_what_it_lacked(desk, "no task was accepted"), desk
    assert desk.report["author"]["asked"] == 2 * 3 * 3
    life = ended(scene, scene.hone.make_lives("none", keeper.HINT, author, lives=1).id)
    assert says_what_it_lacked(life, "no life was accepted"), life


def calling(arguments: Any, name: Any = "find_hive") -> dict[str, Any]:
    return {"content": None, "tool_calls": [{"id": "a", "type": "function", "function": {
        "name": name, "arguments": arguments}}]}


@pytest.mark.usefixtures("simulation")
def test_a_policy_that_calls_garbage_ends_its_trial(scene: Scene) -> None:
    garbage = (calling("{"), calling('{"place": ' + "[" * 400 + "]" * 400 + "}"), calling('{"place": "\\ud800"}'),
               calling('{"place": NaN}'), calling([], 5), {"content": None})
    drawn = random.Random(0)
    scene.author.policies.update(toy=lambda _: drawn.choice(garbage))
    named(scene, "good", apiary.answer)
    job = made(scene, "good", tasks=1, trial={"endpoint": named(scene, "toy", None), "rollouts": 4})
    assert (job.state, job.reason) == (
        "failed", "no task tells a policy with all tools from one with half of them (tried: apiary-0: 0.00 and 0.00)")
