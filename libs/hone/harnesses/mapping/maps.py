"""The map of an episode as a policy writes it: one fact a line, checked against what was observed. MAP.

    <map>
    shelf 3 contains mug, book
    hall connects kitchen
    mug affords take
    take mug fails: you do not see it
    </map>

The paper (arXiv 2605.13037) names the parts of a map: layout, affordances, rules. The lines are a reconstruction.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hone.harnesses.mapping.facts import Fact, Relation, normal
from hone.text.keywords import overlap, words

_INSIDE = re.compile(r"<map>(.*?)(?:</map>|\Z)", re.DOTALL)
_LINE = re.compile(r"(?:layout|affordances?|rules?)\s*:\s*", re.IGNORECASE)
_FACT = re.compile(
    r"(.+?)\s+(contains?|connects?|affords?|fails?)\b(?:\s+(?:to|because)\b)?\s*:?\s+(.+)", re.IGNORECASE)
_TASK = re.compile(r"\b(?:task|goal|quest|objective)\b", re.IGNORECASE)
LAYOUT = frozenset({"contains", "connects"})
_ORDER = {"contains": 0, "connects": 0, "affords": 1, "fails": 2}


@dataclass(frozen=True)
class Entry:
    """A fact of a map, and the step at which it was observed; 0: in the opening."""

    fact: Fact
    step: int


@dataclass(frozen=True)
class TaskMap:
    """A validated map, and the share of what was written that observations support; None: nothing was written."""

    entries: tuple[Entry, ...] = ()
    precision: float | None = None
    written: int = 0  # entries that were written, those that cannot be read included

    @property
    def text(self) -> str:
        """The map in words, a line an entry: layout, affordances, rules."""
        return "\n".join(one.fact.text for one in self.entries)


def written(text: str) -> list[Fact | None]:
    """Return the facts of a written map in order; None for each line that cannot be read."""
    inside = _INSIDE.search(text)
    lines = (_LINE.sub("", line.strip(" \t-*•"), count=1) for line in (inside[1] if inside else text).splitlines())
    return [fact for line in lines if line.strip() for fact in _facts(line)]


def _facts(line: str) -> Iterator[Fact | None]:
    found = _FACT.fullmatch(line.strip())
    if found is None:
        yield None
        return
    relation: Relation = next(one for one in _RELATIONS if found[2].casefold().startswith(one[:-1]))
    objects = [found[3]] if relation == "fails" else found[3].split(",")
    yield from (Fact(normal(found[1]), relation, normal(one)) for one in objects if one.strip())


_RELATIONS: tuple[Relation, ...] = ("contains", "connects", "affords", "fails")


def validated(facts: Sequence[Fact | None], observed: Mapping[Fact, int]) -> TaskMap:
    """Return the map of the written facts that were observed. A connection counts in both directions."""
    entries, supported = dict[Fact, Entry](), 0
    for fact in facts:
        step = None if fact is None else _step(fact, observed)
        if fact is not None and step is not None:
            supported += 1
            entries.setdefault(fact, Entry(fact, step))
    ordered = sorted(entries.values(), key=lambda one: _ORDER[one.fact.relation])
    return TaskMap(tuple(ordered), supported / len(facts) if facts else None, len(facts))


def _step(fact: Fact, observed: Mapping[Fact, int]) -> int | None:
    back = Fact(fact.object, fact.relation, fact.subject) if fact.relation == "connects" else fact
    return observed.get(fact, observed.get(back))


def capped(one: TaskMap, task: str, most: int) -> TaskMap:
    """Return a map whose text has at most `most` characters: without the layout entries that have fewest words in
    common with the task, then without such affordances. Rules are never dropped, so that they may be longer alone.
    """
    asked, kept = words(task_words(task)), list(one.entries)
    droppable = [entry for entry in kept if entry.fact.relation != "fails"]
    droppable.sort(key=lambda entry: (_ORDER[entry.fact.relation], _relevance(entry.fact, asked), -entry.step))
    size = sum(len(entry.fact.text) + 1 for entry in kept) - 1
    for entry in droppable:
        if size <= most:
            break
        kept.remove(entry)
        size -= len(entry.fact.text) + 1
    return TaskMap(tuple(kept), one.precision, one.written)


def task_words(opening: str) -> str:
    """Return the lines of an opening that say what the task or the goal is; the whole opening if none does."""
    named = [line for line in opening.splitlines() if _TASK.search(line)]
    return "\n".join(named) or opening


def _relevance(fact: Fact, asked: frozenset[str]) -> float:
    return overlap(words(fact.text) - {fact.relation}, asked)
