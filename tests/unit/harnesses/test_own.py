"""Harnesses that a setting names: found, checked, and named by a run's spec."""

from pathlib import Path

import pytest

from hone.harnesses import own
from hone.harnesses.catalogue import HARNESSES
from hone.resolution import names
from hone.spec.problems import Invalid
from hone.spec.run import Slot

MODULE = """
from hone.harnesses.contract import HarnessParams

class Params(HarnessParams):
    drafts: int = 2

class Best:
    summary, params = "Drafts and a choice.", Params
    async def play(self, seat, params): await seat.act((await seat.ask(seat.opening)).text)

class NoPlay:
    summary, params = "It does nothing.", Params

class NoParams:
    summary = "It takes nothing."

class Taken(Best):
    collections = frozenset({"mine", "pairs"})

class Wrong:
    def __init__(self): raise OSError("no such file")
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "team_harnesses.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_run_names_a_harness_that_the_setting_allows() -> None:
    name = "team_harnesses:Best"
    assert [one.field for one in names.of_harness(Slot(name=name))] == ["harness.name"]
    own.add(f" {name}, ")
    try:
        assert names.of_harness(Slot(name=name, params={"drafts": 3})) == []
        assert [one.field for one in names.of_harness(Slot(name=name, params={"draft": 3}))] == ["harness.params.draft"]
    finally:
        del HARNESSES[name]


def test_nothing_is_added_without_a_name() -> None:
    before = dict(HARNESSES)
    own.add("")
    assert before == HARNESSES


@pytest.mark.parametrize(("name", "expected"), [
    ("team_harnesses", "module:Class"), ("team_harnesses:Best()", "module:Class"),
    ("no_such_package:Best", "not ModuleNotFoundError: No module named 'no_such_package'"),
    ("team_harnesses:None_", "not AttributeError"), ("team_harnesses:Wrong", "not OSError: no such file"),
    ("team_harnesses:NoPlay", "it lacks `play`"), ("team_harnesses:NoParams", "it lacks `params`"),
    ("team_harnesses:Taken", "it lacks another name for its collection pairs")])
def test_what_is_no_harness_is_refused_by_its_name(name: str, expected: str) -> None:
    with pytest.raises(Invalid) as refused:
        own.add(name)
    [problem] = refused.value.problems
    assert (problem.field, problem.found) == ("HONE_HARNESSES", name)
    assert expected in problem.expected
