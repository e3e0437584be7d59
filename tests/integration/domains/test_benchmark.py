"""Domains of tau2-bench itself: what is found of them, and what gold actions leave, are the package's own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hone.environments.tau2 import archive, program
from hone.environments.tau2.domain import DATA, ServiceDomain, read
from tests.servers import tau2_package
from tests.servers.foreign_packages import NotInstalled
from tests.unit.environments.tau2.process_runner import ProcessRunner

THEIRS = """
import importlib, json, sys
domain, ids = sys.argv[1], sys.argv[2:]
module = importlib.import_module(f"tau2.domains.{domain}.environment")
found = {}
for task in module.get_tasks():
    if ids and task.id not in ids:
        continue
    world, state = module.get_environment(), task.initial_state
    world.set_state(state and state.initialization_data, state and state.initialization_actions,
                    state and state.message_history or [])
    start = world.get_db_hash()
    for action in task.evaluation_criteria.actions or []:
        try:
            world.make_tool_call(action.name, requestor=action.requestor, **action.arguments)
        except Exception:
            continue
    found[task.id] = [start, world.get_db_hash()]
world = module.get_environment()
print(json.dumps({"hashes": found, "policy": world.policy, "tools": [
    tool.openai_schema for tool in world.get_tools()]}))
"""


@pytest.fixture(scope="module")
def package(need: Callable[[str | None], None]) -> Path:
    try:
        return tau2_package.folder()
    except NotInstalled as missing:
        need(str(missing))
        raise


def theirs(package: Path, name: str, *ids: str) -> Any:
    """Return what the package says of tasks of a domain; of all of them without `ids`."""
    said = subprocess.run([sys.executable, "-c", THEIRS, name, *ids], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(package)}, timeout=120)
    return json.loads(said.stdout.splitlines()[-1])


def ours(package: Path, name: str, *ids: str) -> ServiceDomain:
    found = archive.collected(package / "tau2/data/tau2/domains" / name, package / "tau2/domains" / name)
    at = f"{DATA}/{name}/tasks.json"
    if ids:
        found[at] = json.dumps([task for task in json.loads(found[at]) if task["id"] in ids]).encode()
        del found[f"{DATA}/{name}/split_tasks.json"]
    domain = read(found)
    return domain.with_findings(program.examined(ProcessRunner(), domain))


@pytest.mark.parametrize(("name", "ids", "unproven"), [
    ("mock", (), ["update_task_with_history_and_env_assertions"]), ("retail", ("0", "2", "12"), ["12"])])
def test_tools_policy_and_states_are_those_of_the_package(
    package: Path, name: str, ids: tuple[str, ...], unproven: list[str],
) -> None:
    known, found = theirs(package, name, *ids), ours(package, name, *ids).found
    assert found.policy == known["policy"]
    assert {task: [proof.start[0], proof.gold[0]] for task, proof in found.proofs.items()} == known["hashes"]
    assert [task for task, proof in found.proofs.items() if proof.problems] == unproven
    assert [_described(tool) for tool in found.tools] == [_described(tool) for tool in known["tools"]]


def _described(tool: Any) -> Any:
    """Return a tool's schema without what only one of both writes: an empty list of required arguments."""
    function = dict(tool["function"])
    return {**function, "parameters": {"required": [], **function["parameters"]}}
