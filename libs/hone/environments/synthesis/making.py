"""Making a package from a hint and a seed, without a model: tools that passed their tests, tasks that were proven."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hone.environments.hashing import mixed_seed
from hone.environments.packages.calling import Runner
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import Manifest, Package, PackageTask, read
from hone.environments.packages.state_check import mismatches
from hone.environments.synthesis.domain import Blueprint
from hone.environments.synthesis.graph import dead_ends
from hone.environments.synthesis.hints import NoWorld, theme_of
from hone.environments.synthesis.replay import chain, replayed
from hone.environments.synthesis.tasks import MOST_GOALS, NoTask, TaskWriter
from hone.environments.synthesis.tester import Proven, proven, source_text

GENERATOR = "hone seeded generator 1"
_TRIES = 3
"""Tasks that are tried at most, for each that is wanted."""


@dataclass(frozen=True)
class MakingReport:
    """What was tried for a package, what was kept, and why the rest was not."""

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


def make_package(hint: str, seed: int = 0, tasks: int = 64, runner: Runner | None = None) -> Made:
    """Return the package of a hint: equal hints and seeds give equal digests. Raises NoWorld, ToolsLost.

    Its code is our own, so it runs in this process if no `runner` is given. A package may have fewer tasks than wanted:
    the report says how many were tried, and why they were rejected.
    """
    domain, runs = Blueprint(theme_of(hint)), runner or LocalRunner()
    cases = domain.cases(random.Random(f"{domain.theme.domain}:{seed}:cases"))
    tools = proven(runs, domain.manifest, {name: draft.source for name, draft in domain.drafts.items()}, cases)
    kept = _kept(domain, tools)
    base = Package(kept.model_copy(update={"made_by": f"{GENERATOR}, hint {hint[:200]!r}, seed {seed}"}),
                   source_text({tool.name: tools.sources[tool.name] for tool in kept.tools}), (),
                   [case for case in cases if case.tool in {tool.name for tool in kept.tools}])
    accepted, rejected = _tasks(TaskWriter(domain, base, runs), seed, tasks)
    if not accepted:
        raise NoWorld("no task was accepted", [f"{count} times: {why}" for why, count in rejected.most_common()])
    package = Package(base.manifest, base.source, accepted, base.tests)
    return Made(package, _report(hint, seed, tasks, domain, tools, package, rejected, runs))


def _kept(domain: Blueprint, tools: Proven) -> Manifest:
    """Return the description without tools that were dropped or that nothing reaches any more. Raises NoWorld."""
    left = [tool for tool in domain.manifest.tools if tool.name in tools.sources]
    while lost := dead_ends(left):
        tools.dropped.update(dict.fromkeys(lost, "no tool gives what it needs"))
        left = [tool for tool in left if tool.name not in lost]
    if not left:
        raise NoWorld("no tool passed its tests", [f"{name}: {why}" for name, why in tools.dropped.items()])
    names = {tool.name for tool in left}
    return domain.manifest.model_copy(update={"tools": left, "edges": [
        edge for edge in domain.manifest.edges if {edge.source, edge.target} <= names]})


def _tasks(maker: TaskWriter, seed: int, wanted: int) -> tuple[list[PackageTask], Counter[str]]:
    """Return accepted tasks, and how often tries were rejected for which reason."""
    accepted, rejected = list[PackageTask](), Counter[str]()
    for place in range(_TRIES * wanted):
        if len(accepted) == wanted:
            break
        try:
            task = maker.task(mixed_seed(seed, place), place, 1 + place % MOST_GOALS)
        except NoTask as error:
            rejected[str(error)] += 1
            continue
        if any(task.instruction == other.instruction for other in accepted):
            rejected["another task asks the same"] += 1
        else:
            accepted.append(task)
    return accepted, rejected


def _report(
    hint: str, seed: int, wanted: int, domain: Blueprint, tools: Proven, package: Package, rejected: Counter[str],
    runner: Runner,
) -> MakingReport:
    manifest = package.manifest
    return MakingReport(
        hint, manifest.domain, seed, len(domain.manifest.tools), len(manifest.tools), tools.dropped,
        len(package.tests), len(manifest.tables), dict(Counter(edge.kind for edge in manifest.edges)),
        len(dead_ends(manifest.tools)), wanted, len(package.tasks) + rejected.total(), len(package.tasks),
        dict(rejected), dict(sorted(Counter(task.difficulty for task in package.tasks).items())),
        solvable_share(runner, read(package.files)))


def solvable_share(runner: Runner, package: Package) -> float:
    """Return the share of a package's tasks whose chain leads to the truth. Raises ToolsLost."""
    ran = [replayed(runner, package, [chain(task.initial, task.chain)])[0] for task in package.tasks]
    return _share([one.failed is None and not one.refused and not mismatches(package.manifest, one.tables, task.truth)
                   for one, task in zip(ran, package.tasks, strict=True)])


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else 0.0
