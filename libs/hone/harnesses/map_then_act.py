"""Map then act: explore within a budget, write down a map, then do the task with it. MAP, arXiv 2605.13037.

Calls have the kinds `explore`, `map` and `execute`. Knowledge of the environment beyond an episode is the run's
collection `knowledge`; episodes that build it have the kinds `analyse`, `explore`, `reflect` and `distill`. The signals
of exploration, the forms of maps and all texts are a reconstruction.

A harness cannot reset an environment. So exploration is played at a fork that is made before it, and the task begins in
its first state; without `reset` both are one episode, and only harmless actions explore.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from hone.environments.contract import Message
from hone.harnesses.mapping.exploration import (
    EXPLORE,
    MAP,
    Explored,
    begun,
    explored,
    leaves_a_turn,
    mapped,
    said_text,
    with_line,
)
from hone.harnesses.mapping.facts import extracted
from hone.harnesses.mapping.knowledge import Knowledge, knowledge
from hone.harnesses.mapping.lessons import ANALYSE, COLLECTION, DISTILL, REFLECT, built
from hone.harnesses.mapping.maps import TaskMap
from hone.harnesses.mapping.params import MapThenActParams
from hone.harnesses.openings import asked
from hone.harnesses.seat import Heard, Seat
from hone.text.reasoning import spoken

EXECUTE = "execute"


class MapThenAct:
    """Without a budget and without knowledge an episode is that of `chat`: the same prompts."""

    summary = "The policy explores a copy of its world first, writes down a map, then does the task with it."
    params = MapThenActParams
    kinds: ClassVar[frozenset[str]] = frozenset({EXPLORE, MAP, EXECUTE, ANALYSE, REFLECT, DISTILL})
    collections: ClassVar[frozenset[str]] = frozenset({COLLECTION})

    async def play(self, seat: Seat, params: MapThenActParams) -> None:
        items = seat.read(COLLECTION) if params.knowledge != "off" else []
        known = knowledge(items, seat.task, params.knowledge_characters)
        text = _block("What is known of this environment:", known.text)
        if params.knowledge == "build":
            await built(seat, params, known, text)
            return
        turns = seat.facts.turns_left
        explores = params.budget and leaves_a_turn(seat, params)
        found, made = await _surveyed(seat, params, text) if explores else (None, TaskMap())
        await _execute(seat, params, known, Execution(seat, params, found, turns), text, made)


async def _surveyed(seat: Seat, params: MapThenActParams, text: str) -> tuple[Explored, TaskMap]:
    [scout] = await seat.fork(1) if params.reset else [seat]
    found = await explored(scout, params, text)
    return found, await mapped(seat, params, text, found)


class Execution:
    """An execution: its steps, and the facts that it adds to the map."""

    def __init__(self, seat: Seat, params: MapThenActParams, found: Explored | None, turns: int) -> None:
        self._params, self._turns = params, turns
        self._explored = 0 if found is None else len(found.history)
        self._known = None if found is None or not params.append else found.facts
        self._now = begun(seat)
        self.steps = self.invalid = 0

    def took(self, seat: Seat, action: str, heard: Heard) -> Heard:
        """Count a step, and return what is said of it: with the facts that nobody had seen."""
        self.steps += 1
        self.invalid += not heard.valid
        if self._known is None:
            return heard
        found, self._now.where = extracted(
            action, said_text(heard.messages), heard.valid, heard.effect, self._now.names, self._now.where)
        new = [fact for fact in sorted(found) if fact not in self._known]
        self._known.update(dict.fromkeys(new, self._explored + self.steps))
        if not new or seat.over:
            return heard
        texts = [fact.text for fact in new]
        seat.note("seen", texts)
        return Heard(with_line(heard.messages, f"New in the map: {'; '.join(texts)}."))

    def outcome(self, seat: Seat) -> dict[str, Any]:
        """Return whether the episode succeeded, and whether it had with exploration counted as turns of it.

        None: the environment does not score itself. Without `reset` exploration is counted in any case.
        """
        score = seat.facts.score
        known = seat.ended == "done" and score is not None
        success = score >= self._params.success if known and score is not None else None
        spent = self.steps + (self._explored if self._params.reset else 0)
        return {"success": success, "charged": success if success is None else success and spent <= self._turns,
                "explored": self._explored, "executed": self.steps, "invalid": self.invalid, "spent": spent,
                "turns": self._turns}


async def _execute(
    seat: Seat, params: MapThenActParams, known: Knowledge, run: Execution, text: str, made: TaskMap
) -> None:
    """Do the task in the way of `chat`, with what is known before it."""
    block = _block("Map of this task, made before:", made.text)
    said: Sequence[Message] | Heard = asked(
        seat, params.execute, knowledge=text, map=block) if text or block else seat.opening
    try:
        while not seat.over:
            answer = await seat.ask(said, EXECUTE)
            if not run.steps and params.knowledge == "read":
                seat.note("knowledge", {
                    "version": known.version, "texts": len(known.known), "withheld": known.withheld})
            action = spoken(answer.text)
            said = run.took(seat, action, await seat.act(action))
    finally:
        if run.steps:
            seat.note("outcome", run.outcome(seat))


def _block(heading: str, text: str) -> str:
    return f"{heading}\n{text}\n\n" if text else ""
