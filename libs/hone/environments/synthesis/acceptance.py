"""The last checks of a task: what is accepted can be done, is not done by itself, and has one result.

After ScaleEnv, phase 2, step 13 and its edge cases. That a chain without one of its changes has to fail is ours.
"""

import random
from collections.abc import Sequence

from hone.environments.packages.calling import Runner
from hone.environments.packages.package import Manifest, Package, PackageTask, Tables, ToolUse
from hone.environments.packages.state_check import mismatches
from hone.environments.synthesis.graph import orders
from hone.environments.synthesis.plan import Step
from hone.environments.synthesis.replay import Chain, Replayed, chain, replayed
from hone.environments.synthesis.rows import dangling

ORDERS = 5


class Unacceptable(Exception):
    """A task is not accepted. Holds the reason, in words that are counted."""


def accept(
    runner: Runner, package: Package, task: PackageTask, steps: Sequence[Step], source: random.Random,
) -> None:
    """Return if a task passes every check; `steps` are those of its chain. Raises Unacceptable, ToolsLost."""
    manifest = package.manifest
    if dangling(manifest.tables, task.initial) or dangling(manifest.tables, task.truth):
        raise Unacceptable("a cell refers to a row that is not there")
    if _alike(manifest, task.truth):
        raise Unacceptable("two rows with generated keys are alike in all that counts")
    if not task.communicate and not mismatches(manifest, task.initial, task.truth):
        raise Unacceptable("doing nothing would be rewarded")
    if any(phrase.casefold() in task.instruction.casefold() for phrase in task.communicate):
        raise Unacceptable("the instruction says what has to be found")
    relative = [step.relative for step in steps]
    after = {number: step.after for number, step in enumerate(steps)}
    changes = [number for number, step in enumerate(steps) if step.cells]
    ways = [chain(task.initial, task.chain),
            *(chain(task.initial, relative, order) for order in orders(len(relative), after, ORDERS, source))]
    without = [_without(task.initial, relative, number) for number in changes]
    found = replayed(runner, package, [*ways, *without])
    _right(manifest, task, found[:len(ways)])
    if any(not mismatches(manifest, one.tables, task.truth) for one in found[len(ways):]):
        raise Unacceptable("a change makes no difference")


def _alike(manifest: Manifest, tables: Tables) -> bool:
    """Return whether rows whose key is exempt share every hard cell: which is which would be left to chance."""
    for spec in manifest.tables:
        hard = [column.name for column in spec.columns if column.kind == "hard"]
        if spec.key not in hard:
            seen = [tuple(row[name] for name in hard) for row in tables[spec.name].values()]
            if len(set(seen)) < len(seen):
                return True
    return False


def _right(manifest: Manifest, task: PackageTask, found: Sequence[Replayed]) -> None:
    for place, one in enumerate(found):
        if one.failed is not None or one.refused or mismatches(manifest, one.tables, task.truth):
            raise Unacceptable("another order of independent steps leads elsewhere" if place else "the replay fails")


def _without(initial: Tables, uses: Sequence[ToolUse], dropped: int) -> Chain:
    """Return the chain without one step. Steps that refer to it are refused, as they would be for a policy."""
    return chain(initial, uses, [number for number in range(len(uses)) if number != dropped])
