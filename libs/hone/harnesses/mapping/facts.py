"""Facts of a text world as normalised triples, read from what a policy did and what it was answered. MAP.

Four relations: a place contains a thing (or nothing), a place connects to a place, a thing affords an action, an action
fails for a reason. Only texts that the policy saw are read, in the words of `household`, `hidden_shelf` and
`textworld`; things are known by the names that the environment tells. The paper (arXiv 2605.13037) names the kinds of
facts and not how they are found: a reconstruction.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

Relation: TypeAlias = Literal["contains", "connects", "affords", "fails"]
NOTHING = "nothing"
_LONGEST = 120
"""Characters of a subject or an object."""
_ARTICLES = re.compile(r"\b(?:a|an|the|some)\b")
_SPACES, _SENTENCES = re.compile(r"\s+"), re.compile(r"(?<=[.!?])\s+|\n")
_SEES = re.compile(r"\byou see\b:?", re.IGNORECASE)
_HERE = re.compile(r"\byou (?:are|arrive) (?:in|at|on) (?:the middle of )?([^.,:;!?\n]+)", re.IGNORECASE)
_HELD = re.compile(r"([^,()]+?)\s*\(([^()]*)\)")
_POSSIBLE = re.compile(r"\byou can: ([^\n]+?)\.?\s*$", re.IGNORECASE | re.MULTILINE)
_WORD = re.compile(r"[^\W\d]+")
_MOVES = frozenset({"take", "pick up", "get", "put", "move", "drop", "insert", "place"})


class Fact(NamedTuple):
    """One triple in normal form."""

    subject: str
    relation: Relation
    object: str

    @property
    def text(self) -> str:
        """The fact in words, as maps are written."""
        return f"{self.subject} {self.relation}{':' if self.relation == 'fails' else ''} {self.object}"


@dataclass(frozen=True)
class Where:
    """Where an agent is, as far as texts said so, and what it has moved.

    What was moved lies where the agent put it, and what looks empty may have been emptied: no facts of a task's start.
    """

    place: str = ""
    moved: frozenset[str] = frozenset()


def normal(text: str) -> str:
    """Return a text in lower case, without articles, with single spaces and no punctuation at its ends."""
    bare = _SPACES.sub(" ", _ARTICLES.sub(" ", text.casefold()))
    return bare.strip(" \t.,:;!?\"'")[:_LONGEST].strip()


def mentions(text: str, names: Sequence[str]) -> list[str]:
    """Return the names in a text in their order, in normal form. Of names that overlap the longest counts."""
    return [normal(one[0]) for one in _pattern(tuple(names)).finditer(text)] if names else []


@lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted(filter(None, names), key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE)


def observed(text: str, names: Sequence[str], where: Where = Where()) -> tuple[frozenset[Fact], Where]:
    """Return the facts in what an environment said, and where the agent is then."""
    found = set(_possible(text, names))
    for sentence in _SENTENCES.split(text):
        where = replace(where, place=_place(sentence, names) or where.place)
        if seen := _SEES.search(sentence):
            place = (mentions(sentence[:seen.start()], names) or [where.place])[-1]
            found.update(_contained(place, sentence[seen.end():], names))
    stale = where.moved | {NOTHING} if where.moved else where.moved
    return frozenset(fact for fact in found if not (fact.relation == "contains" and fact.object in stale)), where


def extracted(
    action: str, said: str, valid: bool, effect: bool | None, names: Sequence[str], where: Where
) -> tuple[frozenset[Fact], Where]:
    """Return the facts that an action and the answer to it tell, and where the agent is then.

    `valid`: whether the environment understood the action; `effect`: whether it changed the state, None if not known.
    """
    named, verb = mentions(action, names), _verb(action, names)
    if not valid:
        failed = {Fact(normal(action), "fails", _reason(said))} if named else set()
        found, _ = observed(said, names, where)
        return found | failed, where
    if named and effect is not False and verb in _MOVES:
        where = replace(where, moved=where.moved | {named[0]})
    found, there = observed(said, names, where)
    own = {Fact(named[0], "affords", verb)} if named and verb else set[Fact]()
    if effect is not False and where.place and there.place != where.place:
        own.add(Fact(where.place, "connects", there.place))
    return found | own, there


def _verb(action: str, names: Sequence[str]) -> str:
    """Return the words of an action before the first thing that it names, without numbers and articles."""
    first = _pattern(tuple(names)).search(action) if names else None
    return " ".join(_WORD.findall(normal(action[:first.start()]))) if first else ""


def _possible(text: str, names: Sequence[str]) -> Iterator[Fact]:
    """Yield what a list of possible commands tells."""
    for listed in _POSSIBLE.finditer(text):
        for command in listed[1].split(", "):
            if (named := mentions(command, names)) and (verb := _verb(command, names)):
                yield Fact(named[0], "affords", verb)


def _place(sentence: str, names: Sequence[str]) -> str:
    """Return the place that a sentence says the agent is at; "" if it does not."""
    here = _HERE.search(sentence)
    if here:
        return (mentions(here[1], names) or [normal(here[1])])[0]
    if sentence.casefold().startswith("you open "):
        return next(iter(mentions(sentence, names)), "")
    return ""


def _contained(place: str, listed: str, names: Sequence[str]) -> Iterator[Fact]:
    """Yield what a place contains, and what things in it contain: `table (with mug), shelf`."""
    for held in _HELD.finditer(listed):
        holder = mentions(held[1], names)[-1:]
        yield from (Fact(holder[0], "contains", thing) for thing in mentions(held[2], names) if holder)
    outer = mentions(re.sub(r"\([^()]*\)", "", listed), names)
    if place and normal(listed).startswith(NOTHING):
        yield Fact(place, "contains", NOTHING)
    yield from (Fact(place, "contains", thing) for thing in outer if place and thing != place)


def _reason(said: str) -> str:
    return normal(next(filter(None, map(str.strip, _SENTENCES.split(said))), "")) or NOTHING
