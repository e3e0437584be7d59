"""A library of skills as the items of a collection tell it: skills, and outcomes of episodes that used them. Skill1.

An item is {"skill": {"text", "about"}} or {"used": id of a skill, "outcome": 0 to 1}. So the library follows from the
items in their order, and utilities can be computed again. arXiv 2605.06130; similarity by common words in place of an
encoder is a reconstruction.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from hone.harnesses.offers import cut
from hone.harnesses.seat import Kept
from hone.harnesses.skill_utility import SkillRecord, retained, ucb_score, updated_utility
from hone.text.keywords import overlap, words

_SAME = 0.85
"""Similarity of scenarios above which skills of equal texts are one."""
_MERGED = 0.5
"""The outcome as which a merge counts."""
_TEXT_BYTES, _ABOUT_BYTES = 2400, 1200
Syntax: TypeAlias = Literal["json", "plain"]


@dataclass(frozen=True)
class Skill:
    """A skill of the library. `about` is the scenario by which it is found."""

    id: str
    text: str
    about: str
    utility: float = 0.5
    uses: int = 1

    def after(self, outcome: float) -> "Skill":
        """Return the skill after one more use."""
        return replace(self, utility=updated_utility(self.utility, outcome), uses=self.uses + 1)


@dataclass(frozen=True)
class Found:
    """A retrieved skill, and its similarity to the query."""

    skill: Skill
    similarity: float


def library(items: Iterable[Kept], capacity: int) -> list[Skill]:
    """Return the skills that the items of a collection make, oldest first; the best ones of more than `capacity`."""
    known = dict[str, Skill]()
    for one in items:
        if "skill" in one.body:
            _admit(known, Skill(one.id, **one.body["skill"]))
        elif one.body["used"] in known:
            known[one.body["used"]] = known[one.body["used"]].after(one.body["outcome"])
    skills = list(known.values())
    kept = retained([SkillRecord(place, one.utility, one.uses) for place, one in enumerate(skills)], capacity)
    return [skills[place] for place in sorted(kept)]


def _admit(known: dict[str, Skill], new: Skill) -> None:
    """Add a skill, or merge it into the first one with an equal text and a similar scenario."""
    for one in known.values():
        if one.text == new.text and overlap(words(one.about), words(new.about)) > _SAME:
            known[one.id] = one.after(_MERGED)
            return
    known[new.id] = new


def retrieve(
    query: str, skills: Sequence[Skill], most: int, least: float, weight: float = 1.0, explore: float = 0.0
) -> list[Found]:
    """Return the `most` best skills with at least this similarity to a query: by w similarity + (1 - w) (U + bonus).

    The bonus is explore * sqrt(ln N / n). Of equal skills the older one is first.
    """
    asked, all_uses = words(query), sum(one.uses for one in skills)
    found = [Found(one, overlap(asked, words(one.about))) for one in skills]
    scored = [(ucb_score(one.similarity, one.skill.utility, one.skill.uses, all_uses, weight, explore), one)
              for one in found if one.similarity >= least]
    return [one for _, one in sorted(scored, key=lambda pair: -pair[0])[:most]]


def distilled(text: str, task: str, syntax: Syntax, shortest: int) -> dict[str, str] | None:
    """Return the skill that a distilled text holds; None where it cannot be read, or a lesson is too short.

    `json` is an object with `lessons`, one or two texts, and perhaps `scenario`; `plain` is one lesson. Without a
    scenario the task is.
    """
    given = _read(text) if syntax == "json" else {"lessons": [text.strip()]}
    lessons, about = given.get("lessons"), given.get("scenario") or task
    if not isinstance(lessons, list) or not 1 <= len(lessons) <= 2 or not isinstance(about, str) or not all(
            isinstance(one, str) and len(one.strip()) >= shortest for one in lessons):
        return None
    return {"text": cut("\n".join(map(str.strip, lessons)), _TEXT_BYTES), "about": cut(about, _ABOUT_BYTES)}


def _read(text: str) -> Mapping[str, Any]:
    """Return the JSON object between the first and the last brace; {} where there is none."""
    try:
        found = json.loads(text[text.index("{"):text.rindex("}") + 1])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
