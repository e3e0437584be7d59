"""Tasks that an author writes: a chain is executed before anybody puts it into words, and then passes every check."""

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hone.environments.packages.calling import PackageCall, Runner, called
from hone.environments.packages.package import MOST_BYTES, Package, PackageTask, Tables, ToolUse
from hone.environments.synthesis.acceptance import Unacceptable, accept
from hone.environments.synthesis.author import Author, Described, NoAnswer, Words, WrittenChain, answered
from hone.environments.synthesis.patches import patched, wrong_tables
from hone.environments.synthesis.plan import Step, written
from hone.environments.synthesis.replay import reference
from hone.environments.synthesis.tasks import NoTask, difficulty
from hone.environments.synthesis.trail import Trail

_TRIES = 3
"""Tasks that are tried at most, for each that is wanted."""


@dataclass(frozen=True)
class Executed:
    """A chain that was executed: its first state, its steps, and the state after it."""

    initial: Tables
    steps: list[Step]
    truth: Tables

    @property
    def uses(self) -> list[ToolUse]:
        return [step.use for step in self.steps]

    @property
    def results(self) -> list[Any]:
        return [step.result for step in self.steps]


@dataclass(frozen=True)
class TaskDesk:
    """Where an author writes the tasks of a package whose tools passed their tests."""

    author: Author
    world: Described
    package: Package
    runner: Runner
    trail: Trail

    def tasks(self, seed: int, wanted: int) -> tuple[list[PackageTask], Counter[str]]:
        """Return accepted tasks, and how often tries were rejected for which reason. Raises ToolsLost.

        The author hears why its last task was rejected before it writes the next one.
        """
        accepted, rejected, reason = list[PackageTask](), Counter[str](), ""
        left = MOST_BYTES - sum(map(len, self.package.files.values()))
        for number in range(_TRIES * wanted):
            if len(accepted) == wanted:
                break
            self.trail.at("tasks", len(accepted), wanted)
            found = self._tried(number, random.Random(f"{seed}:{number}"), reason, accepted)
            reason = found if isinstance(found, str) else ""
            self.trail.tried(number, reason)
            if isinstance(found, str):
                rejected[found] += 1
                continue
            left -= len(found.model_dump_json()) + 1
            if left < 0:
                rejected[f"a package has at most {MOST_BYTES // 2**20} MiB"] += 1
                break
            accepted.append(found)
        self.trail.at("tasks", len(accepted), wanted)
        return accepted, rejected

    def _tried(
        self, number: int, source: random.Random, reason: str, known: Sequence[PackageTask],
    ) -> PackageTask | str:
        """Return the task of a number, or why there is none. Raises ToolsLost."""
        try:
            task = self._task(number, source, f"the task before was not accepted: {reason}" if reason else "")
        except (NoTask, NoAnswer, Unacceptable) as error:
            return str(error)
        return "another task asks the same" if any(task.instruction == one.instruction for one in known) else task

    def _task(self, number: int, source: random.Random, complaint: str) -> PackageTask:
        """Return the task of a number. Raises NoTask, NoAnswer, Unacceptable, ToolsLost."""
        found = self._chain(number, complaint)
        words = answered(
            self.trail, f"words of task {number}", Words,
            partial(self.author.instruction, self.world, found.initial, found.uses, found.results),
            lambda said: _wrong_words(found, said))
        task = PackageTask(
            id=f"{self.package.manifest.domain}-{number}", instruction=words.instruction, initial=found.initial,
            truth=found.truth, chain=found.uses, communicate=words.communicate, difficulty=difficulty(len(found.steps)))
        accept(self.runner, self.package, task, found.steps, source)
        return task

    def _chain(self, number: int, complaint: str) -> Executed:
        """Return a chain that the author wrote and that is executable. Raises NoAnswer, ToolsLost."""
        ran = list[Executed]()

        def wrong(found: WrittenChain) -> str:
            initial = patched(self.world.example, found.before)
            if why := wrong_tables(self.world.manifest, initial):
                return f"before: {why}"
            try:
                ran.append(executed(self.runner, self.package, initial, found.chain))
            except NoTask as error:
                return str(error)
            return ""

        answered(self.trail, f"chain of task {number}", WrittenChain, partial(self.author.chain, self.world, number),
                 wrong, complaint)
        return ran[-1]


