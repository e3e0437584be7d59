"""Short packages of many domains for tiny policies: a task is one call of a tool that changes a row, which it names.

A domain is made from its hint. Of it those tools stay that change something and take one id. Ids have two digits. A
task says what is to be done with which id; the policy has to choose among the domain's tools, and to write the id.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from hone.environments.packages.calling import PackageCall, called
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import Package, PackageTask, Tables, ToolSpec, ToolUse
from hone.environments.synthesis.making import make_package
from hone.models import toy

TRAINED = ("library", "hotel", "clinic", "airline", "school", "gym", "museum", "warehouse", "restaurant", "cinema")
UNSEEN = ("bank", "car_rental", "repair_shop")
OPENING, CLOSING = "You may call a tool by a line of this form:\n", "\nAny other answer is final."
TASKS, MOST_TOOLS = 300, 3
_COMMON = 4
"""Domains in which a word stands before it is a token of its own; others are spelled by pairs of letters."""
_WORDS = re.compile(r"[A-Za-z]+|\d|[^A-Za-z0-9]+")
_ID = re.compile(r"\b([a-z]{3})_(\d{4})\b")


@lru_cache
def short_package(domain: str, tasks: int = TASKS) -> Package:
    """Return the domain's package with tasks of one call. Equal arguments give equal digests."""
    made = make_package(f"a {domain.replace('_', ' ')}", tasks=8).package
    tools = [tool for tool in made.manifest.tools if _is_short(tool)][:MOST_TOOLS]
    manifest = made.manifest.model_copy(update={
        "tools": tools, "edges": [], "policy": "", "made_by": f"{made.manifest.made_by}, tasks of one call"})
    base, chance = Package(manifest, made.source, ()), random.Random(f"{domain} short")
    drawn = [_tasks(base, tools, made.tasks[number % len(made.tasks)].initial, f"{domain}-{number}", chance)
             for number in range(tasks)]
    return Package(manifest, made.source, [task for some in drawn for task in some])


def _is_short(tool: ToolSpec) -> bool:
    return bool(tool.writes) and len(tool.required) == 1 and tool.required[0].endswith("_id")


def _tasks(
    base: Package, tools: Sequence[ToolSpec], state: Tables, name: str, chance: random.Random,
) -> Iterator[PackageTask]:
    """Yield a task on a state with other ids, if a drawn tool accepts one of its rows."""
    tool, initial = chance.choice(list(tools)), _renumbered(state, chance)
    [argument] = tool.required
    keys = [key for table in base.manifest.tables if table.key == argument for key in initial[table.name]]
    calls = [PackageCall(initial, tool.name, {argument: key}) for key in chance.sample(keys, len(keys))]
    for call, outcome in zip(calls, called(LocalRunner(), base, calls), strict=True):
        if outcome.rejected is None and outcome.failed is None:
            yield PackageTask(id=name, instruction=f"{tool.name.replace('_', ' ')} {call.arguments[argument]}",
                              initial=initial, truth=outcome.tables,
                              chain=[ToolUse(tool=tool.name, arguments=call.arguments)])
            return


def _renumbered(state: Tables, chance: random.Random) -> Tables:
    """Return a state whose ids have two digits, which cannot be known from other tasks."""
    text, numbers = json.dumps(state), dict[str, str]()
    for prefix in sorted({found[1] for found in _ID.finditer(text)}):
        ids = sorted({found[0] for found in _ID.finditer(text) if found[1] == prefix})
        numbers.update(zip(ids, (f"{prefix}_{one}" for one in chance.sample(range(10, 100), len(ids))), strict=True))
    renumbered: Tables = json.loads(_ID.sub(lambda found: numbers[found[0]], text))
    return renumbered


def prompt(package: Package, task: PackageTask) -> str:
    """Return the text that a policy reads first: how tools are called, and the task."""
    lines = "\n".join(f"{tool.name}: <{tool.required[0]}>" for tool in package.manifest.tools)
    return f"{OPENING}{lines}{CLOSING}{task.instruction}\n"


def shown(package: Package, count: int, careless: float) -> Iterator[dict[str, str]]:
    """Yield calls of a teacher as rows; in a share of them it takes another of the domain's tools."""
    for number, task in enumerate(package.tasks[:count]):
        chance, [use] = random.Random(f"careless {number}"), task.chain
        others = [tool for tool in package.manifest.tools if tool.name != use.tool]
        [argument] = use.arguments.values()
        if others and chance.random() < careless:
            other = chance.choice(others)
            use = ToolUse(tool=other.name, arguments={other.required[0]: argument})
        yield {"prompt": prompt(package, task), "completion": f"{use.tool}: {argument}"}


def symbols(packages: Sequence[Package]) -> list[str]:
    """Return the symbols of a policy: phrases and common words are tokens, others are spelled by pairs."""
    words = Counter(word for package in packages for word in {
        word for row in shown(package, 60, 0.0) for text in row.values() for word in _WORDS.findall(_bare(text))})
    common = [word for word, count in words.items() if count >= _COMMON and len(word) > 1 and word != "eos"]
    pairs = {word[at:at + 2] for word, count in words.items() if count < _COMMON and word.isalpha()
             for at in range(0, len(word) - 1, 2)}
    return [*toy.TEXT, OPENING, CLOSING, *sorted({*common, *pairs})]


def _bare(text: str) -> str:
    return text.removeprefix(OPENING).replace(CLOSING, " ")
