"""The graph of a package's tools: which tool can follow which, and how a set of tools grows without dead ends.

After ScaleEnv, arXiv 2602.06820, sections on the tool dependency graph and on expansion. `gate` is the deterministic
stand-in for the paper's model, a reconstruction: the paper gives neither its prompt nor its threshold.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hone.environments.packages.package import Edge, Manifest, ToolSpec

EDGE_WEIGHT, SATURATION = 0.5, 50
"""Lambda and S_sat of the paper."""
LEAST_TOOLS = 20
LEAST_COMPATIBILITY, LEAST_FEASIBILITY = 0.6, 0.25
"""Tau, and the stand-in's bound of g: ours, the paper gives none."""


@dataclass(frozen=True)
class Conditions:
    """Beyond its facts: what has to hold before a tool can act, such as `loan active`, and what holds after it."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def edges(tools: Sequence[ToolSpec], conditions: Mapping[str, Conditions] | None = None) -> list[Edge]:
    """Return every edge a -> b of different tools, by kind.

    data: a fact that a gives is one that b needs. order: what holds after a has to hold before b. state: b reads a
    table that a writes.
    """
    known = conditions or {}
    return [Edge(source=one.name, target=other.name, kind=kind)
            for one in tools for other in tools if one.name != other.name
            for kind, linked in (
                ("data", set(one.gives) & set(other.needs)),
                ("order", set(_of(known, one).after) & set(_of(known, other).before)),
                ("state", set(one.writes) & set(other.reads))) if linked]


def _of(conditions: Mapping[str, Conditions], tool: ToolSpec) -> Conditions:
    return conditions.get(tool.name, Conditions())


def expand(
    tools: Sequence[ToolSpec], seed: Iterable[str], limit: int, known: Collection[str] = (),
) -> list[str]:
    """Return the names of `seed` and of tools that are added breadth-first, at most `limit` in all.

    A tool is added only if each fact that it needs is known: at the start, or from a tool that is in already. So no
    tool of the result is a dead end, provided that none of the seed is.
    """
    named = {tool.name: tool for tool in tools}
    chosen = list(dict.fromkeys(seed))
    while True:
        facts = set(known).union(*(named[name].gives for name in chosen))
        ready = [tool.name for tool in tools if tool.name not in chosen and set(tool.needs) <= facts]
        added = ready[:max(0, limit - len(chosen))]
        if not added:
            return chosen
        chosen += added


def dead_ends(tools: Iterable[ToolSpec], known: Collection[str] = ()) -> list[str]:
    """Return the names of the tools that no order of calls reaches from what is known at the start."""
    waiting, facts = list(tools), set(known)
    while ready := [tool for tool in waiting if set(tool.needs) <= facts]:
        facts = facts.union(*(tool.gives for tool in ready))
        waiting = [tool for tool in waiting if tool not in ready]
    return [tool.name for tool in waiting]


def spoken(manifest: Manifest) -> set[str]:
    """Return the facts that an instruction can say, so that they are known at the start: all but keys of tables."""
    keys = {table.key for table in manifest.tables}
    return {fact for tool in manifest.tools for fact in tool.needs} - keys


def complexity(tools: int, links: int) -> float:
    """Return c(H) = (|V| + 0.5 |E|) / 50 of a subgraph with so many tools and edges."""
    return (tools + EDGE_WEIGHT * links) / SATURATION


def subgraph_complexity(all_edges: Iterable[Edge], names: Collection[str]) -> float:
    """Return c(H) of the tools `names`. Edges of several kinds between the same two tools count once."""
    return complexity(len(set(names)), len({(edge.source, edge.target) for edge in all_edges
                                            if edge.source in names and edge.target in names}))


def gate(complexity_now: float, feasibility: float) -> float:
    """Return the compatibility p of a further chain: 1 if c(H) < 1 and g >= 0.25, else 0. A reconstruction."""
    return float(complexity_now < 1 and feasibility >= LEAST_FEASIBILITY)


def orders(steps: int, after: Mapping[int, Collection[int]], count: int, source: random.Random) -> Iterator[list[int]]:
    """Yield `count` random topological orders of the steps 0 to `steps` - 1. `after`: step -> the steps before it."""
    for _ in range(count):
        waiting, order = set(range(steps)), list[int]()
        while waiting:
            ready = sorted(step for step in waiting if not waiting & set(after.get(step, ())))
            order.append(source.choice(ready))
            waiting.remove(order[-1])
        yield order
