"""What an author writes is read, tested and executed before it is kept. One who errs may mend it."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import Manifest, ToolSpec
from hone.environments.packages.reading import read
from hone.environments.synthesis.author import ANSWERS, Described, UnreadAnswer
from hone.environments.synthesis.authored import AuthoredPackage
from hone.environments.synthesis.description import wrong_manifest, wrong_source
from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.patches import patched, wrong_tables
from hone.environments.synthesis.report import Made
from hone.environments.synthesis.tester import MOST_REPAIRS, Finding
from tests.unit.environments.packages.shop import INITIAL, MANIFEST, SOURCE, TASK

SOURCES = {name: f"def {name}" + SOURCE.split(f"def {name}")[1].split("\n\n\n")[0] + "\n"
           for name in ("find_order", "cancel_order")}
BUG = SOURCES["cancel_order"].replace('order["total"]', "0")
CANCELLED = {"orders": {"W1": {"status": "cancelled"}},
             "refunds": {"new": {"refund_id": "new", "order_id": "W1", "amount": 12.5}}}
CASES: dict[str, list[dict[str, Any]]] = {
    "find_order": [{"arguments": {"email": "ada@mail.org"}, "after": {}}, {"arguments": {"email": "nobody"}}],
    "cancel_order": [{"arguments": {"order_id": "W1"}, "after": CANCELLED}, {"arguments": {"order_id": "W9"}}]}


class Scripted:
    """An author that knows the shop. `sources` and `mended` are what it says of cancel_order."""

    def __init__(self, source: str = SOURCES["cancel_order"], mended: Sequence[Any] = ()) -> None:
        self.source_text, self.mended, self.repairs = source, list(mended), 0
        self.schemas: list[Any] = [MANIFEST.model_dump()]
        self.chains: list[Any] = [{"chain": [use.model_dump() for use in TASK.chain]}]
        self.words: dict[str, Any] = {"instruction": TASK.instruction, "communicate": ["cancelled"]}
        self.written, self.mute = CASES, 0
        self.complaints, self.heard, self.results = list[str](), list[str](), list[Any]()

    def schema(self, _hint: str, complaint: str) -> Any:
        self.complaints.append(complaint)
        if len(self.complaints) <= self.mute:
            raise UnreadAnswer("expected a JSON object")
        return self.schemas[min(len(self.complaints), len(self.schemas)) - 1]

    def data(self, _manifest: Manifest, _complaint: str) -> Any:
        return {"tables": INITIAL}

    def source(self, _world: Described, tool: ToolSpec, _complaint: str) -> Any:
        return {"source": self.source_text if tool.name == "cancel_order" else SOURCES[tool.name]}

    def cases(self, _world: Described, tool: ToolSpec, _complaint: str) -> Any:
        return {"cases": self.written[tool.name]}

    def repair(self, _world: Described, _tool: ToolSpec, _source: str, _findings: Sequence[Finding], _why: str) -> Any:
        self.repairs += 1
        mended = self.mended.pop(0) if self.mended else ""
        return {"source": mended} if isinstance(mended, str) else mended

    def chain(self, _world: Described, number: int, complaint: str) -> Any:
        self.heard.append(complaint)
        return self.chains[number % len(self.chains)]

    def instruction(self, *known: Any) -> Any:
        self.results.append(list(known[3]))
        return self.words


def made(author: Scripted, tasks: int = 1) -> Made:
    return AuthoredPackage(author, LocalRunner()).made("a shop", tasks=tasks)


def rejected(author: Scripted) -> str:
    with pytest.raises(NoWorld, match="no task was accepted") as failed:
        made(author)
    return failed.value.tried[0]


def test_a_package_is_what_the_author_wrote_and_every_proof_was_made() -> None:
    author = Scripted()
    found = made(author)
    assert (found.report.tools_kept, found.report.dead_ends, found.report.solvable) == (2, 0, 1.0)
    assert [(edge.source, edge.target, edge.kind) for edge in found.package.manifest.edges] == [
        ("find_order", "cancel_order", "data"), ("cancel_order", "find_order", "state")]
    assert author.results == [[{"order_ids": ["W1"]}, {"order_id": "W1", "status": "cancelled"}]]
    assert found.package.tasks[0].truth["orders"]["W1"]["status"] == "cancelled"
    assert read(found.package.files) == found.package


def test_an_author_that_writes_a_bug_and_repairs_it_keeps_the_tool() -> None:
    author = Scripted(BUG, ["def cancel_order(db, order_id):\n    return None\n", SOURCES["cancel_order"]])
    making = AuthoredPackage(author, LocalRunner())
    found = making.made("a shop", tasks=1)
    assert (author.repairs, found.report.tools_dropped) == (2, {})
    tried = making.trail.tools["cancel_order"]
    assert (tried.kept, tried.rounds, [len(one) for one in tried.findings]) == (True, 3, [1, 2, 0])
    assert making.trail.as_json()["tasks"] == [{"number": 0, "kept": True, "reason": ""}]


def test_a_case_that_is_wrong_is_mended_and_none_is_left_out() -> None:
    wrong = {**CASES, "cancel_order": [{**CASES["cancel_order"][0], "after": {}}, CASES["cancel_order"][1]]}
    code = SOURCES["cancel_order"]
    author = Scripted(mended=[{"source": code, "cases": CASES["cancel_order"][:1]},
                              {"source": code, "cases": CASES["cancel_order"]}])
    author.written = wrong
    making = AuthoredPackage(author, LocalRunner())
    assert making.made("a shop", tasks=1).report.tools_kept == 2
    assert making.trail.refusals == {"repair of cancel_order": ["cases: expected all of them, 2 or more, found 1"]}


def test_each_declared_rejection_needs_a_case() -> None:
    author = Scripted()
    author.written = {**CASES, "cancel_order": CASES["cancel_order"][:1]}
    making = AuthoredPackage(author, LocalRunner())
    with pytest.raises(NoWorld):
        making.made("a shop", tasks=1)
    [reason] = set(making.trail.refusals["cases of cancel_order"])
    assert reason == "cases: expected a rejected one for each of an unknown order, found 0 without `after`"
    assert making.trail.tools["cancel_order"].reason.endswith(reason)


def test_a_tool_that_its_author_never_repairs_is_dropped() -> None:
    author = Scripted(BUG, [BUG] * 9)
    assert "the chain calls what cannot be called" in rejected(author)
    assert author.repairs == MOST_REPAIRS
    giving_up = Scripted(BUG)
    assert "the chain calls what cannot be called" in rejected(giving_up)
    assert giving_up.repairs == 1


def test_an_answer_that_cannot_be_read_is_asked_for_again_with_the_reason() -> None:
    author = Scripted()
    author.schemas = [{"domain": "My Shop"}, {**author.schemas[0], "tables": author.schemas[0]["tables"][:1]},
                      author.schemas[0]]
    assert made(author).report.tasks_accepted == 1
    assert [complaint.split(":")[0] for complaint in author.complaints] == ["", "domain", "tables"]
    mumbling, silent = Scripted(), Scripted()
    mumbling.mute, silent.schemas = 2, [[]]
    made(mumbling)
    assert mumbling.complaints == ["", *["expected a JSON object"] * 2]
    with pytest.raises(NoWorld, match="no schema could be read") as failed:
        made(silent)
    assert len(failed.value.tried) == ANSWERS


def test_an_author_hears_why_its_task_was_not_accepted() -> None:
    author = Scripted()
    author.chains = [{"chain": [{"tool": "cancel_order", "arguments": {"order_id": "W9"}}]}, *author.chains]
    assert made(author).report.tasks_accepted == 1
    why = "the chain is not executable: call 0, cancel_order: there is no such order"
    assert author.heard == ["", why, why, f"the task before was not accepted: {why}"]


def test_an_argument_may_refer_to_an_earlier_result() -> None:
    author = Scripted()
    asked = {"tool": "cancel_order", "arguments": {"order_id": {"$step": 0, "$field": "order_id"}}}
    author.chains = [{"chain": [asked]}]
    assert "refers to 'order_id' of step 0, which no earlier call gave" in rejected(author)


@pytest.mark.parametrize(("change", "reason"), [
    ({"chain": [{"tool": "steal", "arguments": {}}]}, "the chain calls what cannot be called"),
    ({"chain": [{"tool": "cancel_order", "arguments": {"order_id": "W9"}}]}, "the chain is not executable"),
    ({"chain": [use.model_dump() for use in [*TASK.chain, TASK.chain[1]]]},
     "two rows with generated keys are alike in all that counts"),
    ({"before": {"bribes": {"b": {}}}}, "expected the tables orders, refunds, found orders, refunds, bribes"),
    ({"before": {"orders": {"W1": {"total": "much"}}}}, "orders.W1.total: expected number, found \"much\""),
    ({"chain": []}, "chain: expected"),
])
def test_a_chain_that_does_not_do_is_no_task(change: dict[str, Any], reason: str) -> None:
    author = Scripted()
    author.chains = [{**author.chains[0], **change}]
    assert reason in rejected(author)


def test_words_that_give_the_answer_away_or_ask_for_nothing_are_no_task() -> None:
    author = Scripted()
    author.words = {"instruction": "Say cancelled.", "communicate": ["cancelled"]}
    assert "the instruction says what has to be found" in rejected(author)
    author = Scripted()
    author.chains = [{"chain": [TASK.chain[0].model_dump()]}]
    author.words = {"instruction": "I am ada@mail.org. Look my order up.", "communicate": []}
    assert "doing nothing would be rewarded" in rejected(author)
    author.words = {"instruction": "Look up the order of ada@mail.org.", "communicate": ["7 orders"]}
    assert "communicate: '7 orders' is in no result of the calls" in rejected(author)


def test_an_id_that_neither_the_words_nor_an_earlier_call_say_is_asked_for() -> None:
    author = Scripted()
    author.chains = [{"chain": [TASK.chain[1].model_dump()]}]
    assert "call 0, cancel_order: W1 is in no result of an earlier call" in rejected(author)
    author.words = {"instruction": "Please cancel order w1.", "communicate": []}
    assert made(author).report.tasks_accepted == 1


def test_a_task_that_was_written_before_is_counted_and_not_kept() -> None:
    report = made(Scripted(), tasks=3).report
    assert (report.tasks_accepted, report.tasks_rejected) == (1, {"another task asks the same": 8})


def test_rows_have_their_columns_and_their_key() -> None:
    assert wrong_tables(MANIFEST, INITIAL) == ""
    short, other = copy.deepcopy(INITIAL), copy.deepcopy(INITIAL)
    del short["orders"]["W1"]["total"]
    other["orders"]["W1"]["order_id"] = "W7"
    assert wrong_tables(MANIFEST, short).startswith("orders.W1: expected the columns email, order_id, status, total")
    assert wrong_tables(MANIFEST, other) == 'orders.W1.order_id: expected W1, the row\'s key, found "W7"'


@pytest.mark.parametrize("source", [
    "def other(db):\n    pass", "x = 1\ndef go(db):\n    pass", "def go(db): pass\n\n\ndef _hone_call(): pass",
    "def go(db:", "go = 1", "class Rejected(Exception):\n    pass\n\n\ndef go(db):\n    pass", "\x00"])
def test_code_of_a_tool_touches_no_other(source: str) -> None:
    assert wrong_source("go", source).startswith("source: expected ")


def test_code_may_have_imports_and_functions_of_its_own() -> None:
    code = '"""Doc."""\nimport json\n\n\ndef _go_all():\n    pass\n\n\ndef go(db):\n    pass\n'
    assert wrong_source("go", code) == ""


def test_a_patch_changes_cells_adds_rows_and_removes_them() -> None:
    after = patched(INITIAL, {"orders": {"W1": {"status": "cancelled"}, "W2": None},
                              "refunds": {"r": {"refund_id": "r", "order_id": "W1", "amount": 1}}})
    assert after == {"orders": {"W1": {**INITIAL["orders"]["W1"], "status": "cancelled"}},
                     "refunds": {"r": {"refund_id": "r", "order_id": "W1", "amount": 1}}}
    assert INITIAL["orders"]["W1"]["status"] == "paid"


@pytest.mark.parametrize(("tool", "why"), [
    ({"name": "import"}, "expected a name that is no word of Python"),
    ({"parameters": {"db": {"type": "string"}}, "required": []}, "other than db, found 'db'"),
    ({"parameters": {"email": {"$ref": "http://127.0.0.1/schema"}}}, "found $ref, expected"),
    ({"parameters": {"email": {"type": "object", "properties": {"a": {"pattern": "(a+)+$"}}}}}, "found pattern,"),
    ({"parameters": {"email": {"type": "nonsense"}}}, "expected JSON schema"),
    ({"required": ["mail"]}, "found mail, expected names of its parameters"),
    ({"reads": ["bribes"]}, "found no bribes"),
])
def test_a_tool_asks_for_what_can_be_checked_without_fetching_anything(tool: dict[str, Any], why: str) -> None:
    tools = [ToolSpec.model_validate(MANIFEST.tools[0].model_dump() | tool), MANIFEST.tools[1]]
    assert why in wrong_manifest(MANIFEST.model_copy(update={"tools": tools}))
    assert wrong_manifest(MANIFEST) == ""
