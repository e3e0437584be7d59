"""Library: the policy queries a library of its own skills, orders what is found, plays with the best, and distils a new
one. Skill1, arXiv 2605.06130.

The library is the run's collection `library`. Calls have the kinds `query`, `rerank`, `play` and `distill`. The texts,
and the retrieval by common words, are a reconstruction.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

from pydantic import Field

from hone.environments.contract import Message
from hone.harnesses.contract import HarnessParams
from hone.harnesses.openings import asked, task
from hone.harnesses.seat import Answer, Heard, Over, Seat
from hone.harnesses.skill_library import Found, Skill, Syntax, distilled, library, retrieve
from hone.harnesses.skill_utility import completed_order
from hone.text.conversation import content_text
from hone.text.reasoning import spoken

NAME = "library"
QUERY = """{task}

Do not begin yet. Write one sentence that says which skill would help here. It searches a library of skills."""
RERANK = """{task}

Do not begin yet. These skills were found:
{skills}

Write their numbers in order, the most helpful one first."""
USE = """This skill was found in earlier episodes. It may be outdated:
{skill}

{task}"""
DISTILL = """{task}

This is what you did:
{episode}

The episode {outcome}. What can be learned from it? Answer with a JSON object: {"steps": [{"step": "...", "done": \
true}], "success": true, "lessons": ["one or two general lessons"], "scenario": "when they apply, in general words"}"""


class LibraryParams(HarnessParams):
    """How skills are found, and what the policy is asked in each phase. {names} in texts are filled in."""

    candidates: int = Field(3, ge=1, le=16, description="K, most skills that are retrieved.")
    least: float = Field(0.4, ge=0, le=1, description="Smallest share of common words for which a skill is retrieved.")
    similarity_weight: float = Field(1.0, ge=0, le=1, description="w, weight of the similarity against the utility in "
                                     "the order of retrieval.")
    explore: float = Field(0.0, ge=0, le=10, description="c, bonus of skills that were seldom used: 1 in the paper's "
                           "training, 0 in its evaluation.")
    capacity: int = Field(5000, ge=1, description="Most skills; of more the best by utility and uses stay.")
    success: float = Field(1.0, gt=0, description="The environment's own score of an episode that succeeds.")
    syntax: Syntax = Field("json", description="Form of the distilled text: an object of JSON, or a single lesson as "
                           "plain text.")
    shortest: int = Field(6, ge=1, description="Fewest characters of a lesson.")
    characters: int = Field(8000, ge=1, description="Most characters of the episode that is distilled; its end.")
    query: str = Field(QUERY, max_length=20_000, description="Prompt for a query: {task}.")
    rerank: str = Field(RERANK, max_length=20_000, description="Prompt for an order: {task}, {skills}.")
    use: str = Field(USE, max_length=20_000, description="The task with a skill: {task}, {skill}.")
    distill: str = Field(DISTILL, max_length=20_000, description="Prompt for a lesson: {task}, {episode}, "
                         "{outcome}.")


class Library:
    """Only the first skill of the order is used. An episode that the environment does not score is not distilled."""

    summary = "The policy searches its own skills, orders them, plays with a skill, and distils a new skill."
    params = LibraryParams
    kinds: ClassVar[frozenset[str]] = frozenset({"query", "rerank", "play", "distill"})
    collections: ClassVar[frozenset[str]] = frozenset({NAME})

    async def play(self, seat: Seat, params: LibraryParams) -> None:
        query, found = await _found(seat, params)
        chosen = await _chosen(seat, params, found)
        episode = await _played(seat, params, chosen)
        score = seat.facts.score
        if score is None:
            return
        success = score >= params.success
        seat.note("outcome", success)
        if chosen is not None:
            seat.offer(NAME, {"used": chosen.id, "outcome": float(success)})
        await _distill(seat, params, query, episode, success)


async def _found(seat: Seat, params: LibraryParams) -> tuple[Answer, list[Found]]:
    query = await seat.ask(asked(seat, params.query), "query", tools=[])
    skills = library(seat.read(NAME), params.capacity)
    found = retrieve(spoken(query.text), skills, params.candidates, params.least, params.similarity_weight,
                     params.explore)
    seat.note("retrieved", [{"id": one.skill.id, "similarity": one.similarity, "utility": one.skill.utility,
                             "uses": one.skill.uses} for one in found])
    return query, found


async def _chosen(seat: Seat, params: LibraryParams, found: Sequence[Found]) -> Skill | None:
    """Return the skill that the policy ranks first; of fewer than two, and in retrieval's order, without asking."""
    if len(found) < 2:
        return found[0].skill if found else None
    listed = "\n".join(f"{place}. {one.skill.text}" for place, one in enumerate(found, 1))
    answer = await seat.ask(asked(seat, params.rerank, skills=listed), "rerank", tools=[])
    named = [int(number) for number in re.findall(r"[0-9]{1,4}", spoken(answer.text))]
    order = completed_order(named, len(found))
    seat.note("order", order)
    return found[order[0] if order else 0].skill


async def _played(seat: Seat, params: LibraryParams, skill: Skill | None) -> list[str]:
    """Play to the end, and return what was done and heard."""
    said: Heard | list[Message] = seat.opening if skill is None else asked(seat, params.use, skill=skill.text)
    episode = list[str]()
    with suppress(Over):
        while not seat.over:
            action = spoken((await seat.ask(said, "play")).text)
            said = await seat.act(action)
            episode += [action, *map(content_text, said.messages)]
    return episode


async def _distill(seat: Seat, params: LibraryParams, query: Answer, episode: Sequence[str], success: bool) -> None:
    """Ask for lessons at a fork, because the seat's own episode has ended; offer them after a success."""
    [after] = await seat.fork(1, before=query.number)
    done = "\n".join(episode)[-params.characters:]
    lessons = asked(seat, params.distill, episode=done, outcome="succeeded" if success else "failed")
    answer = await after.ask(lessons, "distill", tools=[])
    skill = distilled(spoken(answer.text), task(seat), params.syntax, params.shortest)
    after.note("distilled", skill is not None)
    if skill is not None and success:
        after.offer(NAME, {"skill": skill})
