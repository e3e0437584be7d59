"""Whether the chain of each task of a package leads to its truth: the calls are made as they are when it is played.

Tasks share programs where the tools can keep nothing from one call to the next (`plain_source`): each call is made in
fresh names, on the tables that the one before left. A chain that such a program did not bring to its end is repeated
with a program for each call, as every chain is where the tools might keep something, and only that counts.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice

from hone.environments.packages.calling import (
    LIMITS,
    PREAMBLE,
    Called,
    PackageCall,
    Runner,
    ToolsLost,
    called,
    outcome_read,
    sharing_check,
)
from hone.environments.packages.package import TASKS, Package, PackageTask, Tables
from hone.environments.packages.state_check import mismatches
from hone.sandbox.program import MEBI, Ended, Program, Ran
from hone.spec.problems import Problem, found

MOST_PROBLEMS = 10
"""Tasks that are named; those after them are not looked at."""
PROOF_LIMITS = replace(LIMITS, wall_s=60.0, cpu_s=60.0, output_bytes=16 * MEBI)
_PROGRAMS, _MOST_CALLS, _MOST_CHARACTERS, _LONGEST = 4, 64, 4 * MEBI, 500
_AFRESH = """
import json

_kept = {}


def next_call(source, tables, tool, arguments, step):
    # source: of the first call alone; tables: of the first call of a chain, later calls have what it left
    if source is not None:
        _kept["code"] = compile(source, "program.py", "exec")
    if tables is not None:
        _kept["tables"] = json.dumps(tables)
    names = {"__name__": "program"}
    exec(_kept["code"], names)
    done = names["_hone_call"](json.loads(_kept["tables"]), tool, arguments, step)
    if "tables" in done:
        _kept["tables"] = json.dumps(done["tables"])
    return done
"""


def problems(runner: Runner, package: Package) -> list[Problem]:
    """Return the faults of the first tasks that their chains do not solve; []: none. Raises ToolsLost."""
    places = range(len(package.tasks))
    groups = _groups(package) if _keeps_nothing(runner, package) else [places[one:one + 1] for one in places]
    work = partial(_of_group, runner, package)
    with ThreadPoolExecutor(_PROGRAMS) as threads:
        each = threads.map(work, groups)
        first = list(islice((wrong for group in each for wrong in group), MOST_PROBLEMS))
        threads.shutdown(cancel_futures=True)
        return first


def _keeps_nothing(runner: Runner, package: Package) -> bool:
    ran = runner.run(sharing_check(package.source, LIMITS))
    if ran.status is Ended.INFRA_ERROR:
        raise ToolsLost(ran.detail)
    return len(ran.outcomes) == 1 and ran.outcomes[0].value is True


def _groups(package: Package) -> list[range]:
    """Return the places of tasks that share a program: few calls, and small answers, each with all tables."""
    groups, first, calls, size = list[range](), 0, 0, 0
    for place, task in enumerate(package.tasks):
        own = len(task.chain) * len(str(task.initial))
        if place > first and (calls + len(task.chain) > _MOST_CALLS or size + own > _MOST_CHARACTERS):
            groups.append(range(first, place))
            first, calls, size = place, 0, 0
        calls, size = calls + len(task.chain), size + own
    return [*groups, range(first, len(package.tasks))]


def _of_group(runner: Runner, package: Package, places: range) -> list[Problem]:
    """Return the faults of tasks. A task that ends its program is repeated alone, and the next tasks share another.

    After one that fails alone no other is looked at: a tool that loops takes its time in each.
    """
    wrong, left = list[Problem | None](), list(places)
    while left:
        ended = _together(runner, package, [package.tasks[place] for place in left]) if len(places) > 1 else []
        wrong += [_wrong(package, place, one) for place, one in zip(left, ended, strict=False)]
        left = left[len(ended):]
        if left:
            wrong.append(_wrong(package, left[0], _alone(runner, package, package.tasks[left[0]])))
            left = [] if wrong[-1] else left[1:]
    return [one for one in wrong if one]


def _together(runner: Runner, package: Package, tasks: Sequence[PackageTask]) -> list[list[Called]]:
    """Return the results of the calls of the first tasks, up to a task whose calls did not all return."""
    calls = [[None, None if step else task.initial, use.tool, use.arguments, step]
             for task in tasks for step, use in enumerate(task.chain)]
    calls[0][0] = PREAMBLE + package.source
    ran = runner.run(Program(_AFRESH, function="next_call", calls=calls, limits=PROOF_LIMITS))
    if ran.status is Ended.INFRA_ERROR:
        raise ToolsLost(ran.detail)
    ended, first = list[list[Called]](), 0
    for task in tasks:
        outcomes = ran.outcomes[first:first + len(task.chain)]
        if len(outcomes) < len(task.chain) or any(one.error for one in outcomes):
            break
        ended.append(list(_read(package, task, Ran(ran.status, outcomes=outcomes))))
        first += len(task.chain)
    return ended


def _read(package: Package, task: PackageTask, ran: Ran) -> Iterator[Called]:
    tables = task.initial
    for step, (use, outcome) in enumerate(zip(task.chain, ran.outcomes, strict=True)):
        done = outcome_read(package, PackageCall(tables, use.tool, use.arguments, step), outcome)
        yield done
        if done.failed is not None:
            return
        tables = done.tables


def _alone(runner: Runner, package: Package, task: PackageTask) -> list[Called]:
    """Return the results of the calls of a task up to the first failure, each in a program of its own."""
    done, tables = list[Called](), task.initial
    for step, use in enumerate(task.chain):
        done += called(runner, package, [PackageCall(tables, use.tool, use.arguments, step)])
        if done[-1].failed is not None:
            break
        tables = done[-1].tables
    return done


def _wrong(package: Package, place: int, done: Sequence[Called]) -> Problem | None:
    """Return the fault of a task, given the results of its chain; None: it is proven."""
    task, at = package.tasks[place], f"{TASKS}.{place}"
    offered = set(task.tools) or {tool.name for tool in package.manifest.tools}
    for step, (use, one) in enumerate(zip(task.chain, done, strict=False)):
        field, named = f"{at}.chain.{step}", f"of task {task.id}: {use.tool}"
        if use.tool not in offered:
            return Problem(f"{field}.tool", found(use.tool), f"one of the tools of task {task.id}")
        if breach := package.wrong_arguments(use.tool, use.arguments):
            return Problem(f"{field}.arguments", f"{named}: {breach}"[:_LONGEST], "arguments that the tool has")
        if one.failed is not None:
            reason = one.failed.strip().rpartition("\n")[2]
            return Problem(field, f"{named} failed: {reason}"[:_LONGEST], "a call that returns")
        if one.rejected is not None:
            return Problem(field, f"{named} was rejected: {one.rejected}"[:_LONGEST], "a call that is taken")
    return _differs(package, task, done[-1].tables, at)


def _differs(package: Package, task: PackageTask, left: Tables, at: str) -> Problem | None:
    wrong = mismatches(package.manifest, left, task.truth)
    if not wrong:
        return None
    first = wrong[0]
    left_there = "no such row" if first.kind == "missing" and not first.column else found(first.found)
    more = f", and {len(wrong) - 1} more that differ" if len(wrong) > 1 else ""
    return Problem(
        ".".join(filter(None, (f"{at}.truth", first.table, first.key, first.column))), found(first.expected)[:_LONGEST],
        f"{left_there[:_LONGEST]}, which the chain of task {task.id} leaves{more}")
