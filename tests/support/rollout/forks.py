"""Harnesses that fork their context."""

from collections.abc import Callable
from typing import Any

from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import Seat
from hone.trajectory import journal
from hone.trajectory.records import Call, Step, Turn
from services.rollout.branches import Episode
from services.rollout.calls import CallRequest
from tests.support.rollout.episodes import Script, answer


class Harness:
    """A harness made of a function."""

    summary, params = "For tests.", HarnessParams

    def __init__(self, play: Callable[[Seat], Any]) -> None:
        self._play = play

    async def play(self, seat: Seat, params: HarnessParams) -> None:  # noqa: ARG002
        await self._play(seat)


class Texts(Script):
    """Answers each call with a text of its own, by its number."""

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        super().__init__("begin", [], before)
        self.kept: dict[tuple[int, str], Turn] = {}

    async def next_call(self, question: CallRequest, index: int, steps: list[Step]) -> Call:
        self.asked.append((question, steps))
        self.before()
        call = answer(question, f"say {question.ask.number}")
        self.kept[index, call.number] = journal.decode(journal.encode({index: Turn(call, steps)}))[index]
        return call


class Cut(Exception):
    """The worker dies here."""


def ends(episode: Episode) -> tuple[list[Call], list[Step], str, str]:
    return episode.calls, episode.steps, episode.ended, episode.item_json
