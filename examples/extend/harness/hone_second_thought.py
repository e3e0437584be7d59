"""A harness that asks twice: the policy reads its first answer, and its second answer is the action."""

from pydantic import Field

from hone.environments.contract import Message
from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import Seat


class SecondThoughtParams(HarnessParams):
    """The text between the answers. Users see the schema of this class, with the descriptions."""

    ask_again: str = Field("Check your answer.", min_length=1, description="Text that follows the first answer.")


class SecondThought:
    """It works in any environment: it knows its seat alone, and has no clock and no randomness of its own."""

    summary = "Two answers to each question: the policy reads its first answer, and the second is the action."
    params = SecondThoughtParams
    kinds = frozenset({"first", "second"})

    async def play(self, seat: Seat, params: SecondThoughtParams) -> None:
        """Play one sample. It has ended when this returns."""
        said: list[Message] = list(seat.opening)
        while not seat.over:
            first = await seat.ask(said, "first")
            said += [_message("assistant", first.text), _message("user", params.ask_again)]
            second = await seat.ask(said, "second")
            heard = await seat.act(second.text)
            said += [_message("assistant", second.text), *heard.messages]


def _message(role: str, text: str) -> Message:
    return {"role": role, "content": text}
