"""Domains in tau2-bench's format are read from directories, refused by the wrong field, and proven task by task."""

import json
from pathlib import Path
from typing import Any

import pytest

from hone.environments.packages.package import WrongPackage
from hone.environments.tau2 import archive, program
from hone.environments.tau2.domain import ServiceDomain, read
from tests.unit.environments.tau2.kiosk import files, kiosk
from tests.unit.environments.tau2.process_runner import ProcessRunner

DATA, CODE = "data/tau2/domains/kiosk", "src/tau2/domains/kiosk"


def changed(name: str, old: str, new: str) -> dict[str, bytes]:
    path = next(path for path in files() if path.endswith(f"/{name}"))
    text = files()[path].decode()
    assert old in text
    return {**files(), path: text.replace(old, new, 1).encode()}


def without(name: str) -> dict[str, bytes]:
    return {path: data for path, data in files().items() if not path.endswith(f"/{name}")}


@pytest.mark.parametrize(("given", "message"), [
    (changed("tasks.json", '"id": "renew"', '"id": 7'), "tasks.json.0.id: found '7', expected a valid string"),
    (changed("tasks.json", '"reason_for_call"', '"reason"'), "tasks.json.renew.user_scenario.instructions.reason_for"),
    (changed("tasks.json", '"name": "renew"', '"title": "renew"'),
     "tasks.json.renew.evaluation_criteria.actions.1.name: found 'None', expected a value"),
    (changed("tasks.json", '"ENV_ASSERTION"', '"ENV"'),
     "tasks.json.descale.evaluation_criteria.reward_basis.0: found 'ENV', expected 'DB', 'ENV_ASSERTION'"),
    (changed("tasks.json", '"env_type": "user"', '"env_type": "kitchen"'),
     "tasks.json.descale.initial_state.initialization_actions.0.env_type: found 'kitchen'"),
    (changed("tasks.json", '"id": "refused"', '"id": "renew"'), "tasks.json.id: found 'renew', expected an id of its"),
    (changed("tasks.json", '"evaluation_criteria"', '"evaluation_criterion"'),
     "tasks.json.renew.evaluation_criterion: found"),
    (changed("tasks.json", '"known_info"', '"know_info"'), "expected the field known_info, which is lacking"),
    (changed("tasks.json", '"id": "renew"', '"id": "a\\u0000"'),
     "tasks.json[0].id: found '\"a\\\\u0000\"', expected text"),
    ({**files(), f"{DATA}/db.json": b'{"price": 1, "price": 2}'}, "expected JSON (found the key 'price' twice"),
    ({**files(), f"{CODE}/tools.py": b"# -*- coding: klingon -*-"}, f"{CODE}/tools.py: found 'unknown encoding"),
    (changed("split_tasks.json", '"continued"', '"gone"'), "split_tasks.json.test: found 'gone', expected ids of"),
    (changed("tools.py", "def renew(", "def renew[("), "src/tau2/domains/kiosk/tools.py:"),
    ({**files(), f"{DATA}/tasks.json": b"{"}, "tasks.json: found "),
    (without("tasks.json"), f"expected also {DATA}/tasks.json"),
    ({path: data for path, data in files().items() if path.startswith("data")}, f"expected also {CODE}/tools.py"),
    ({**files(), "setup.py": b""}, "files: found \"['setup.py']\", expected files of one domain"),
    ({**files(), "data/tau2/domains/a.json": b""}, "files: found \"['data/tau2/domains/a.json']\", expected files of"),
    ({**files(), f"{CODE}/long.py": b"#" * (2**20 + 1)}, f"{CODE}/long.py: found '1048577 bytes', expected at most"),
    ({**files(), f"{DATA}/picture.png": b""}, "expected a path of at most 150 bytes that ends with")])
def test_what_is_no_domain_is_refused_by_file_task_and_field(given: dict[str, bytes], message: str) -> None:
    with pytest.raises(WrongPackage) as wrong:
        read(given)
    assert message in str(wrong.value)


def test_a_domain_comes_back_from_its_archive_and_its_findings_only_from_a_trusted_one() -> None:
    packed = archive.packed(kiosk().files, kiosk().found)
    assert archive.holds_domain(packed)
    assert archive.unpacked(packed, trusted=True) == kiosk()
    assert archive.unpacked(packed).findings is None
    assert archive.unpacked(packed).digest == kiosk().digest == read(files()).digest


def test_what_the_code_offers_is_found_by_running_it() -> None:
    found = kiosk().found
    by_name = {tool["function"]["name"]: tool["function"] for tool in found.tools}
    assert list(by_name)[:3] == ["find_machine", "renew", "transfer_to_human_agents"]
    assert by_name["find_machine"]["description"] == "Find a machine.\n\nIt has to be found before it is changed."
    months = by_name["renew"]["parameters"]["properties"]["months"]
    assert (months["type"], months["default"]) == ("integer", 12)
    assert months["description"] == "Months that are added,\nat least one."
    assert by_name["renew"]["parameters"]["required"] == ["serial"]
    assert [tool["function"]["name"] for tool in found.user_tools or []] == ["read_display", "run_descaling"]
    assert found.policy.startswith("# Coffee machines")
    assert found.tables == ["machines", "price"]


