"""Short packages of many domains for tiny policies: a task is one call of a tool that changes a row, which it names.

A domain is made from its hint. Of it those tools stay that change something and take one id. Ids have two digits. A
task says what is to be done with which id; the policy has to choose among the domain's tools, and to write the id.
Held-out tasks are about ids that no other task has. No tool of an unseen domain is in a trained one, by its name; verbs
are (`cancel`, `close`).
"""

import json
import random
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count, islice

from hone.environments.packages.calling import PackageCall, called
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import Package, PackageTask, Tables, ToolSpec, ToolUse
from hone.environments.synthesis.making import make_package
from hone.models import toy

TRAINED = ("library", "hotel", "clinic", "airline", "school", "gym", "museum", "bee_keeping", "restaurant", "cinema")
UNSEEN = ("bank", "car_rental", "repair_shop")
OPENING, CLOSING = "You may call a tool by a line of this form:\n", "\nAny other answer is final."
TASKS, HELD_OUT, MOST_TOOLS = 300, 320, 3
_WORD = re.compile(r"[a-z]+")
_ID = re.compile(r"\b([a-z]{3})_(\d{4})\b")


@lru_cache
def short_package(domain: str, tasks: int = TASKS, held_out: bool = False) -> Package:
    """Return the domain's package with tasks of one call. Equal arguments give equal digests."""
    made = make_package(f"a {domain.replace('_', ' ')}", tasks=8).package
    tools = [tool for tool in made.manifest.tools if _is_short(tool)][:MOST_TOOLS]
    manifest = made.manifest.model_copy(update={
        "tools": tools, "edges": [], "policy": "", "made_by": f"{made.manifest.made_by}, tasks of one call"})
    base, chance = Package(manifest, made.source, ()), random.Random(f"{domain} {held_out}")
    ids = [number for number in range(10, 100) if (number % 3 == 0) == held_out]
    drawn = (task for number in count() for task in _tasks(
        base, tools, _renumbered(made.tasks[number % len(made.tasks)].initial, ids, chance), f"{domain}-{number}",
        chance))
    return Package(manifest, made.source, list(islice(drawn, tasks)))


def _is_short(tool: ToolSpec) -> bool:
    return bool(tool.writes) and len(tool.required) == 1 and tool.required[0].endswith("_id")


def _tasks(
    base: Package, tools: Sequence[ToolSpec], initial: Tables, name: str, chance: random.Random,
) -> Iterator[PackageTask]:
    """Yield a task on a state, if a drawn tool accepts one of its rows."""
    tool = chance.choice(list(tools))
    [argument] = tool.required
    keys = [key for table in base.manifest.tables if table.key == argument for key in initial[table.name]]
    calls = [PackageCall(initial, tool.name, {argument: key}) for key in chance.sample(keys, len(keys))]
    for call, outcome in zip(calls, called(LocalRunner(), base, calls), strict=True):
        if outcome.rejected is None and outcome.failed is None:
            yield PackageTask(id=name, instruction=f"{tool.name.replace('_', ' ')} {call.arguments[argument]}",
                              initial=initial, truth=outcome.tables,
                              chain=[ToolUse(tool=tool.name, arguments=call.arguments)])
            return


def _renumbered(state: Tables, numbered: Sequence[int], chance: random.Random) -> Tables:
    """Return a state whose ids are drawn, so that they cannot be known from other tasks."""
    text, numbers = json.dumps(state), dict[str, str]()
    for prefix in sorted({found[1] for found in _ID.finditer(text)}):
        ids = sorted({found[0] for found in _ID.finditer(text) if found[1] == prefix})
        numbers.update(zip(ids, (f"{prefix}_{one}" for one in chance.sample(numbered, len(ids))), strict=True))
    renumbered: Tables = json.loads(_ID.sub(lambda found: numbers[found[0]], text))
    return renumbered


def prompt(package: Package, task: PackageTask) -> str:
    """Return the text that a policy reads first: how tools are called, and the task."""
    lines = "\n".join(f"{tool.name}: <{tool.required[0]}>" for tool in package.manifest.tools)
    return f"{OPENING}{lines}{CLOSING}{task.instruction}\n"


def shown(package: Package, careless: float) -> Iterator[dict[str, str]]:
    """Yield calls of a teacher as rows; in a share of them it takes another of the domain's tools."""
    for number, task in enumerate(package.tasks):
        chance, [use] = random.Random(f"careless {number}"), task.chain
        others = [tool for tool in package.manifest.tools if tool.name != use.tool]
        [argument] = use.arguments.values()
        if others and chance.random() < careless:
            other = chance.choice(others)
            use = ToolUse(tool=other.name, arguments={other.required[0]: argument})
        yield {"prompt": prompt(package, task), "completion": f"{use.tool}: {argument}"}


def pairs(packages: Sequence[Package]) -> list[str]:
    """Return the pairs of letters that spell the words of packages; the last letter of an odd word is alone."""
    texts = {prompt(package, task).removeprefix(OPENING).replace(CLOSING, "\n")
             for package in packages for task in package.tasks}
    return sorted({pair for text in texts for word in _WORD.findall(text) for pair in re.findall("..", word)})


def symbols(pieces: Sequence[str]) -> list[str]:
    """Return the symbols of a policy: what opens and closes each prompt, pieces of words, and single characters."""
    return [*toy.TEXT, OPENING, CLOSING, *pieces]
