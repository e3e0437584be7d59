"""A harness of a user's own that plays in phases: it acts, forks, lets both forks act on, and chooses between them."""

from typing import ClassVar

from hone.environments.contract import Message
from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import Seat
from hone.text.reasoning import spoken

NAME = f"{__name__}:Forking"


class Forking:
    """The action is the answer of the fork whose environment understood more, or else of the one that is drawn."""

    summary = "Acts once, tries two answers in forks, and takes one."
    params = HarnessParams
    kinds: ClassVar[frozenset[str]] = frozenset({"answer", "try", "choice"})

    async def play(self, seat: Seat, params: HarnessParams) -> None:  # noqa: ARG002
        heard = await seat.act(spoken((await seat.ask(seat.opening)).text))

        async def tried(fork: Seat) -> tuple[bool, str]:
            text = spoken((await fork.ask(heard, "try", group_key="tries")).text)
            understood = (await fork.act(text)).valid
            fork.note("understood", understood)
            return understood, text

        tries = await seat.together(*(tried(fork) for fork in await seat.fork(2)))
        seat.random.shuffle(tries)
        best = max(tries, key=lambda one: one[0])[1]
        again: list[Message] = [*seat.opening, {"role": "user", "content": f"{best[:4]}="}]
        answer = spoken((await seat.ask(again, "choice")).text)
        if answer == best:
            seat.penalty("repeats", -0.1)
        await seat.act(answer)
