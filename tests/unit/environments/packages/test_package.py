"""Packages are named by their content, read back as they were, and refused by the field that is wrong."""

import json
import socket
from typing import Any

import pytest

from hone.environments.packages.calling import Called, PackageCall, called
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import MANIFEST, SOURCE, TASKS, TESTS, Manifest, WrongPackage
from hone.environments.packages.reading import read
from hone.sandbox.program import Ended, Program, Ran
from tests.unit.environments.packages.shop import INITIAL, TASK, TRUTH, shop
from tests.unit.environments.packages.shop import MANIFEST as MANIFEST_OF_SHOP


def test_a_package_is_read_back_with_its_digest() -> None:
    made = shop()
    again = read(made.files)
    assert (again, again.digest) == (made, made.digest)
    assert shop(source=made.source + "\n").digest != made.digest


def changed(file: str, old: str, new: str) -> dict[str, bytes]:
    files = dict(shop().files)
    assert old in files[file].decode()
    return {**files, file: files[file].decode().replace(old, new, 1).encode()}


@pytest.mark.parametrize(("files", "message"), [
    (changed(MANIFEST, '"domain":"shop"', '"domain":"My Shop"'), "package.json.domain: found 'My Shop', expected "),
    ({**shop().files, TASKS: shop().files[TASKS] * 2}, f"tasks.jsonl.0.id: found '{TASK.id}', expected an id that no"),
    (changed(MANIFEST, '"kind":"exempt"', '"kind":"soft"'), "package.json.tables.1.columns.0.kind: found 'soft'"),
    (changed(MANIFEST, '"name":"cancel_order"', '"name":"find_order"'), "expected a name that no other tool has"),
    (changed(MANIFEST, '"references":"orders"', '"references":"sales"'), "columns.1.references: found 'sales'"),
    (changed(MANIFEST, '"writes":["orders"', '"writes":["sales"'), "tools.1.writes: found 'sales', expected one of"),
    (changed(MANIFEST, '"required":["email"]', '"required":["mail"]'), "tools.0.required: found 'mail'"),
    (changed(MANIFEST, '"target":"cancel_order"', '"target":"sell"'), "edges.0.target: found 'sell', expected one of"),
    (changed(MANIFEST, '"name":"refunds"', '"name":"orders"'), "package.json.tables.1.name: found 'orders', expected"),
    (changed(MANIFEST, '"name":"status"', '"name":"email"'), "tables.0.columns.2.name: found 'email', expected"),
    (changed(TASKS, '"tools":[]', '"tools":["steal"]'), "tasks.jsonl.0.tools: found 'steal', expected one of"),
    (changed(TESTS, '"tool":"cancel_order"', '"tool":"steal"'), "tests.jsonl.0.tool: found 'steal', expected one of"),
    (changed(TESTS, '"tables":{"orders"', '"tables":{"sales"'), "tests.jsonl.0.tables: found 'sales', expected one of"),
    (changed(TASKS, '"tool":"find_order"', '"tool":"steal"'), "tasks.jsonl.0.chain: found 'steal', expected one of"),
    (changed(TASKS, '"refunds":{}', '"bribes":{}'), "expected the tables orders, refunds"),
    (changed(TASKS, '"order_id":"W1","status":"paid"', '"order_id":"W9","status":"paid"'),
     """tasks.jsonl.0.initial.orders.W1.order_id: found '"W9"', expected W1, the row's key"""),
    (changed(TASKS, '"order_id":"W2","status"', '"colour":"red","order_id":"W2","status"'),
     """0.initial.orders.W2.colour: found '"red"', expected one of the columns order_id, email, status, total"""),
    (changed(TASKS, ',"total":12.5', ""), "0.initial.orders.W1.total: found 'nothing', expected number, as the column"),
    (changed(TASKS, '"amount":12.5', '"amount":"12"'), """refunds.ref_1_1.amount: found '"12"', expected number"""),
    (changed(TESTS, '"status":"cancelled"', '"status":"lost"'), "tests.jsonl.0.expected.orders.W1.status: found "),
    (changed(TESTS, '"expected":{"orders"', '"expected":{"sales"'), "tests.jsonl.0.expected: found 'sales', expected"),
    (changed(TASKS, '"communicate":["', '"communicate":["\\u0000'), "tasks.jsonl.0.communicate[0]: found "),
    (changed(TASKS, "ada@mail.org", "\\ud800"), "tasks.jsonl.0.chain[0].arguments.email: found "),
    (changed(MANIFEST, '"summary":"A shop."', '"summary":"\\u0000"'), "package.json.summary: found "),
    (changed(TASKS, '"email":"ada@mail.org","order_id"', '"email":"' + "a" * 2**20 + '","order_id"'),
 "tasks.jsonl.0.initial: found '1048"),
    (changed(TASKS, '{"email":"ada@mail.org"}', '{"email":' + "[" * 60 + "]" * 60 + "}"), "nested more than 50 deep"),
    ({**shop().files, TASKS: b"\n"}, "tasks.jsonl: found 'no line', expected at least one task"),
    ({**shop().files, SOURCE: b"def find_order(db, email): ..."}, "1.name: found 'cancel_order', expected the"),
    (changed(MANIFEST, '"parameters":{"email"', '"parameters":{"db":{},"email"'), "tools.0.parameters: found 'db'"),
    ({**shop().files, SOURCE: b"#" * 2**18}, "tools.py: found '2"),
    ({**shop().files, SOURCE: b"\0"}, "tools.py: found 'a NUL character', expected text without one"),
    ({**shop().files, TASKS: b"{"}, "tasks.jsonl.0: found "),
    ({**shop().files, SOURCE: b"\xff"}, "tools.py: found "),
    ({**shop().files, "more.py": b""}, "expected package.json, tools.py, tasks.jsonl, tests.jsonl alone"),
    ({MANIFEST: b"{}"}, "expected also tools.py, tasks.jsonl, tests.jsonl")])
