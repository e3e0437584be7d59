"""Programs that run a domain's code in the sandbox: what it offers, what gold actions do, and calls of an episode."""

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from hone.environments.packages.calling import Runner, ToolsLost
from hone.environments.packages.package import WrongPackage
from hone.environments.tau2 import inside
from hone.environments.tau2.domain import CODE, Findings, Proof, ServiceDomain
from hone.environments.tau2.inside import modules, toolkit
from hone.environments.tau2.inside import play as inside_play
from hone.environments.tau2.task import DomainTask
from hone.sandbox.program import MEBI, Ended, Limits, Program, Ran
from hone.spec.problems import unstorable
from hone.text.storable import storable

Call = tuple[str, str, Mapping[str, Any]]
"""Who calls (assistant or user), which tool, and its arguments."""
_INSIDE = "tau2_inside"
_SOURCE = f"""
import os
import sys

sys.path.insert(0, os.getcwd())
from {_INSIDE}.play import run
"""
LIMITS = Limits(wall_s=60.0, call_s=20.0, cpu_s=60.0, memory_bytes=1024 * MEBI, output_bytes=16 * MEBI)
PROOF_LIMITS = replace(LIMITS, wall_s=300.0, cpu_s=300.0)
_RAISED = re.compile(r"^[\w.]*(?:Error|Exception|Exit)(?:: |$)", re.MULTILINE)
_PROVEN_AT_ONCE, _PROGRAMS, _LONGEST = 16, 4, 500


@dataclass(frozen=True)
class AfterCalls:
    """The state after calls, and what the last one said. `before`, `after`: hashes of what all calls said."""

    said: str
    failed: bool
    before: str
    after: str
    hashes: tuple[str | None, ...]
    assertions: tuple[bool, ...]


class CallFailed(Exception):
    """The last call ended the program: it ran too long, or took too much. It changed nothing."""


def examined(runner: Runner, domain: ServiceDomain) -> Findings:
    """Return the content of a domain's code, and the proof of each task. Raises WrongPackage and ToolsLost."""
    ran = _ran(runner, domain, [["examine", {"domain": domain.name}]])
    offered = _value(ran, 0, f"{CODE}/{domain.name}")
    for wrong in unstorable(offered)[:1]:
        raise WrongPackage(wrong.field, wrong.found, wrong.expected)
    found = Findings(offered["policy"], offered["tools"], offered["user_tools"], offered["tables"])
    return Findings(found.policy, found.tools, found.user_tools, found.tables, dict(_proofs(runner, domain)))


def play(runner: Runner, domain: ServiceDomain, task: DomainTask, calls: Sequence[Call]) -> AfterCalls:
    """Return the state of a task after calls. Raises CallFailed, ToolsLost, and WrongPackage: it does not begin."""
    ran = _ran(runner, domain, [["play", {**_asked(domain, task), "calls": [list(call) for call in calls]}]])
    if not ran.outcomes or ran.outcomes[0].error:
        raise CallFailed(_reason(ran))
    given = _value(ran, 0, task.id)
    return AfterCalls(**{**given, "hashes": tuple(given["hashes"]), "assertions": tuple(given["assertions"])})


def _proofs(runner: Runner, domain: ServiceDomain) -> Iterator[tuple[str, Proof]]:
    """Prove the tasks, some in each program and some programs beside each other. Raises ToolsLost."""
    groups = [domain.tasks[first:first + _PROVEN_AT_ONCE] for first in range(0, len(domain.tasks), _PROVEN_AT_ONCE)]
    with ThreadPoolExecutor(_PROGRAMS) as threads:
        found = threads.map(lambda tasks: _proven(runner, domain, tasks), groups)
        for tasks, proofs in zip(groups, found, strict=True):
            yield from zip((task.id for task in tasks), proofs, strict=True)


def _proven(runner: Runner, domain: ServiceDomain, tasks: Sequence[DomainTask]) -> list[Proof]:
    """Prove tasks. One that ends its program is not proven, and the next go on in another."""
    found = list[Proof]()
    while len(found) < len(tasks):
        left = tasks[len(found):]
        ran = _ran(runner, domain, [["prove", _asked_proof(domain, task)] for task in left], PROOF_LIMITS)
        found += [_proof(ran, place, left[place]) for place in range(min(len(left), len(ran.outcomes) + 1))]
    return found


def _proof(ran: Ran, place: int, task: DomainTask) -> Proof:
    try:
        given = storable(_value(ran, place, ""))
    except WrongPackage as wrong:
        return Proof([None, None], [None, None], [], [storable(str(wrong)).removeprefix(": ")[:_LONGEST]])
    remarks = [*task.remarks, *given["remarks"]]
    return Proof(given["start"], given["gold"], given["assertions"],
                 *([one[:_LONGEST] for one in said] for said in (given["problems"], remarks)))


def _asked_proof(domain: ServiceDomain, task: DomainTask) -> dict[str, Any]:
    criteria = task.criteria
    return {**_asked(domain, task), "actions": [one.model_dump() for one in criteria.actions or []],
            "compared": "DB" in criteria.reward_basis, "asserted": "ENV_ASSERTION" in criteria.reward_basis}


def _asked(domain: ServiceDomain, task: DomainTask) -> dict[str, Any]:
    return {"domain": domain.name, "state": task.state.model_dump(exclude_none=True),
            "assertions": [one.model_dump() for one in task.criteria.env_assertions or []]}


def _ran(runner: Runner, domain: ServiceDomain, calls: Sequence[Sequence[Any]], limits: Limits | None = None) -> Ran:
    ran = runner.run(Program(
        _SOURCE, files={**domain.played_files, **_inside()}, function="run", calls=calls, limits=limits or LIMITS))
    if ran.status is Ended.INFRA_ERROR:
        raise ToolsLost(ran.detail)
    return ran


def _value(ran: Ran, place: int, at: str) -> Any:
    """Return the result of a call. Raises WrongPackage with the field of the domain that is wrong."""
    if place >= len(ran.outcomes) or ran.outcomes[place].error:
        raise WrongPackage(at, _reason(ran, place), "code that runs in the sandbox")
    value = ran.outcomes[place].value
    if "fault" in value:
        raise WrongPackage(*value["fault"])
    return value


def _reason(ran: Ran, place: int = 0) -> str:
    """Return why a call has no value: what it raised, or how its program ended."""
    if place < len(ran.outcomes):
        error = ran.outcomes[place].error.strip()
        raised = [*_RAISED.finditer(error)]
        said = error[raised[-1].start():] if raised else error.rpartition("\n")[2]
        return " ".join(said.partition("For further information")[0].split())  # pydantic's has several lines
    said = ran.detail.strip().rpartition("\n")[2]
    return f"{ran.status}: {said}" if said else str(ran.status)


@cache
def _inside() -> dict[str, bytes]:
    return {f"{_INSIDE}/{Path(str(module.__file__)).name}": Path(str(module.__file__)).read_bytes()
            for module in (inside, modules, inside_play, toolkit)}
