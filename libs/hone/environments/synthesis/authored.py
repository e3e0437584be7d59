"""Making a package that an author writes: the same proofs as for the seeded generator, and the same report.

The author's code runs in the runner that is given, which is the sandbox. Rows that distract are the author's affair.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hone.environments.packages.calling import PackageCall, Runner, called
from hone.environments.packages.package import Manifest, Package, PackageTask, Tables, ToolSpec, ToolTest, ToolUse
from hone.environments.synthesis.acceptance import Unacceptable, accept
from hone.environments.synthesis.author import (
    Author,
    Cases,
    NoAnswer,
    Source,
    Words,
    WrittenChain,
    answered,
    written_manifest,
    wrong_source,
)
from hone.environments.synthesis.graph import edges
from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.plan import Step, written
from hone.environments.synthesis.replay import reference
from hone.environments.synthesis.report import Made, kept_manifest, making_report
from hone.environments.synthesis.tasks import NoTask, difficulty
from hone.environments.synthesis.tester import Finding, proven, source_text

_TRIES = 3


@dataclass(frozen=True)
class _AuthorRepairs:
    """The author as the one who mends tools."""

    author: Author

    def repaired(self, tool: ToolSpec, source: str, findings: Sequence[Finding]) -> str | None:
        try:
            mended = answered(Source, lambda _: self.author.repair(tool, source, findings)).source
        except NoAnswer:
            return None
        return mended if mended.strip() and not wrong_source(tool.name, mended) else None


def authored_package(hint: str, author: Author, runner: Runner, seed: int = 0, tasks: int = 16) -> Made:
    """Return the package that an author makes of a hint. Raises NoWorld, ToolsLost."""
    manifest = written_manifest(author, hint)
    sources, cases, silent = _written_tools(author, manifest)
    tools = proven(runner, manifest, sources, cases, _AuthorRepairs(author))
    tools.dropped.update(silent)
    linked = manifest.model_copy(update={"edges": edges(manifest.tools)})
    kept = kept_manifest(linked, tools)
    base = Package(kept, source_text({tool.name: tools.sources[tool.name] for tool in kept.tools}), (),
                   [case for case in cases if case.tool in {tool.name for tool in kept.tools}])
    accepted, rejected = _authored_tasks(author, base, runner, seed, tasks)
    if not accepted:
        raise NoWorld("no task was accepted", [f"{count} times: {why}" for why, count in rejected.most_common()])
    package = Package(kept, base.source, accepted, base.tests)
    return Made(package, making_report(hint, seed, tasks, len(manifest.tools), tools, package, rejected, runner))


def _written_tools(author: Author, manifest: Manifest) -> tuple[dict[str, str], list[ToolTest], dict[str, str]]:
    """Return sources by tool, cases, and why tools have none."""
    sources, cases, silent = dict[str, str](), list[ToolTest](), dict[str, str]()
    for tool in manifest.tools:
        try:
            source, own = _written_tool(author, manifest, tool)
        except NoAnswer as error:
            silent[tool.name] = f"its author gave no answer that could be read: {error}"
        else:
            sources[tool.name] = source.source
            cases += own.cases
    return sources, cases, silent


def _written_tool(author: Author, manifest: Manifest, tool: ToolSpec) -> tuple[Source, Cases]:
    return (answered(Source, lambda complaint: author.source(manifest, tool, complaint),
                     lambda found: wrong_source(tool.name, found.source)),
            answered(Cases, lambda complaint: author.cases(manifest, tool, complaint),
                     lambda found: _wrong_cases(manifest, tool, found)))


def _wrong_cases(manifest: Manifest, tool: ToolSpec, found: Cases) -> str:
    for case in found.cases:
        if case.tool != tool.name:
            return f"cases: expected cases of {tool.name}, found one of {case.tool}"
        for tables in (case.tables, case.expected):
            if tables is not None and (why := wrong_tables(manifest, tables)):
                return f"cases: {why}"
    return ""


def wrong_tables(manifest: Manifest, tables: Tables) -> str:
    """Return what is wrong with a state; empty: nothing."""
    if set(tables) != {spec.name for spec in manifest.tables}:
        return f"expected the tables {', '.join(spec.name for spec in manifest.tables)}, found {', '.join(tables)}"
    for spec in manifest.tables:
        columns = {column.name for column in spec.columns}
        for key, row in tables[spec.name].items():
            if set(row) != columns:
                return f"{spec.name}.{key}: expected the columns {', '.join(sorted(columns))}, found {', '.join(row)}"
            if row[spec.key] != key:
                return f"{spec.name}.{key}: expected {spec.key} to be the row's key, found {row[spec.key]!r}"
    return ""


def _authored_tasks(
    author: Author, package: Package, runner: Runner, seed: int, wanted: int,
) -> tuple[list[PackageTask], Counter[str]]:
    accepted, rejected = list[PackageTask](), Counter[str]()
    for number in range(_TRIES * wanted):
        if len(accepted) == wanted:
            break
        try:
            task = _authored_task(author, package, runner, number, random.Random(f"{seed}:{number}"))
        except (NoTask, NoAnswer, Unacceptable) as error:
            rejected[str(error)] += 1
            continue
        if any(task.instruction == other.instruction for other in accepted):
            rejected["another task asks the same"] += 1
        else:
            accepted.append(task)
    return accepted, rejected


def _authored_task(
    author: Author, package: Package, runner: Runner, number: int, source: random.Random,
) -> PackageTask:
    """Return the task of a number. Raises NoTask, NoAnswer, Unacceptable, ToolsLost."""
    manifest = package.manifest
    drawn = answered(WrittenChain, lambda complaint: author.chain(manifest, number, complaint),
                     lambda found: wrong_tables(manifest, found.tables))
    steps, truth = executed(runner, package, drawn.tables, drawn.chain)
    words = answered(Words, lambda _: author.instruction(
        manifest, drawn.tables, drawn.chain, [step.result for step in steps]))
    task = PackageTask(
        id=f"{manifest.domain}-{number}", instruction=words.instruction, initial=drawn.tables, truth=truth,
        chain=drawn.chain, communicate=words.communicate, difficulty=difficulty(len(steps)))
    accept(runner, package, task, steps, source)
    return task


def executed(runner: Runner, package: Package, tables: Tables, uses: Sequence[ToolUse]) -> tuple[list[Step], Tables]:
    """Return the steps of a chain that is executed, and the state after it. Raises NoTask, ToolsLost.

    A step comes after those whose tool has an edge to its own, whose ids it uses, or that write a row that it writes.
    """
    linked = {(edge.source, edge.target) for edge in package.manifest.edges}
    steps, made = list[Step](), dict[str, tuple[int, str]]()
    known = {tool.name for tool in package.manifest.tools}
    for number, use in enumerate(uses):
        if use.tool not in known or package.wrong_arguments(use.tool, use.arguments):
            raise NoTask("the chain calls what cannot be called")
        [outcome] = called(runner, package, [PackageCall(tables, use.tool, use.arguments, number)])
        if outcome.failed is not None or outcome.rejected is not None:
            raise NoTask("the chain is not executable")
        cells = written(tables, outcome.tables)
        after = {place for place, step in enumerate(steps)
                 if (step.use.tool, use.tool) in linked or step.cells & cells}
        after |= {made[value][0] for value in use.arguments.values() if isinstance(value, str) and value in made}
        steps.append(Step(use, _relative(use, made), outcome.result, cells, frozenset(after), goal=True))
        made.update(_fresh(tables, cells, outcome.result, number))
        tables = outcome.tables
    return steps, tables


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
