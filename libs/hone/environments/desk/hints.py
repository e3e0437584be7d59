"""Tasks from hints, without a model: the words of a hint choose families, and every drafted task has to pass the gates.

The source has a model write set-up, prompt, truth and checks. Here a family's program does: a hint chooses among them,
and a draft that is not accepted is drawn anew, at most ROUNDS times, as the spec has a creator repair it.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from hone.environments.contract import Row
from hone.environments.desk.episode import opening
from hone.environments.desk.gates import DeskDraft
from hone.environments.desk.generation import FAMILIES, Family, task
from hone.environments.desk.validation import ScriptedValidator, Validator, validated
from hone.environments.hashing import mixed_seed

ROUNDS = 3
"""Drafts of one task, after which it is discarded."""
_WORDS: Mapping[Family, str] = {
    "reschedule": r"reschedul\w*|postpon\w*|appointments?|meetings?|time[ -]?zones?|temporal",
    "invoices": r"invoices?|bills?|months?|fil(e|ing) (away|by)|noisy|noise",
    "merge": r"contacts?|address books?|duplicates? (people|persons?)|merg\w*|entit\w+|namesakes?|phone\w*",
    "answer": r"answer\w*|repl(y|ies)|prices?|quotes?|customers?|e-?mails?",
    "clean": r"clean\w*|tidy\w*|delet\w*|cop(y|ies)|temporary|downloads?|rules?",
    "book": r"book\w*|free (time|slots?)|availab\w*|calendars?|schedul\w*|meetings?|constraints?",
    "expenses": r"expens\w*|receipts?|add(ing)? up|sums?|totals?|accounts?|accountants?|reports?"}


@dataclass(frozen=True)
class Tried:
    """A draft, and why it was not accepted; "": it was."""

    family: Family
    seed: int
    repair: str


@dataclass(frozen=True)
class Creation:
    """Result of a hint: rows for the environment `desk`, the tries, and the reason where there are none."""

    rows: tuple[Row, ...]
    tried: tuple[Tried, ...]
    reason: str | None


def families(hint: str) -> list[Family]:
    """Return the families that a hint's words name, those with the most words first."""
    said = " ".join(hint.casefold().split())
    counts = Counter[Family]({family: len(re.findall(rf"\b(?:{words})\b", said)) for family, words in _WORDS.items()})
    return [family for family, count in counts.most_common() if count]


def created(hint: str, seed: int, count: int, validator: Validator | None = None) -> Creation:
    """Return tasks for a hint, turn by turn of its families. Equal arguments give equal tasks.

    Without a word that is known there is no task, and the reason says which there are.
    """
    named, judge = families(hint), validator or ScriptedValidator()
    if not named:
        return Creation((), (), f"no word of {hint[:100]!r} names a family; there are {', '.join(FAMILIES)}")
    rows, tried = list[Row](), list[Tried]()
    for place in range(count):
        family = named[place % len(named)]
        for draft in range(ROUNDS):
            number = mixed_seed(seed, place, draft)
            tried.append(Tried(family, number, _repair(family, number, judge)))
            if not tried[-1].repair:
                rows.append({"prompt": opening(task(family, number))[0]["content"], "family": family, "seed": number})
                break
    return Creation(tuple(rows), tuple(tried), None if rows else f"none of {len(tried)} drafts was accepted")


def _repair(family: Family, seed: int, validator: Validator) -> str:
    found = validated(DeskDraft(lambda: task(family, seed)), validator)
    return "" if found.accepted else "; ".join(found.repair) or f"the validator gives {found.score:g}"