def test_what_is_no_package_is_refused_by_its_field(files: dict[str, bytes], message: str) -> None:
    with pytest.raises(WrongPackage) as wrong:
        read(files)
    assert message in str(wrong.value)


def test_calls_change_tables_are_rejected_or_fail() -> None:
    package = shop()
    found = called(LocalRunner(), package, [
        PackageCall(INITIAL, "cancel_order", {"order_id": "W1"}, step=1),
        PackageCall(INITIAL, "cancel_order", {"order_id": "W9"}),
        PackageCall(INITIAL, "broken", {}), PackageCall(INITIAL, "find_order", {"mail": "ada"})])
    assert found[0] == Called(TRUTH, {"order_id": "W1", "status": "cancelled"})
    assert found[1] == Called(INITIAL, rejected="there is no such order")
    assert [one.tables for one in found[1:]] == [INITIAL] * 3
    assert "KeyError" in (found[2].failed or "")
    assert "mail" in (found[3].failed or "")
    assert TASK.initial == INITIAL, "calls work on tables of their own"


@pytest.mark.parametrize(("schema", "why"), [
    ({"type": "banana"}, "banana"), ({"pattern": "("}, "regex"), ({"pattern": "(?=a)b"}, "regex"),
    ({"$ref": "#/$defs/none"}, "does not exist"),
])
def test_parameters_that_are_no_schema_are_refused(schema: dict[str, Any], why: str) -> None:
    files = shop(manifest=_finding_by(schema)).files
    with pytest.raises(WrongPackage, match=r"package.json.tools.0.parameters: found 'find_order'.*" + why):
        read(files)


def test_what_a_schema_refers_to_is_not_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        there = f"http://127.0.0.1:{server.getsockname()[1]}/schema"
        with pytest.raises(WrongPackage, match="nothing is fetched"):
            read(shop(manifest=_finding_by({"$ref": there})).files)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_result_that_is_no_number_fails_the_call() -> None:
    package = shop(source=shop().source.replace('return {"order_id": order_id, "status": "cancelled"}', 'return 1e999'))
    found, = called(LocalRunner(), package, [PackageCall(INITIAL, "cancel_order", {"order_id": "W1"})])
    assert "Out of range float" in (found.failed or "")
    assert found.tables == INITIAL


@pytest.mark.parametrize(("left", "why"), [
    ('return "\\ud800"', "result, expected text without NUL characters and lone surrogates"),
    ('raise ValueError("nul \\0.")', "nul \ufffd."),
    ('raise Rejected("\\0")', "rejected, expected text without NUL characters and lone surrogates"),
    ('db["orders"]["W1"]["email"] = "\\ud800"', "tables.orders.W1.email, expected text without NUL"),
    ("db.clear()", "it left no table orders, expected one"),
    ('del db["refunds"]', "it left no table refunds"), ('db["notes"] = {}', "it left an unknown table notes"),
    ('db["orders"]["W1"]["total"] = 10 ** 400', "a whole number beyond all floats"),
    ('a = []\n    for _ in range(900): a = [a]\n    return a', "values nested more than 50 deep"),
    ('a = []\n    for _ in range(900): a = [a]\n    db["orders"]["W1"]["email"] = a', "nested more than 50 deep")])
def test_what_no_state_can_hold_fails_the_call(left: str, why: str) -> None:
    package = shop(source=f"def broken(db):\n    {left}\n")
    found, = called(LocalRunner(), package, [PackageCall(INITIAL, "broken", {})])
    assert why in (found.failed or "")
    assert found.tables == INITIAL


def test_a_package_that_was_taken_before_is_taken_again() -> None:
    short = shop(tasks=[])
    assert read(short.files, trusted=True) == short


def test_arguments_nested_beyond_all_bounds_are_wrong_ones() -> None:
    deep: list[Any] = []
    for _ in range(400):
        deep = [deep]
    assert "Recursion limit reached" in shop().wrong_arguments("find_order", {"email": deep})


def test_a_pattern_cannot_search_for_ever() -> None:
    package = shop(manifest=_finding_by({"type": "string", "pattern": "^(a+)+$"}))
    assert "does not match" in package.wrong_arguments("find_order", {"email": "a" * 50_000 + "!"})


def _finding_by(schema: dict[str, Any]) -> Manifest:
    tool = MANIFEST_OF_SHOP.tools[0].model_copy(update={"parameters": {"email": schema}})
    return MANIFEST_OF_SHOP.model_copy(update={"tools": [tool]})


class Ending:
    """A runner whose program answers one call and ends."""

    def run(self, program: Program) -> Ran:
        first = LocalRunner().run(Program(program.source, function=program.function, calls=program.calls[:1]))
        return Ran(Ended.TIME_LIMIT, "2 s", first.outcomes)


def test_calls_that_a_program_did_not_come_to_fail_with_the_reason() -> None:
    found = called(Ending(), shop(), [PackageCall(INITIAL, "find_order", {"email": "ada@mail.org"}),
                                      PackageCall(INITIAL, "slow", {})])
    assert json.dumps(found[0].result) == '{"order_ids": ["W1"]}'
    assert found[1].failed == "time_limit: 2 s"
