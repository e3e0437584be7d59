"""Making a package from a hint and a seed, without a model: tools that passed their tests, tasks that were proven."""

import random
from collections import Counter

from hone.environments.hashing import mixed_seed
from hone.environments.packages.calling import Runner
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import MOST_BYTES, Package, PackageTask
from hone.environments.synthesis.domain import Blueprint
from hone.environments.synthesis.hints import NoWorld, theme_of
from hone.environments.synthesis.report import Made, kept_manifest, making_report
from hone.environments.synthesis.tasks import MOST_GOALS, NoTask, TaskWriter
from hone.environments.synthesis.tester import proven, source_text

GENERATOR = "hone seeded generator 1"
_TRIES = 3
"""Tasks that are tried at most, for each that is wanted."""


def make_package(hint: str, seed: int = 0, tasks: int = 64, runner: Runner | None = None) -> Made:
    """Return the package of a hint: equal hints and seeds give equal digests. Raises NoWorld, ToolsLost.

    The code of the seeded generator is our own, so it runs in this process if no `runner` is given. A package may have
    fewer tasks than wanted: the report says how many were tried, and why they were rejected.
    """
    domain, runs = Blueprint(theme_of(hint)), runner or LocalRunner()
    cases = domain.cases(random.Random(f"{domain.theme.domain}:{seed}:cases"))
    tools = proven(runs, domain.manifest, {name: draft.source for name, draft in domain.drafts.items()}, cases)
    kept = kept_manifest(domain.manifest, tools)
    base = Package(kept.model_copy(update={"made_by": f"{GENERATOR}, hint {hint[:200]!r}, seed {seed}"}),
                   source_text({tool.name: tools.sources[tool.name] for tool in kept.tools}), (),
                   [case for case in cases if case.tool in {tool.name for tool in kept.tools}])
    accepted, rejected = _tasks(TaskWriter(domain, base, runs), seed, tasks)
    if not accepted:
        raise NoWorld("no task was accepted", [f"{count} times: {why}" for why, count in rejected.most_common()])
    package = Package(base.manifest, base.source, accepted, base.tests)
    return Made(package, making_report(
        hint, seed, tasks, len(domain.manifest.tools), tools, package, rejected, runs))


def _tasks(maker: TaskWriter, seed: int, wanted: int) -> tuple[list[PackageTask], Counter[str]]:
    """Return accepted tasks, and how often tries were rejected for which reason."""
    accepted, rejected = dict[str, PackageTask](), Counter[str]()
    left = MOST_BYTES - sum(map(len, maker.package.files.values()))
    for place in range(_TRIES * wanted):
        if len(accepted) == wanted:
            break
        try:
            task = maker.task(mixed_seed(seed, place), place, 1 + place % MOST_GOALS)
        except NoTask as error:
            rejected[str(error)] += 1
            continue
        if task.instruction in accepted:
            rejected["another task asks the same"] += 1
            continue
        left -= len(task.model_dump_json()) + 1
        if left < 0:
            rejected[f"a package has at most {MOST_BYTES // 2**20} MiB"] += 1
            break
        accepted[task.instruction] = task
    return list(accepted.values()), rejected


