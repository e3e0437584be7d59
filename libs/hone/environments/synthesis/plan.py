"""A chain of calls that grows on a state: each goal with the look-ups that find its ids, executed as it is added."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hone.environments.packages.calling import PackageCall, Runner, called
from hone.environments.packages.package import Package, Tables, ToolUse
from hone.environments.synthesis import naming
from hone.environments.synthesis.domain import Blueprint
from hone.environments.synthesis.draft import Arguments, Draft
from hone.environments.synthesis.replay import reference


class Unplanned(Exception):
    """A goal cannot be added to a chain. Holds the reason, in words."""


@dataclass(frozen=True)
class Step:
    """One call. `cells`: rows that it wrote, as (table, key). `after`: steps that have to come before it."""

    use: ToolUse
    relative: ToolUse  # the same call, with generated ids as references to the steps that make them
    result: Any
    cells: frozenset[tuple[str, str]]
    after: frozenset[int]
    goal: bool


@dataclass
class Plan:
    """A chain, the state that it has led to, and what is asked for."""

    domain: Blueprint
    package: Package
    runner: Runner
    tables: Tables
    source: random.Random
    steps: list[Step] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # what the task asks for, in words
    communicate: list[str] = field(default_factory=list)
    _found: dict[tuple[str, str], int] = field(default_factory=dict)  # fact and key -> step whose result tells it
    _made: dict[str, tuple[int, str]] = field(default_factory=dict)  # generated id -> step and field of its result

    def extend(self, draft: Draft, arguments: Arguments) -> None:
        """Add a goal and the look-ups that it needs, and execute them. Raises Unplanned, ToolsLost."""
        self._nameable(draft, arguments)
        uses = self._resolved(draft, arguments)
        first = len(self.steps)
        outcomes = called(self.runner, self.package, [
            PackageCall(self.tables, one.spec.name, given, first + place) for place, (one, given) in enumerate(uses)])
        for (one, _), outcome in zip(uses, outcomes, strict=True):
            if outcome.failed is not None or outcome.rejected is not None:
                raise Unplanned(f"{one.spec.name} is not executable: {outcome.failed or outcome.rejected}")
        self._unseen(uses, [outcome.result for outcome in outcomes], draft, arguments)
        self._asked_for(draft, arguments)
        for place, ((one, given), outcome) in enumerate(zip(uses, outcomes, strict=True)):
            self._append(one, given, outcome.result, outcome.tables, place == len(uses) - 1)

    def _nameable(self, draft: Draft, arguments: Arguments) -> None:
        for parameter, fact in draft.facts.items():
            if not naming.unique(self.domain.theme, self.tables, fact, arguments[parameter]):
                raise Unplanned(f"two rows of {naming.table_of(self.domain.theme, fact)} are called the same")

    def _resolved(self, draft: Draft, arguments: Arguments) -> list[tuple[Draft, Arguments]]:
        """Return the look-ups that find the ids of a call and are not in the chain, then the call."""
        uses = list[tuple[Draft, Arguments]]()
        sought = {(fact, key) for fact, key in self._found}

        def seek(one: Draft, given: Arguments) -> None:
            for parameter, fact in sorted(one.facts.items()):
                if (fact, given[parameter]) not in sought and given[parameter] not in self._made:
                    finder = self._finder(fact)
                    assert finder.locate is not None
                    found = finder.locate(self.tables, given[parameter])
                    seek(finder, found)
                    sought.add((fact, given[parameter]))
                    if (finder, found) not in uses:
                        uses.append((finder, found))
        seek(draft, arguments)
        return [*uses, (draft, arguments)]

    def _finder(self, fact: str) -> Draft:
        finder = next((draft for draft in self.domain.drafts.values() if draft.finds == fact), None)
        if finder is None or finder.spec.name not in {tool.name for tool in self.package.manifest.tools}:
            raise Unplanned(f"no tool finds {fact}")
        return finder

    def _unseen(
        self, uses: list[tuple[Draft, Arguments]], results: list[Any], draft: Draft, arguments: Arguments,
    ) -> None:
        """Raise Unplanned for an id that no result shows."""
        shown = [json.dumps(result) for result in [*(step.result for step in self.steps), *results[:-1]]]
        for key in (arguments[parameter] for parameter in draft.facts):
            if not any(f'"{key}"' in text for text in shown):
                raise Unplanned("no result shows an id that is needed")

    def _asked_for(self, draft: Draft, arguments: Arguments) -> None:
        assert draft.phrase is not None
        self.asked.append(self.source.choice(list(draft.phrase(self.tables, arguments))))
        if draft.asked is not None:
            self.communicate.append(draft.asked(self.tables, arguments))

    def _append(self, draft: Draft, given: Arguments, result: Any, tables: Tables, goal: bool) -> None:
        number, cells = len(self.steps), written(self.tables, tables)
        relative = {name: reference(*self._made[value]) if isinstance(value, str) and value in self._made else value
                    for name, value in given.items()}
        self.steps.append(Step(
            ToolUse(tool=draft.spec.name, arguments=given), ToolUse(tool=draft.spec.name, arguments=relative), result,
            cells, self._before(draft, given, cells, goal), goal))
        if draft.finds:
            self._found.update({(draft.finds, key): number for key in _keys(result, draft.finds)})
        if goal and isinstance(result, dict):
            fresh = {key for table, key in cells if key not in self.tables[table]}
            self._made.update({value: (number, name) for name, value in result.items()
                               if isinstance(value, str) and value in fresh})
        self.tables = tables

    def _before(self, draft: Draft, given: Arguments, cells: frozenset[tuple[str, str]], goal: bool) -> frozenset[int]:
        """Return the steps that a step depends on: by data, by rows that both write, by conditions."""
        before = {self._found[(fact, given[name])] for name, fact in draft.facts.items()
                  if (fact, given[name]) in self._found}
        before |= {self._made[value][0] for value in given.values() if isinstance(value, str) and value in self._made}
        if goal:
            needed = set(draft.conditions.before)
            before |= {number for number, step in enumerate(self.steps) if step.goal and (
                step.cells & cells or needed & set(self.domain.drafts[step.use.tool].conditions.after))}
        return frozenset(before)


def _keys(result: Any, fact: str) -> list[str]:
    return [row[fact] for row in result if fact in row] if isinstance(result, list) else []


def written(before: Tables, after: Tables) -> frozenset[tuple[str, str]]:
    """Return the rows that differ, as (table, key)."""
    return frozenset((table, key) for table in after for key in {*before[table], *after[table]}
                     if before[table].get(key) != after[table].get(key))


def touched(plan: Plan) -> Mapping[str, set[str]]:
    """Return the rows that a chain names or writes, by table."""
    found: dict[str, set[str]] = {}
    for step in plan.steps:
        for name, fact in plan.domain.drafts[step.use.tool].facts.items():
            found.setdefault(naming.table_of(plan.domain.theme, fact), set()).add(step.use.arguments[name])
        for table, key in step.cells:
            found.setdefault(table, set()).add(key)
    return found
