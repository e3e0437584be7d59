"""The chain of each task is executed before a package is taken."""

import json
from typing import Any

import pytest

from hone.environments.packages import proof
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import PackageTask
from hone.sandbox.program import Ended, Program, Ran
from tests.unit.environments.packages.shop import INITIAL, SOURCE, TASK, TRUTH, shop


class Counting(LocalRunner):
    """Counts programs, and may end those that tasks share after their first call."""

    def __init__(self, ends_shared: bool = False) -> None:
        self.programs, self._ends_shared = 0, ends_shared

    def run(self, program: Program) -> Ran:
        self.programs += 1
        ran = super().run(program)
        if self._ends_shared and program.function == "next_call":
            return Ran(Ended.TIME_LIMIT, "call 1 took longer than 2 s", ran.outcomes[:1])
        return ran


def named(count: int, **changes: Any) -> list[PackageTask]:
    return [TASK.model_copy(update={"id": f"t{number}", **changes}) for number in range(count)]


def test_tasks_share_programs_and_those_that_one_ended_are_repeated_alone() -> None:
    together, apart, ended = Counting(), Counting(), Counting(ends_shared=True)
    tasks = named(100)
    assert proof.problems(together, shop(tasks=tasks)) == []
    assert together.programs == 1 + 4
    assert proof.problems(apart, shop(tasks=tasks[:3], source="import random\n" + SOURCE)) == []
    assert apart.programs == 1 + 3 * 2
    assert proof.problems(ended, shop(tasks=tasks[:3])) == []
    assert ended.programs == 1 + 3 * (1 + 2)


@pytest.mark.parametrize(("change", "message"), [
    ({"truth": {**TRUTH, "refunds": {}}},
     'tasks.jsonl.2.truth.refunds.ref_1_1: found nothing, expected {"refund_id": '),
    ({"truth": INITIAL}, 'tasks.jsonl.2.truth.orders.W1.status: found "paid", expected "cancelled", which the chain of '
     'task bad leaves, and 1 more that differ'),
    ({"chain": TASK.chain[:1]}, 'truth.orders.W1.status: found "cancelled", expected "paid", which the chain of task'),
    ({"tools": ["find_order"]}, 'tasks.jsonl.2.chain.1.tool: found "cancel_order", expected one of the tools of task'),
    ({"chain": [TASK.chain[0].model_copy(update={"arguments": {"mail": "x"}})]},
     "tasks.jsonl.2.chain.0.arguments: found of task bad: find_order: "),
    ({"chain": [TASK.chain[0].model_copy(update={"arguments": {"email": "eve@mail.org"}})]},
     "tasks.jsonl.2.chain.0: found of task bad: find_order was rejected: nobody has this address, expected a call"),
    ({"initial": {"orders": {"W1": {"order_id": "W1", "email": "ada@mail.org"}}, "refunds": {}}},
     "tasks.jsonl.2.chain.1: found of task bad: cancel_order failed: KeyError: 'total', expected a call that returns")])
def test_a_task_that_its_chain_does_not_solve_is_named(change: dict[str, Any], message: str) -> None:
    tasks = [*named(2), TASK.model_copy(update={"id": "bad", **change}), *named(1, id="last")]
    for source in (SOURCE, "import random\n" + SOURCE):
        wrong, = proof.problems(LocalRunner(), shop(tasks=tasks, source=source))
        assert message in str(wrong)
        json.dumps(wrong.as_json())


def test_only_the_first_tasks_that_fail_are_named() -> None:
    assert len(proof.problems(LocalRunner(), shop(tasks=named(60, truth=INITIAL)))) == proof.MOST_PROBLEMS