def _wrong_words(found: Executed, words: Words) -> str:
    """Return the faults of a task's words: missing or betrayed facts; empty: none."""
    said = words.instruction.casefold()
    if any(phrase.casefold() in said for phrase in words.communicate):
        return "the instruction says what has to be found"
    keys = {key for tables in (found.initial, found.truth) for rows in tables.values() for key in rows}
    shown = said
    for place, step in enumerate(found.steps):
        for value in step.use.arguments.values():
            if isinstance(value, str) and value in keys and value.casefold() not in shown:
                return (f"call {place}, {step.use.tool}: {value} is in no result of an earlier call, and the "
                        "instruction does not say it")
        shown += json.dumps(step.result, ensure_ascii=False).casefold()
    shown_last = "".join(json.dumps(one, ensure_ascii=False) for one in found.results).casefold()
    missing = [phrase for phrase in words.communicate if phrase.casefold() not in shown_last]
    return f"communicate: {missing[0]!r} is in no result of the calls" if missing else ""


def executed(runner: Runner, package: Package, initial: Tables, uses: Sequence[ToolUse]) -> Executed:
    """Return a chain that is executed. Raises NoTask, ToolsLost.

    A step comes after those whose tool has an edge to its own, whose ids it uses, or that write a row that it writes.
    """
    linked = {(edge.source, edge.target) for edge in package.manifest.edges}
    steps, made, tables = list[Step](), dict[str, tuple[int, str]](), initial
    for number, given in enumerate(uses):
        use = ToolUse(tool=given.tool, arguments={
            name: _resolved(number, value, steps) for name, value in given.arguments.items()})
        result, after = _called(runner, package, tables, use, number)
        cells = written(tables, after)
        before = {place for place, step in enumerate(steps)
                  if (step.use.tool, use.tool) in linked or step.cells & cells}
        before |= {made[value][0] for value in use.arguments.values() if isinstance(value, str) and value in made}
        steps.append(Step(use, _relative(use, made), result, cells, frozenset(before), goal=True))
        made.update(_fresh(tables, cells, result, number))
        tables = after
    return Executed(initial, steps, tables)


def _called(
    runner: Runner, package: Package, tables: Tables, use: ToolUse, number: int,
) -> tuple[Any, Tables]:
    """Return the result of a call and the state after it. Raises NoTask, ToolsLost."""
    at = f"call {number}, {use.tool}"
    if use.tool not in {tool.name for tool in package.manifest.tools}:
        raise NoTask(f"the chain calls what cannot be called: {at}: no such tool")
    if why := package.wrong_arguments(use.tool, use.arguments):
        raise NoTask(f"the chain calls what cannot be called: {at}: {why}")
    [outcome] = called(runner, package, [PackageCall(tables, use.tool, use.arguments, number)])
    if outcome.failed is not None or outcome.rejected is not None:
        why = outcome.rejected or (outcome.failed or "").strip().rpartition("\n")[2]
        raise NoTask(f"the chain is not executable: {at}: {why}")
    if why := wrong_tables(package.manifest, outcome.tables):
        raise NoTask(f"the chain is not executable: {at} leaves another state than the tables allow: {why}")
    return outcome.result, outcome.tables


def _resolved(number: int, value: Any, steps: Sequence[Step]) -> Any:
    """Return an argument: what an earlier step's result has in a field, where it refers to one. Raises NoTask."""
    if not isinstance(value, dict) or set(value) != {"$step", "$field"}:
        return value
    step, name = value["$step"], value["$field"]
    if isinstance(step, int) and 0 <= step < len(steps):
        result = steps[step].result
        if isinstance(result, dict) and isinstance(name, str) and name in result:
            return result[name]
    raise NoTask(f"the chain is not executable: call {number} refers to {name!r} of step {step!r}, which no earlier "
                 "call gave")


def _relative(use: ToolUse, made: Mapping[str, tuple[int, str]]) -> ToolUse:
    return ToolUse(tool=use.tool, arguments={
        name: reference(*made[value]) if isinstance(value, str) and value in made else value
        for name, value in use.arguments.items()})


def _fresh(
    before: Tables, cells: frozenset[tuple[str, str]], result: object, number: int,
) -> dict[str, tuple[int, str]]:
    """Return the ids that a step made and tells in its result, with the step and the field."""
    keys = {key for table, key in cells if key not in before[table]}
    fields = result.items() if isinstance(result, dict) else ()
    return {value: (number, name) for name, value in fields if isinstance(value, str) and value in keys}
