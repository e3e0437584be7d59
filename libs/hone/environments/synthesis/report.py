"""Result of the making of a package: the package, and the report of what was tried, kept and dropped."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hone.environments.packages.calling import Runner
from hone.environments.packages.package import Manifest, Package
from hone.environments.packages.reading import read
from hone.environments.packages.state_check import mismatches
from hone.environments.synthesis.graph import dead_ends, spoken
from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.replay import chain, replayed
from hone.environments.synthesis.tester import Proven


@dataclass(frozen=True)
class MakingReport:
    """Report of the tries for a package, of the kept parts, and of the reasons for dropping the rest."""

    hint: str
    domain: str
    seed: int
    tools_tried: int
    tools_kept: int
    tools_dropped: dict[str, str]  # name -> reason
    cases: int  # that the kept tools passed
    tables: int
    edges: dict[str, int]  # by kind
    dead_ends: int  # tools that no order of calls reaches
    tasks_wanted: int
    tasks_tried: int
    tasks_accepted: int
    tasks_rejected: dict[str, int]  # reason -> how many
    difficulties: dict[int, int]
    solvable: float  # share of the accepted tasks whose chain scores 1 in the package as it is stored

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Made:
    """A package with the report of its making."""

    package: Package
    report: MakingReport


def kept_manifest(manifest: Manifest, tools: Proven) -> Manifest:
    """Return the description without tools that were dropped or that nothing reaches any more. Raises NoWorld."""
    left = [tool for tool in manifest.tools if tool.name in tools.sources]
    known = spoken(manifest)
    while lost := dead_ends(left, known):
        tools.dropped.update(dict.fromkeys(lost, "no tool gives what it needs"))
        left = [tool for tool in left if tool.name not in lost]
    if not left:
        raise NoWorld("no tool passed its tests", [f"{name}: {why}" for name, why in tools.dropped.items()])
    names = {tool.name for tool in left}
    return manifest.model_copy(update={"tools": left, "edges": [
        edge for edge in manifest.edges if {edge.source, edge.target} <= names]})


def making_report(
    hint: str, seed: int, wanted: int, tools_tried: int, tools: Proven, package: Package, rejected: Counter[str],
    runner: Runner,
) -> MakingReport:
    """Return the report of a package's making. Raises ToolsLost."""
    manifest = package.manifest
    return MakingReport(
        hint, manifest.domain, seed, tools_tried, len(manifest.tools), tools.dropped,
        len(package.tests), len(manifest.tables), dict(Counter(edge.kind for edge in manifest.edges)),
        len(dead_ends(manifest.tools, spoken(manifest))), wanted, len(package.tasks) + rejected.total(),
        len(package.tasks), dict(rejected),
        dict(sorted(Counter(task.difficulty for task in package.tasks).items())),
        solvable_share(runner, read(package.files)))


def solvable_share(runner: Runner, package: Package) -> float:
    """Return the share of a package's tasks whose chain leads to the truth. Raises ToolsLost."""
    ran = [replayed(runner, package, [chain(task.initial, task.chain)])[0] for task in package.tasks]
    return _share([one.failed is None and not one.refused and not mismatches(package.manifest, one.tables, task.truth)
                   for one, task in zip(ran, package.tasks, strict=True)])


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else 0.0
