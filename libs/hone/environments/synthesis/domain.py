"""A domain: its tables and the drafts of its tools, with the cases that the procedural tester runs."""

import copy
import random
from dataclasses import dataclass
from functools import cached_property

from hone.environments.packages.package import Manifest, Tables, ToolTest
from hone.environments.synthesis import schema
from hone.environments.synthesis.cell_tools import CELL_TOOLS
from hone.environments.synthesis.draft import Draft, Scene
from hone.environments.synthesis.graph import edges
from hone.environments.synthesis.lookups import LOOKUPS
from hone.environments.synthesis.money_tools import MONEY_TOOLS
from hone.environments.synthesis.record_tools import RECORD_TOOLS
from hone.environments.synthesis.rows import first_world
from hone.environments.synthesis.stock_tools import STOCK_TOOLS
from hone.environments.synthesis.theme import Theme

ARCHETYPES = {**LOOKUPS, **RECORD_TOOLS, **MONEY_TOOLS, **CELL_TOOLS, **STOCK_TOOLS}
"""Kinds of tools by name. Adding one is a function in a file beside this, and a line in that file's dict."""
_WORLDS, _SUCCESSES = 40, 2


@dataclass(frozen=True)
class Blueprint:
    """A theme with everything that follows from it."""

    theme: Theme

    @cached_property
    def drafts(self) -> dict[str, Draft]:
        """The drafts of the tools, by the tool's name."""
        made = [make(self.theme) for name, make in ARCHETYPES.items() if name in self.theme.tools]
        return {draft.spec.name: draft for draft in made}

    @cached_property
    def manifest(self) -> Manifest:
        """The description of the package."""
        tools = [draft.spec for draft in self.drafts.values()]
        return Manifest(
            domain=self.theme.domain, summary=self.theme.summary, policy=self._policy, tables=schema.tables(self.theme),
            tools=tools, edges=edges(tools, {name: draft.conditions for name, draft in self.drafts.items()}))

    @property
    def _policy(self) -> str:
        noun = self.theme.record.replace("_", " ")
        return (f"{self.theme.summary} Ids are found by tools; never guess one. Change only what is asked for. "
                f"Keep the order in which things are asked for. A {noun} that is to be changed has to be found first.")

    def cases(self, source: random.Random) -> list[ToolTest]:
        """Return cases of every tool: calls that it has to accept, and one for each declared rejection."""
        return [case for draft in self.drafts.values() for case in self._of(draft, source)]

    def _of(self, draft: Draft, source: random.Random) -> list[ToolTest]:
        accepted = list[ToolTest]()
        for _ in range(_WORLDS):
            world = first_world(self.theme, self.manifest.tables, source)
            person = source.choice(list(world.tables[self.theme.persons]))
            arguments = draft.propose(Scene(world.tables, source, person))
            if arguments is not None:
                accepted.append(ToolTest(tool=draft.spec.name, tables=world.tables, arguments=arguments,
                                         expected=_expected(draft, world.tables, arguments)))
            if len(accepted) == _SUCCESSES:
                break
        refused = [_refused(draft, case, number) for case in accepted[:1] for number in range(len(draft.guards))]
        return [*accepted, *refused]


def _expected(draft: Draft, tables: Tables, arguments: dict[str, object]) -> Tables:
    after = copy.deepcopy(tables)
    draft.effect(after, arguments)
    return after


def _refused(draft: Draft, case: ToolTest, number: int) -> ToolTest:
    """Return an accepted case, changed so that a guard refuses it."""
    tables = copy.deepcopy(case.tables)
    arguments = draft.guards[number].broken(tables, dict(case.arguments))
    return ToolTest(tool=case.tool, tables=tables, arguments=arguments, expected=None)
