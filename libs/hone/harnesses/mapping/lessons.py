"""Building the knowledge of an environment: analyse, try in rounds, reflect on failures, distil. MAP's first stage."""

from collections.abc import Sequence
from contextlib import suppress

from hone.environments.contract import Message
from hone.harnesses.mapping.exploration import EXPLORE, said_text
from hone.harnesses.mapping.knowledge import Knowledge, distilled
from hone.harnesses.mapping.params import MapThenActParams
from hone.harnesses.openings import asked
from hone.harnesses.seat import Answer, Heard, Over, Seat
from hone.text.reasoning import spoken

COLLECTION = "knowledge"
ANALYSE, REFLECT, DISTILL = "analyse", "reflect", "distill"


async def built(seat: Seat, params: MapThenActParams, known: Knowledge, knowledge: str) -> None:
    """Try a task in rounds, the last one in the episode itself, and offer what was learned from it.

    The first three of the paper's four roles write freely; what the last one writes is offered line by line.
    """
    analysis = await seat.ask(asked(seat, params.analyse, knowledge=knowledge), ANALYSE, tools=[])
    said, reflections = [f"Find out: {spoken(analysis.text)}"], list[str]()
    for number in range(1, params.rounds + 1):
        [player] = [seat] if number == params.rounds else await seat.fork(1, before=analysis.number)
        episode = await _tried(player, params, asked(
            player, params.attempt, knowledge=knowledge, priorities=spoken(analysis.text),
            reflections="\n".join(reflections)))
        succeeded = player.facts.score is not None and player.facts.score >= params.success
        said.append(f"Round {number}, {'solved' if succeeded else 'not solved'}:\n{episode}")
        if not succeeded and (text := await _reflected(seat, params, analysis, episode)):
            reflections.append(text)
            said.append(text)
    await _distilled(seat, params, analysis, known, knowledge, said)


async def _tried(seat: Seat, params: MapThenActParams, said: Heard | list[Message]) -> str:
    """Play to the end, and return what was done and heard."""
    episode = list[str]()
    with suppress(Over):
        while not seat.over:
            action = spoken((await seat.ask(said, EXPLORE)).text)
            said = await seat.act(action)
            episode += [f"> {action}", said_text(said.messages)]
    return "\n".join(episode)[-params.characters:]


async def _reflected(seat: Seat, params: MapThenActParams, analysis: Answer, episode: str) -> str:
    """Return why a round failed; "" where there is no room to ask. The seat's episode may have ended: ask at a fork."""
    [after] = await seat.fork(1, before=analysis.number)
    with suppress(Over):
        return spoken((await after.ask(asked(seat, params.reflect, episode=episode), REFLECT, tools=[])).text)
    return ""


async def _distilled(
    seat: Seat, params: MapThenActParams, analysis: Answer, known: Knowledge, knowledge: str, said: Sequence[str]
) -> None:
    [after] = await seat.fork(1, before=analysis.number)
    lessons = asked(seat, params.distill, knowledge=knowledge, episode="\n".join(said)[-params.characters:])
    items = distilled(spoken((await after.ask(lessons, DISTILL, tools=[])).text), seat.task, known)
    after.note("distilled", len(items))
    for item in items:
        after.offer(COLLECTION, item)
