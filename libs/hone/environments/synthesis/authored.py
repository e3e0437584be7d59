"""Making a package that an author writes: the same proofs as for the seeded generator, and the same report.

The author's code runs in the runner that is given, which is the sandbox. Rows that distract are the author's affair.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from hone.environments.packages.calling import Runner
from hone.environments.packages.package import Manifest, Package, ToolSpec, ToolTest
from hone.environments.synthesis.author import (
    ANSWERS,
    MOST_CASES,
    Author,
    Cases,
    Described,
    Example,
    MendedTool,
    NoAnswer,
    Source,
    WrittenCase,
    answered,
)
from hone.environments.synthesis.authored_tasks import TaskDesk
from hone.environments.synthesis.description import wrong_manifest, wrong_source
from hone.environments.synthesis.graph import edges
from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.patches import patched, wrong_tables
from hone.environments.synthesis.report import Made, kept_manifest, making_report
from hone.environments.synthesis.tester import Finding, Mended, Proven, prove, source_text
from hone.environments.synthesis.trail import ToolTrail, Trail


@dataclass(frozen=True)
class AuthoredPackage:
    """A package in the making. `name` says who writes it, and stands in the package."""

    author: Author
    runner: Runner
    name: str = "an author"
    trail: Trail = field(default_factory=Trail)

    def made(self, hint: str, seed: int = 0, tasks: int = 16) -> Made:
        """Return the package that the author makes of a hint. Raises NoWorld, ToolsLost."""
        world = self._world(hint)
        tools = self._proven(world)
        self.trail.at("graph", 0, 1)
        described = world.manifest.model_copy(update={
            "edges": edges(world.manifest.tools), "made_by": f"{self.name}, hint {hint[:200]!r}, seed {seed}"})
        kept = self._kept(described, tools)
        base = Package(kept, source_text({tool.name: tools.sources[tool.name] for tool in kept.tools}), (),
                       [case for tool in kept.tools for case in tools.cases[tool.name]])
        desk = TaskDesk(self.author, Described(kept, world.example), base, self.runner, self.trail)
        accepted, rejected = desk.tasks(seed, tasks)
        if not accepted:
            raise NoWorld("no task was accepted", [f"{count} times: {why}" for why, count in rejected.most_common()])
        package = Package(kept, base.source, accepted, base.tests)
        return Made(package, making_report(
            hint, seed, tasks, len(world.manifest.tools), tools, package, rejected, self.runner))

    def _world(self, hint: str) -> Described:
        """Return the description of the domain that the author makes of a hint. Raises NoWorld."""
        try:
            self.trail.at("schema", 0, 1)
            manifest = answered(self.trail, "schema", Manifest, partial(self.author.schema, hint), wrong_manifest)
            self.trail.at("data", 0, 1)
            example = answered(self.trail, "data", Example, partial(self.author.data, manifest),
                               lambda found: wrong_tables(manifest, found.tables))
        except NoAnswer as error:
            raise NoWorld(f"no {self.trail.phase} could be read", error.complaints) from error
        return Described(manifest, example.tables)

    def _proven(self, world: Described) -> Proven:
        """Return the tools that passed their tests. Raises ToolsLost."""
        found, sources = Proven(), dict[str, str]()
        count = len(world.manifest.tools)
        for place, tool in enumerate(world.manifest.tools):
            self.trail.at("tools", place, count)
            self.trail.tools[tool.name] = ToolTrail()
            try:
                sources[tool.name] = self._source(world, tool)
            except NoAnswer as error:
                found.dropped[tool.name] = _silent(error)
        for place, tool in enumerate(world.manifest.tools):
            self.trail.at("tests", place, count)
            if tool.name in sources:
                self._prove(world, tool, sources[tool.name], found)
            self._note(tool.name, found)
        return found

    def _source(self, world: Described, tool: ToolSpec) -> str:
        return answered(
            self.trail, f"source of {tool.name}", Source, partial(self.author.source, world, tool),
            lambda found: wrong_source(tool.name, found.source)).source

    def _prove(self, world: Described, tool: ToolSpec, source: str, into: Proven) -> None:
        try:
            cases = answered(self.trail, f"cases of {tool.name}", Cases, partial(self.author.cases, world, tool),
                             lambda found: _wrong_cases(world, tool, found.cases)).cases
        except NoAnswer as error:
            into.dropped[tool.name] = _silent(error)
            return
        written = Mended(source, [_whole(world, tool, case) for case in cases])
        prove(self.runner, world.manifest, tool, written, _Repairs(self.author, world, self.trail), into)

    def _note(self, tool: str, found: Proven) -> None:
        rounds = found.rounds.get(tool, [])
        self.trail.tools[tool] = ToolTrail(tool in found.sources, found.dropped.get(tool, ""), len(rounds), rounds)

    def _kept(self, manifest: Manifest, tools: Proven) -> Manifest:
        """Return the description without tools that were dropped or that nothing reaches. Raises NoWorld."""
        try:
            return kept_manifest(manifest, tools)
        finally:
            for tool in manifest.tools:
                if tool.name in tools.dropped:
                    one = self.trail.tools[tool.name]
                    self.trail.tools[tool.name] = ToolTrail(False, tools.dropped[tool.name], one.rounds, one.findings)


@dataclass(frozen=True)
class _Repairs:
    """The author as the one who mends tools."""

    author: Author
    world: Described
    trail: Trail

    def repaired(
        self, tool: ToolSpec, source: str, cases: Sequence[ToolTest], findings: Sequence[Finding],
    ) -> Mended | None:
        try:
            found = answered(
                self.trail, f"repair of {tool.name}", MendedTool,
                partial(self.author.repair, self.world, tool, source, findings),
                lambda one: self._wrong(tool, one, len(cases)))
        except NoAnswer:
            return None
        if not found.source.strip():
            return None
        return Mended(found.source, cases if found.cases is None else [
            _whole(self.world, tool, case) for case in found.cases])

    def _wrong(self, tool: ToolSpec, found: MendedTool, least: int) -> str:
        if not found.source.strip():
            return ""
        if why := wrong_source(tool.name, found.source):
            return why
        if found.cases is None:
            return ""
        if len(found.cases) < least:
            return f"cases: expected all of them, {least} or more, found {len(found.cases)}"
        return _wrong_cases(self.world, tool, found.cases)


def _whole(world: Described, tool: ToolSpec, case: WrittenCase) -> ToolTest:
    before = patched(world.example, case.before)
    return ToolTest(tool=tool.name, tables=before, arguments=case.arguments,
                    expected=None if case.after is None else patched(before, case.after))


def _wrong_cases(world: Described, tool: ToolSpec, cases: Sequence[WrittenCase]) -> str:
    if all(case.after is None for case in cases):
        return "cases: expected one at least that the tool accepts, which has `after`"
    refused = sum(case.after is None for case in cases)
    if refused < min(len(tool.rejects), MOST_CASES - 1):
        return f"cases: expected a rejected one for each of {'; '.join(tool.rejects)}, found {refused} without `after`"
    for place, case in enumerate(cases):
        whole = _whole(world, tool, case)
        for tables in (whole.tables, whole.expected):
            if tables is not None and (why := wrong_tables(world.manifest, tables)):
                return f"cases.{place}: {why}"
    return ""


def _silent(error: NoAnswer) -> str:
    return f"its author gave no answer that could be used, {ANSWERS} times: {error}"
