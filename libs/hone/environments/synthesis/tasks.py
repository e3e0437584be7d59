"""Tasks of a domain: a first chain, rows that distract, further chains by the gate, and the words of the instruction.

After ScaleEnv, arXiv 2602.06820, phase 2. Goals come from seeds where the paper asks a model; the gate is its
deterministic stand-in, and feasibility g the share of 16 drawn calls that are accepted: both are reconstructions.
"""

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass

from hone.environments.packages.calling import PackageCall, Runner, called
from hone.environments.packages.package import Package, PackageTask, Tables
from hone.environments.synthesis.acceptance import Unacceptable, accept
from hone.environments.synthesis.domain import Blueprint
from hone.environments.synthesis.draft import Arguments, Draft, Scene
from hone.environments.synthesis.graph import (
    LEAST_COMPATIBILITY,
    LEAST_TOOLS,
    expand,
    gate,
    subgraph_complexity,
)
from hone.environments.synthesis.plan import Plan, Unplanned, touched
from hone.environments.synthesis.rows import distract, first_world

DRAWS = 16
"""Calls that are drawn to see whether the tools that are left can be used: the paper's best of 16."""
MOST_GOALS = 4
OPENINGS = (
    "You work at the front desk. {all}", "Here is what has to be done today. {all}",
    "A colleague left you these requests. {all}", "Please take care of the following. {all}")
JOINTS = (("First, ", "Then "), ("To begin with, ", "After that, "), ("", "Next, "), ("", "Also, when that is done, "))


class NoTask(Exception):
    """A seed yields no task. Holds the reason, in words that are counted."""


@dataclass(frozen=True)
class TaskWriter:
    """Makes tasks with the tools of a package that passed their tests."""

    domain: Blueprint
    package: Package
    runner: Runner

    def task(self, seed: int, place: int, goals: int) -> PackageTask:
        """Return the task of a seed, with up to so many goals; the first goes by `place`. Raises NoTask, ToolsLost."""
        source = random.Random(f"{self.domain.theme.domain}:{seed}")
        world = first_world(self.domain.theme, self.package.manifest.tables, source)
        person = source.choice(list(world.tables[self.domain.theme.persons]))
        try:
            draft, arguments = self._first(Scene(world.tables, source, person), place)
            seed_chain = self._plan(world.tables, source)
            seed_chain.extend(draft, arguments)
            distract(world, touched(seed_chain), 3 + 2 * len(seed_chain.steps))
            plan = self._plan(world.tables, source)
            plan.extend(draft, arguments)
            self._grow(plan, person, goals)
            return self._accepted(plan, world.tables, f"{self.domain.theme.domain}-{place}")
        except (Unplanned, Unacceptable) as error:
            raise NoTask(str(error)) from error

    def _plan(self, tables: Tables, source: random.Random) -> Plan:
        return Plan(self.domain, self.package, self.runner, tables, source)

    @property
    def _goals(self) -> list[Draft]:
        kept = {tool.name for tool in self.package.manifest.tools}
        return [draft for name, draft in self.domain.drafts.items() if name in kept and draft.phrase is not None]

    def _first(self, scene: Scene, first: int) -> tuple[Draft, Arguments]:
        """Return the first goal: places go round the tools, so that each has its tasks."""
        goals = self._goals
        for place in range(len(goals)):
            draft = goals[(first + place) % len(goals)]
            arguments = draft.propose(scene)
            if arguments is not None:
                return draft, arguments
        raise Unplanned("no tool can be used")

    def _grow(self, plan: Plan, person: str, goals: int) -> None:
        """Add further chains as long as the gate lets them, up to `goals` goals."""
        while len(plan.asked) < goals:
            used = {step.use.tool for step in plan.steps}
            drawn = self._drawn(plan, person, [draft for draft in self._goals if draft.spec.name not in used])
            complexity = subgraph_complexity(self.package.manifest.edges, used)
            if not drawn or gate(complexity, len(drawn) / DRAWS) < LEAST_COMPATIBILITY:
                return
            plan.extend(*plan.source.choice(drawn))

    def _drawn(self, plan: Plan, person: str, left: Sequence[Draft]) -> list[tuple[Draft, Arguments]]:
        """Return those of 16 drawn calls of the tools that are left which the tools accept."""
        if not left:
            return []
        scene = Scene(plan.tables, plan.source, person)
        drafts = [plan.source.choice(left) for _ in range(DRAWS)]
        proposed = [(draft, given) for draft in drafts if (given := draft.propose(scene)) is not None]
        found = called(self.runner, self.package, [
            PackageCall(plan.tables, draft.spec.name, given, len(plan.steps)) for draft, given in proposed])
        return [use for use, outcome in zip(proposed, found, strict=True)
                if outcome.failed is None and outcome.rejected is None]

    def _accepted(self, plan: Plan, initial: Tables, name: str) -> PackageTask:
        tools, chain = self.package.manifest.tools, [step.use for step in plan.steps]
        offered = expand(tools, [use.tool for use in chain], max(LEAST_TOOLS, len({use.tool for use in chain})))
        task = PackageTask(
            id=name, instruction=_instruction(plan), initial=copy.deepcopy(initial), truth=plan.tables, chain=chain,
            communicate=plan.communicate, tools=sorted(offered) if len(offered) < len(tools) else [],
            difficulty=difficulty(len(chain)))
        accept(self.runner, self.package, task, plan.steps, plan.source)
        return task


def difficulty(calls: int) -> int:
    """Return the band of a chain's length: 1 up to three calls, 2 up to six, 3 up to ten, 4 above."""
    return 1 + sum(calls > most for most in (3, 6, 10))


def _instruction(plan: Plan) -> str:
    first, further = plan.source.choice(JOINTS)
    said = [_sentence((first if place == 0 and len(plan.asked) > 1 else further if place else "") + asked)
            for place, asked in enumerate(plan.asked)]
    return plan.source.choice(OPENINGS).replace("{all}", " ".join(said))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