def test_a_directory_is_read_but_for_folders_and_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("x = 1")
    (tmp_path / "folder.py").mkdir()
    assert list(archive.collected(tmp_path)) == [f"src/tau2/domains/{tmp_path.name}/tools.py"]
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    with pytest.raises(WrongPackage, match=r"gone\.py.*a file that can be read"):
        archive.collected(tmp_path)


def test_tasks_whose_gold_actions_fail_are_named_and_those_that_only_read_are_remarked() -> None:
    failed = {name: proof.problems for name, proof in kiosk().found.proofs.items() if proof.problems}
    assert failed == {"broken": ["evaluation_criteria.actions.1 (renew): ValueError: the machine was opened"]}
    assert kiosk().found.proofs["broken"].remarks == [
        "evaluation_criteria.actions.0 (find_machine): ValueError: Machine M900 not found"]
    renewed = kiosk().found.proofs["renew"]
    assert renewed.start[0] != renewed.gold[0]
    assert renewed.start[1] == renewed.gold[1]


CLOCK = [{"id": "late", "user_scenario": {"instructions": "Hello."}, "evaluation_criteria": {"actions": [
    {"name": "stamp", "arguments": {}}]}}]


def flat(source: str, tasks: Any, **more: bytes) -> ServiceDomain:
    """Return a domain without an environment of its own."""
    own = {"tools.py": source.encode(), "tasks.json": json.dumps(tasks).encode(), "policy.md": b"Be kind.",
           "db.json": b'{"at": 0}', **more}
    return read({f"{CODE if path.endswith('.py') else DATA}/{path}": data for path, data in own.items()})


SOURCE = '''
import os
from tau2.environment.db import DB
from tau2.environment.toolkit import ToolKitBase, ToolType, is_tool

class ClockDB(DB):
    at: int

class Clock(ToolKitBase):
    db: ClockDB

    @is_tool(ToolType.WRITE)
    def stamp(self):
        """Stamp."""
        self.db.at = int.from_bytes(os.urandom(4), "big")
'''


def test_a_domain_of_tools_and_files_alone_is_run_and_one_that_never_repeats_is_named() -> None:
    found = program.examined(ProcessRunner(), flat(SOURCE, CLOCK))
    assert (found.policy, found.tables, found.user_tools) == ("Be kind.", ["at"], None)
    assert found.proofs["late"].problems == ["evaluation_criteria.actions: they leave another state each time"]


@pytest.mark.parametrize(("given", "message"), [
    (flat(SOURCE, CLOCK, **{"db.json": b'{"at": "noon"}'}), "db.json.at: found 'noon', expected a valid integer"),
    (flat(SOURCE, CLOCK, **{"db.json": b'{"at": 0, "on": 1}'}), "db.json.on: found '1', expected Extra inputs"),
    (flat("import nothing_of_that_name", CLOCK), "src/tau2/domains/kiosk: found \"ModuleNotFoundError"),
    (flat("x = 1", CLOCK), "tools.py: found 'no class of tools', expected a class of ToolKitBase"),
    (flat(f"{SOURCE}    @is_tool()\n    def odd(self, x: object()): ...\n", CLOCK),
     "tools.py.odd: found 'PydanticSchema"),
    (flat(f"{SOURCE}    @is_tool\n    def odd(self): ...\n", CLOCK), "odd: found '@is_tool', expected @is_tool("),
    (flat(SOURCE, CLOCK, **{"policy.md": b"a\0b"}), "policy: found '\"a\\\\u0000b\"', expected text without NUL")])
def test_a_database_that_does_not_fit_and_code_that_does_not_run_are_refused(
    given: ServiceDomain, message: str,
) -> None:
    with pytest.raises(WrongPackage) as wrong:
        program.examined(ProcessRunner(), given)
    assert message in str(wrong.value)


def test_what_a_task_cannot_begin_with_is_named_and_what_grades_nothing_is_remarked() -> None:
    def task(name: str, **state: Any) -> dict[str, Any]:
        return {"id": name, "user_scenario": {"instructions": "Hello."}, "initial_state": state,
                "evaluation_criteria": {"reward_basis": ["ACTION"]}}

    call = {"role": "assistant", "tool_calls": [{"name": "stamp", "arguments": {}, "id": "1"}]}
    named = {**CLOCK[0], "id": "named", "evaluation_criteria": {"reward_basis": ["ACTION"], "actions": [
        {"name": "stamp", "arguments": {}, "compare_args": ["at"]}]}}
    found = program.examined(ProcessRunner(), flat(SOURCE, [
        task("data", initialization_data={"agent_data": {"at": "noon"}}), named,
        task("user", initialization_data={"user_data": {}}), task("history", message_history=[call])]))
    said = {name: (*proof.problems, *proof.remarks)[0] for name, proof in found.proofs.items()}
    assert said.pop("data").startswith("initial_state.initialization_data.agent_data: found \"ValidationError: 1 valid")
    assert "the domain has no tools of the user" in said.pop("user")
    assert said == {
        "history": "initial_state.message_history.0: found 'a call', expected its answer behind it",
        "named": "evaluation_criteria.actions.0.compare_args: at is no argument of the gold call"}
    free = program.examined(ProcessRunner(), flat(SOURCE, [task("free")])).proofs["free"]
    assert free.remarks == ["evaluation_criteria: nothing is graded, and so every episode scores 1"]
