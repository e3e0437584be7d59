"""Calls that wait at the same time share a program, and what comes of each is what comes of it alone, bit for bit."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from hone.environments.packages.calling import LIMITS, PREAMBLE
from hone.environments.packages.local_runner import LocalRunner
from hone.sandbox.client import SandboxBusy
from hone.sandbox.program import Ended, Program, Ran
from services.simulation.packages.batches import CallBatches
from tests.unit.environments.packages.shop import INITIAL, SOURCE

KEEPING = SOURCE + '''
seen = []


def remember(db, word, kept=[]):
    seen.append(word)
    kept.append(word)
    db["orders"][word] = {"order_id": word, "ids": [db.new_id("a"), db.new_id("b")], "now": db.now}
    return {"seen": seen, "kept": kept}


def leave(db):
    raise SystemExit(0)
'''
TWELVE: list[tuple[str, dict[str, Any]]] = [
    *(("remember", {"word": f"w{place}"}) for place in range(6)),
    ("slow", {}), ("cancel_order", {"order_id": "W1"}), ("cancel_order", {"order_id": "W9"}), ("broken", {}),
    ("leave", {}), ("find_order", {"email": "ada@mail.org"})]


def program(tool: str, arguments: dict[str, Any], step: int = 0, source: str = KEEPING) -> Program:
    return Program(PREAMBLE + source, function="_hone_call", calls=[[INITIAL, tool, arguments, step]], limits=LIMITS)


class Machine:
    """A sandbox that notes the programs that it runs; at the tool `slow` a program ends."""

    def __init__(self, fails: Sequence[Exception | Ran] = ()) -> None:
        self.ran = list[tuple[str, Program]]()
        self._fails = list(fails)

    async def run(self, program: Program, tenant_id: str = "") -> Ran:
        self.ran.append((tenant_id, program))
        await asyncio.sleep(0.001)
        if self._fails:
            failure = self._fails.pop(0)
            if isinstance(failure, Exception):
                raise failure
            return failure
        slow = [place for place, call in enumerate(program.calls) if "slow" in call]
        try:
            done = LocalRunner().run(Program(program.source, function=program.function,
                                             calls=program.calls[:slow[0]] if slow else program.calls))
        except SystemExit:
            return Ran(Ended.ENDED, "its process ended")
        return Ran(Ended.TIME_LIMIT, "it took longer than 2 s", done.outcomes) if slow else done

    def shared(self) -> list[int]:
        return [len(one.calls) for _, one in self.ran if len(one.calls) > 1]


def together(machine: Machine, asked: Sequence[tuple[str, Program]]) -> list[Any]:
    async def all_of_them() -> list[Any]:
        batches = CallBatches(machine)
        return await asyncio.gather(*(batches.run(one, tenant) for tenant, one in asked), return_exceptions=True)
    return asyncio.run(all_of_them())


def test_a_call_beside_others_is_what_it_is_alone_bit_for_bit() -> None:
    asked = [program(tool, arguments, place) for place, (tool, arguments) in enumerate(TWELVE * 3)]
    alone = [asyncio.run(Machine().run(one)) for one in asked]
    machine = Machine()
    found = together(machine, [("a", one) for one in asked])
    assert json.dumps([_json(one) for one in found]) == json.dumps([_json(one) for one in alone])
    assert sum(machine.shared()) >= len(asked) - 4
    assert found[0].outcomes[0].value["result"] == {"seen": ["w0"], "kept": ["w0"]}, "nothing is kept from call to call"


def _json(ran: Ran) -> Any:
    return [ran.status, ran.detail, [[one.value, one.error] for one in ran.outcomes]]


def test_tenants_and_sources_never_share_a_program() -> None:
    other = KEEPING.replace("refund =", "refund=")
    machine = Machine()
    together(machine, [(tenant, program("remember", {"word": tenant + source[-9:]}, source=source))
                       for tenant in ("a", "b") for source in (KEEPING, other) for _ in range(8)])
    assert len(machine.shared()) >= 4
    for tenant, one in machine.ran:
        assert {call[2]["word"][0] for call in one.calls if len(call) == 4} <= {tenant}


@pytest.mark.parametrize(("tenant", "source"), [
    ("", KEEPING), ("a", KEEPING + "\nimport random\n"), ("a", "import os")])
def test_calls_of_nobody_or_of_a_source_that_may_keep_something_run_alone(tenant: str, source: str) -> None:
    machine = Machine()
    together(machine, [(tenant, program("remember", {"word": "w"}, source=source)) for _ in range(8)])
    assert machine.shared() == []


def test_a_sandbox_without_a_place_refuses_all_that_shared_the_program() -> None:
    check = Ran(Ended.INFRA_ERROR)
    machine = Machine([check])
    first = together(machine, [("a", program("remember", {"word": "w"})) for _ in range(3)])
    assert [one.status for one in first] == [Ended.FINISHED] * 3, "a check that failed makes them run alone"
    machine = Machine([Ran(Ended.FINISHED, outcomes=asyncio.run(Machine().run(Program(
        "def yes():\n    return True", function="yes", calls=[[]]))).outcomes), *[SandboxBusy("full")] * 3])
    refused = together(machine, [("a", program("remember", {"word": "w"})) for _ in range(5)])
    assert [str(one) for one in refused] == ["full"] * 5


def test_a_source_that_is_too_long_where_it_stands_in_another_is_not_shared() -> None:
    machine, source = Machine(), f"{KEEPING}\nTEXT = '{chr(127) * 70_000}'\n"  # four times as long in quotes
    together(machine, [("a", program("cancel_order", {"order_id": "W1"}, source=source))] * 3)
    assert machine.shared() == []
