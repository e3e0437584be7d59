"""What an author writes is read, tested and executed before it is kept. One who errs may mend it."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import Manifest, ToolSpec, read
from hone.environments.synthesis.author import ANSWERS, wrong_source
from hone.environments.synthesis.authored import wrong_tables
from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.making import make_package
from hone.environments.synthesis.report import Made
from hone.environments.synthesis.tester import MOST_REPAIRS, Finding
from tests.unit.environments.packages.shop import INITIAL, MANIFEST, SOURCE, TASK, TESTS

SOURCES = {name: f"def {name}" + SOURCE.split(f"def {name}")[1].split("\n\n\n")[0] + "\n"
           for name in ("find_order", "cancel_order")}
BUG = SOURCES["cancel_order"].replace('order["total"]', "0")
FOUND = {"tool": "find_order", "tables": INITIAL, "arguments": {"email": "ada@mail.org"}, "expected": INITIAL}
CASES = {"find_order": [FOUND, {**FOUND, "arguments": {"email": "nobody"}, "expected": None}],
         "cancel_order": [case.model_dump() for case in TESTS]}


class Scripted:
    """An author that knows the shop. `sources` and `mended` are what it says of cancel_order."""

    def __init__(self, source: str = SOURCES["cancel_order"], mended: Sequence[str] = ()) -> None:
        self.source_text, self.mended, self.repairs = source, list(mended), 0
        self.schemas: list[Any] = [MANIFEST.model_dump()]
        self.chains: list[Any] = [{"tables": INITIAL, "chain": [use.model_dump() for use in TASK.chain]}]
        self.words: dict[str, Any] = {"instruction": TASK.instruction, "communicate": ["cancelled"]}
        self.complaints, self.results = list[str](), list[Any]()

    def schema(self, _hint: str, complaint: str) -> Any:
        self.complaints.append(complaint)
        return self.schemas[min(len(self.complaints), len(self.schemas)) - 1]

    def source(self, _manifest: Manifest, tool: ToolSpec, _complaint: str) -> Any:
        return {"source": self.source_text if tool.name == "cancel_order" else SOURCES[tool.name]}

    def cases(self, _manifest: Manifest, tool: ToolSpec, _complaint: str) -> Any:
        return {"cases": CASES[tool.name]}

    def repair(self, _tool: ToolSpec, _source: str, _findings: Sequence[Finding]) -> Any:
        self.repairs += 1
        return {"source": self.mended.pop(0) if self.mended else ""}

    def chain(self, _manifest: Manifest, number: int, _complaint: str) -> Any:
        return self.chains[number % len(self.chains)]

    def instruction(self, *known: Any) -> Any:
        self.results.append(list(known[-1]))
        return self.words


def made(author: Scripted, tasks: int = 1) -> Made:
    return make_package("a shop", tasks=tasks, runner=LocalRunner(), author=author)


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
    found = made(author)
    assert (author.repairs, found.report.tools_dropped) == (2, {})


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
    silent = Scripted()
    silent.schemas = [[]]
    with pytest.raises(NoWorld, match="no schema could be read") as failed:
        made(silent)
    assert len(failed.value.tried) == ANSWERS


@pytest.mark.parametrize(("change", "reason"), [
    ({"chain": [{"tool": "steal", "arguments": {}}]}, "the chain calls what cannot be called"),
    ({"chain": [{"tool": "cancel_order", "arguments": {"order_id": "W9"}}]}, "the chain is not executable"),
    ({"chain": [TASK.chain[1].model_dump()] * 2}, "two rows with generated keys are alike in all that counts"),
    ({"tables": {"orders": {}}}, "expected the tables orders, refunds, found orders"),
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
    author.chains = [{"tables": INITIAL, "chain": [TASK.chain[0].model_dump()]}]
    author.words = {"instruction": "Look my order up.", "communicate": []}
    assert "doing nothing would be rewarded" in rejected(author)


def test_a_task_that_was_written_before_is_counted_and_not_kept() -> None:
    report = made(Scripted(), tasks=3).report
    assert (report.tasks_accepted, report.tasks_rejected) == (1, {"another task asks the same": 8})


def test_rows_have_their_columns_and_their_key() -> None:
    assert wrong_tables(MANIFEST, INITIAL) == ""
    short, other = copy.deepcopy(INITIAL), copy.deepcopy(INITIAL)
    del short["orders"]["W1"]["total"]
    other["orders"]["W1"]["order_id"] = "W7"
    assert wrong_tables(MANIFEST, short).startswith("orders.W1: expected the columns email, order_id, status, total")
    assert wrong_tables(MANIFEST, other) == "orders.W1: expected order_id to be the row's key, found 'W7'"


@pytest.mark.parametrize("source", [
    "def other(db):\n    pass", "x = 1\ndef go(db):\n    pass", "def go(db): pass\n\n\ndef _hone_call(): pass",
    "def go(db:", "go = 1", "class Rejected(Exception):\n    pass\n\n\ndef go(db):\n    pass", "\x00"])
def test_code_of_a_tool_touches_no_other(source: str) -> None:
    assert wrong_source("go", source).startswith("source: expected ")


def test_code_may_have_imports_and_functions_of_its_own() -> None:
    code = '"""Doc."""\nimport json\n\n\ndef _go_all():\n    pass\n\n\ndef go(db):\n    pass\n'
    assert wrong_source("go", code) == ""


def test_code_of_an_author_runs_in_no_process_of_ours() -> None:
    with pytest.raises(ValueError, match="runner: found none, expected the sandbox"):
        make_package("a shop", author=Scripted())
