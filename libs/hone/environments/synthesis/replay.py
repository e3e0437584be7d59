"""Running whole chains of calls: one program for many chains, each call on the tables that the last one left.

An argument may refer to a result of an earlier step: `{"$step": 2, "$field": "loan_id"}`. So a chain can be run in
another order, in which its generated ids are others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hone.environments.packages.calling import LIMITS, PREAMBLE, Runner, ToolsLost, other_tables
from hone.environments.packages.package import Package, Tables, ToolUse
from hone.sandbox.program import Ended, Program

_CHAINS = '''


def _hone_chain(tables, steps):
    results, refused = {}, []
    for place, (number, tool, arguments) in enumerate(steps):
        try:
            given = {name: results[value["$step"]][value["$field"]] if isinstance(value, dict) and "$step" in value
                     else value for name, value in arguments.items()}
        except (KeyError, TypeError):
            refused.append([number, "a step that it refers to gave nothing"])
            continue
        done = _hone_call(_json.loads(_json.dumps(tables)), tool, given, place)
        if "rejected" in done:
            refused.append([number, done["rejected"]])
        else:
            tables, results[number] = done["tables"], done["result"]
    return {"tables": tables, "results": [[number, result] for number, result in results.items()], "refused": refused}
'''


@dataclass(frozen=True)
class Chain:
    """Calls on an initial state. `numbers` names the steps, where they are run in another order than written."""

    initial: Tables
    uses: Sequence[ToolUse]
    numbers: Sequence[int]


@dataclass(frozen=True)
class Replayed:
    """Result of a chain. A refused step changed nothing, and the chain went on."""

    tables: Tables
    results: dict[int, Any] = field(default_factory=dict)  # by the number of the step
    refused: dict[int, str] = field(default_factory=dict)
    failed: str | None = None  # the code is wrong


def chain(initial: Tables, uses: Sequence[ToolUse], order: Sequence[int] | None = None) -> Chain:
    """Return the chain of calls `uses` in an order of its steps; without one, as written."""
    numbers = list(range(len(uses))) if order is None else list(order)
    return Chain(initial, [uses[number] for number in numbers], numbers)


def replayed(runner: Runner, package: Package, chains: Sequence[Chain]) -> list[Replayed]:
    """Return the result of each chain. Raises ToolsLost."""
    if not chains:
        return []
    ran = runner.run(Program(
        PREAMBLE + package.source + _CHAINS, function="_hone_chain", limits=LIMITS,
        calls=[[one.initial, [[number, use.tool, use.arguments] for number, use in
                              zip(one.numbers, one.uses, strict=True)]] for one in chains]))
    if ran.status is Ended.INFRA_ERROR:
        raise ToolsLost(ran.detail)
    found = [Replayed(one.initial, failed=outcome.error) if outcome.error else _read(one, outcome.value)
             for one, outcome in zip(chains, ran.outcomes, strict=False)]
    return [*found, *(Replayed(one.initial, failed=f"{ran.status}: {ran.detail}") for one in chains[len(found):])]


def _read(ran: Chain, value: dict[str, Any]) -> Replayed:
    if other := other_tables(ran.initial, value["tables"], ran.initial):
        return Replayed(ran.initial, failed=f"it left {other}")
    return Replayed(value["tables"], dict(value["results"]), dict(value["refused"]))


def reference(step: int, name: str) -> dict[str, Any]:
    """Return the argument that stands for a field of a step's result."""
    return {"$step": step, "$field": name}
