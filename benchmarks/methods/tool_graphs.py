"""200 random graphs of 40 typed tools, 15 % of them broken: how many are dead ends, and how many tasks can be done?

Twenty tools are chosen of each graph, at random or by `expand`. A dead end is a chosen tool that no order of calls
reaches. A task is a chain of four chosen tools whose facts are known; `verified` draws chains until one executes
(`replayed`, in this process). A policy solves a task that can be done with probability 0.3, in groups of 8; a group is
informative if its rewards differ. The spec leaves the graphs open: a tool needs at most one of 12 facts and gives
one, which was chosen so that random expansion has about as many dead ends as the spec says.
"""

import random
import statistics
from collections.abc import Sequence

from benchmarks.methods.experiment import Expectation, Experiment, Means, Outcome
from hone.environments.packages.local_runner import LocalRunner
from hone.environments.packages.package import Manifest, Package, Tables, TableSpec, ToolSpec, ToolUse
from hone.environments.synthesis.graph import dead_ends, expand
from hone.environments.synthesis.replay import chain, replayed

GRAPHS, TOOLS, CHOSEN, BROKEN, STEPS, FACTS = 200, 40, 20, 0.15, 4, 12
PASS, GROUP, BLOCK, MOST_DRAWS = 0.3, 8, 20, 100
VARIANTS = ("random, unverified", "random, verified", "expanded, unverified", "expanded, verified")
_WORKING = '''def {name}(db):
    if not all(fact in db["facts"] for fact in {needs}):
        raise Rejected("a fact is missing")
    db["facts"].update({{fact: {{"fact": fact}} for fact in {gives}}})
'''
_BROKEN = '''def {name}(db):
    return db["nothing"]
'''
_TABLE = TableSpec.model_validate({"name": "facts", "key": "fact", "columns": [{"name": "fact"}]})


def run(variant: str, seed: int) -> Outcome:
    """Return the figures of all graphs of one seed."""
    expansion, _, verification = variant.partition(", ")
    dead, solvable, informative = [], [], []
    for number in range(GRAPHS):
        source = random.Random(f"{seed}:{number}")
        tools = _tools(source)
        package = _package(tools, source)
        names = expand(tools, [], CHOSEN) if expansion == "expanded" else _any_tools(tools, source)
        chosen = [tool for tool in tools if tool.name in names]
        dead += [len(dead_ends(chosen)) / len(chosen)]
        solvable.append(_executes(package, _task(package, chosen, source, verified=verification == "verified")))
        wins = sum(solvable[-1] and source.random() < PASS for _ in range(GROUP))
        informative.append(0 < wins < GROUP)
    return Outcome({"dead ends": statistics.fmean(dead), "solvable": statistics.fmean(solvable),
                    "informative groups": statistics.fmean(informative)},
                   [statistics.fmean(dead[first:first + BLOCK]) for first in range(0, GRAPHS, BLOCK)])


def _tools(source: random.Random) -> list[ToolSpec]:
    facts = [f"f{number}" for number in range(FACTS)]
    return [ToolSpec(name=f"t{number}", description="A tool.", needs=source.sample(facts, source.randint(0, 1)),
                     gives=source.sample(facts, 1)) for number in range(TOOLS)]


def _package(tools: Sequence[ToolSpec], source: random.Random) -> Package:
    texts = [(_BROKEN if source.random() < BROKEN else _WORKING).format(
        name=tool.name, needs=tool.needs, gives=tool.gives) for tool in tools]
    return Package(Manifest(domain="graph", summary="Typed tools.", tables=[_TABLE], tools=list(tools)),
                   "\n\n".join(texts), ())


def _any_tools(tools: Sequence[ToolSpec], source: random.Random) -> list[str]:
    return [tool.name for tool in source.sample(list(tools), CHOSEN)]


def _task(package: Package, chosen: Sequence[ToolSpec], source: random.Random, *, verified: bool) -> list[str]:
    """Return the tools of a task's chain: the first that is drawn, or the first that executes."""
    drawn = _chain(chosen, source)
    for _ in range(MOST_DRAWS if verified else 0):
        if _executes(package, drawn):
            break
        drawn = _chain(chosen, source)
    return drawn


def _chain(chosen: Sequence[ToolSpec], source: random.Random) -> list[str]:
    known, taken = set[str](), list[ToolSpec]()
    for _ in range(STEPS):
        ready = [tool for tool in chosen if tool not in taken and set(tool.needs) <= known]
        if not ready:
            break
        taken.append(source.choice(ready))
        known.update(taken[-1].gives)
    return [tool.name for tool in taken]


def _executes(package: Package, names: Sequence[str]) -> bool:
    empty: Tables = {"facts": {}}
    [ran] = replayed(LocalRunner(), package, [chain(empty, [ToolUse(tool=name) for name in names])])
    return len(names) == STEPS and ran.failed is None and not ran.refused


def _near(variant: str, figure: str, expected: float, within: float) -> Expectation:
    def holds(means: Means) -> bool:
        return abs(means[variant][figure] - expected) <= within
    return Expectation(f"{figure} of `{variant}` are {expected:g}, within {within:g}", holds)


TOOL_GRAPHS = Experiment(
    "scaleenv.md (b)", "What do dependency-aware expansion and executable verification of tasks change?",
    "share of dead ends", VARIANTS, run,
    (Expectation("dead ends of dependency-aware expansion are 0", lambda m: m["expanded, verified"]["dead ends"] == 0),
     _near("random, unverified", "dead ends", 0.11, 0.03),
     Expectation("with verification every task can be done", lambda m: m["expanded, verified"]["solvable"] == 1),
     _near("expanded, unverified", "solvable", 0.51, 0.05),
     _near("expanded, verified", "informative groups", 0.94, 0.03),
     _near("expanded, unverified", "informative groups", 0.49, 0.05)),
    across="block of 20 graphs")
