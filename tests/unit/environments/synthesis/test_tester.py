"""The procedural tester knows success, anticipated rejection, unexpected failure. Bad tools are mended or dropped."""

from collections.abc import Sequence

import pytest

from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import Manifest, Tables, ToolSpec, ToolTest
from hone.environments.synthesis.tester import MOST_REPAIRS, Finding, Mended, Verdict, findings, proven, source_text
from hone.sandbox.program import Ended, Program, Ran
from tests.unit.environments.packages.shop import INITIAL, MANIFEST, SOURCE, TESTS, TRUTH

CANCEL = "def cancel_order" + SOURCE.split("def cancel_order")[1].split("\n\n\n")[0] + "\n"
BUG = CANCEL.replace('order["total"]', '0.0')


class Planned:
    """A repairer that gives sources out one after the other, and keeps what it was shown."""

    def __init__(self, *sources: str | None) -> None:
        self.left, self.shown = list(sources), list[str]()

    def repaired(
        self, tool: ToolSpec, source: str, cases: Sequence[ToolTest], findings: Sequence[Finding],
    ) -> Mended | None:
        self.shown.append(f"{tool.name}: {findings[0].reason}, of {len(source)} characters")
        mended = self.left.pop(0)
        return None if mended is None else Mended(mended, cases)


def verdicts(source: str, cases: Sequence[ToolTest] = TESTS) -> list[tuple[Verdict, str]]:
    return [(one.verdict, one.reason) for one in findings(LocalRunner(), MANIFEST, source, cases)]


def test_a_success_and_a_declared_exception_are_what_they_are() -> None:
    assert verdicts(CANCEL) == [(Verdict.SUCCESS, ""), (Verdict.REJECTED, "")]


@pytest.mark.parametrize(("old", "new", "reason"), [
    ('order["total"]', "0.0", "the state is not the expected one: Mismatch(table='refunds'"),
    ('order["status"] = ', 'order["statuses"] = ', "the state is not the expected one: Mismatch(table='orders'"),
    ('order["status"] = "cancelled"', 'order["nothing"]', "it failed: KeyError: 'nothing'"),
    ('order is None', 'True', "it rejected a call that it has to accept: there is no such order"),
    ('{"order_id": order_id, "status": "cancelled"}', "object()", "it failed: TypeError"),
    ('order["status"] = "cancelled"', 'order["status"] = "cancelled"; db["bribes"] = {}',
     "it failed: it left an unknown table bribes"),
])
def test_a_planted_bug_is_an_unexpected_failure(old: str, new: str, reason: str) -> None:
    verdict, found = verdicts(CANCEL.replace(old, new))[0]
    assert verdict is Verdict.UNEXPECTED
    assert found.startswith(reason)


def test_a_call_that_should_be_rejected_and_is_not_is_a_failure() -> None:
    careless = CANCEL.replace('raise Rejected("there is no such order")', "return {}")
    assert verdicts(careless)[1] == (Verdict.UNEXPECTED, "it accepted a call that it has to reject")


def test_a_tool_that_says_something_else_the_second_time_is_found() -> None:
    moody = "calls = []\n\n\n" + CANCEL.replace("    refund =", "    calls.append(1)\n    refund =").replace(
        '"status": "cancelled"}\n', '"status": len(calls)}\n')
    assert verdicts(moody)[0] == (Verdict.UNEXPECTED, "the same call did something else the second time")


class Endless:
    """A runner in which the program's call of this number never ends."""

    def __init__(self, number: int) -> None:
        self.number = number

    def run(self, program: Program) -> Ran:
        first = Program(program.source, function=program.function, calls=program.calls[:self.number])
        return Ran(Ended.TIME_LIMIT, "call 2 took longer than 2 s", LocalRunner().run(first).outcomes)


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_a_tool_that_never_ends_is_dropped_with_the_limit(number: int) -> None:
    found = proven(Endless(number), only("cancel_order"), {"cancel_order": CANCEL}, TESTS)
    assert found.dropped == {"cancel_order": "it failed: time_limit: call 2 took longer than 2 s"}


def only(name: str) -> Manifest:
    return MANIFEST.model_copy(update={"tools": [tool for tool in MANIFEST.tools if tool.name == name]})


def prove(source: str, repairer: Planned | None = None, cases: Sequence[ToolTest] = TESTS) -> tuple[object, ...]:
    found = proven(LocalRunner(), only("cancel_order"), {"cancel_order": source}, cases, repairer)
    return list(found.sources), found.dropped, {name: len(one) - 1 for name, one in found.rounds.items()}


def test_a_tool_is_mended_or_dropped_after_five_rounds() -> None:
    assert prove(CANCEL) == (["cancel_order"], {}, {"cancel_order": 0})
    assert prove(BUG)[0] == []
    mending = Planned("def cancel_order(:", BUG, CANCEL)
    assert prove(BUG, mending) == (["cancel_order"], {}, {"cancel_order": 3})
    assert "SyntaxError" in mending.shown[1]
    stubborn = Planned(*[BUG] * 9)
    assert (prove(BUG, stubborn)[2], len(stubborn.left)) == ({"cancel_order": MOST_REPAIRS}, 9 - MOST_REPAIRS)
    assert prove(BUG, Planned(None))[0] == []


def test_a_tool_that_only_rejects_or_has_no_case_or_no_code_is_dropped() -> None:
    assert "all its cases are rejections" in str(prove(CANCEL, cases=TESTS[1:])[1])
    assert prove(CANCEL, cases=[])[1] == {"cancel_order": "it has no case"}
    assert prove("")[1] == {"cancel_order": "it has no code"}


def test_a_rejection_that_had_changed_something_changes_nothing() -> None:
    hasty = CANCEL.replace("    order = db", '    db["orders"].clear()\n    order = db')
    tables: Tables = {**INITIAL}
    assert verdicts(hasty, [TESTS[1]])[0][0] is Verdict.REJECTED
    assert (tables, TRUTH["orders"]["W1"]["status"]) == (INITIAL, "cancelled")


def test_the_tools_stand_in_one_file() -> None:
    text = source_text({"one": "\n\ndef one(db):\n    return 1\n\n", "two": "def two(db):\n    return 2"})
    assert text.endswith("call.\"\"\"\n\n\ndef one(db):\n    return 1\n\n\ndef two(db):\n    return 2\n")
