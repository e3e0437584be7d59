"""A small package, for tests: a shop whose orders can be cancelled."""

from typing import Any

from hone.environments.contract import WrongParams
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import (
    Column,
    Edge,
    Manifest,
    Package,
    PackageTask,
    TableSpec,
    ToolSpec,
    ToolTest,
    ToolUse,
)
from hone.sandbox.program import Ended, Program, Ran

SOURCE = '''
def find_order(db, email):
    """Return the orders of a customer."""
    found = [key for key, order in db["orders"].items() if order["email"] == email]
    if not found:
        raise Rejected("nobody has this address")
    return {"order_ids": found}


def cancel_order(db, order_id):
    order = db["orders"].get(order_id)
    if order is None:
        raise Rejected("there is no such order")
    order["status"] = "cancelled"
    refund = db.new_id("ref")
    db["refunds"][refund] = {"refund_id": refund, "order_id": order_id, "amount": order["total"]}
    return {"order_id": order_id, "status": "cancelled"}


def broken(db):
    return db["nothing"]


def slow(db):
    while True:
        pass
'''
ORDERS = {"W1": {"order_id": "W1", "email": "ada@mail.org", "status": "paid", "total": 12.5},
          "W2": {"order_id": "W2", "email": "bob@mail.org", "status": "paid", "total": 7.0}}
INITIAL: dict[str, Any] = {"orders": ORDERS, "refunds": {}}
TRUTH = {"orders": {**ORDERS, "W1": {**ORDERS["W1"], "status": "cancelled"}},
         "refunds": {"ref_1_1": {"refund_id": "ref_1_1", "order_id": "W1", "amount": 12.5}}}
TEXT = {"type": "string"}
MANIFEST = Manifest(
    domain="shop", summary="A shop.", policy="Look orders up before you change them.",
    tables=[
        TableSpec(name="orders", key="order_id", columns=[
            Column(name="order_id"), Column(name="email"), Column(name="status", values=["paid", "cancelled"]),
            Column(name="total", type="number")]),
        TableSpec(name="refunds", key="refund_id", columns=[
            Column(name="refund_id", kind="exempt"), Column(name="order_id", references="orders"),
            Column(name="amount", type="number")])],
    tools=[
        ToolSpec(name="find_order", description="Find orders by e-mail.", parameters={"email": TEXT},
                 required=["email"], needs=["email"], gives=["order_id"], reads=["orders"],
                 rejects=["an unknown email"]),
        ToolSpec(name="cancel_order", description="Cancel an order.", parameters={"order_id": TEXT},
                 required=["order_id"], needs=["order_id"], reads=["orders"], writes=["orders", "refunds"],
                 rejects=["an unknown order"])],
    edges=[Edge(source="find_order", target="cancel_order", kind="data")])
TASK = PackageTask(
    id="cancel-1", instruction="I am ada@mail.org. Please cancel my order.", initial=INITIAL, truth=TRUTH,
    chain=[ToolUse(tool="find_order", arguments={"email": "ada@mail.org"}),
           ToolUse(tool="cancel_order", arguments={"order_id": "W1"})], communicate=["cancelled"])
TESTS = [ToolTest(tool="cancel_order", tables=INITIAL, arguments={"order_id": "W1"}, expected=TRUTH),
         ToolTest(tool="cancel_order", tables=INITIAL, arguments={"order_id": "W9"})]


def shop(**changes: Any) -> Package:
    """Return the package; `changes` are fields of it."""
    return Package(**{"manifest": MANIFEST, "source": SOURCE, "tasks": [TASK], "tests": TESTS, **changes})


class OneShelf(LocalRunner):
    """A shelf with one package."""

    def __init__(self, package: Package) -> None:
        self.held, self.lost = package, False

    def package(self, reference: str) -> Package:
        if reference not in ("shop", self.held.digest):
            raise WrongParams("params.package", reference, "the name or the digest of a package")
        return self.held

    def run(self, program: Program) -> Ran:
        return Ran(Ended.INFRA_ERROR, "it is away") if self.lost else super().run(program)
