"""Plain chat: each completion of the policy is its action."""

from typing import ClassVar

from hone.environments.contract import Message
from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import Heard, Seat
from hone.text.reasoning import spoken


class ChatParams(HarnessParams):
    """No parameters beside those of every harness."""


class Chat:
    """Shows the conversation unchanged. Each answer, without its reasoning, is one action."""

    summary = "Plain chat: each answer of the policy is an action."
    params = ChatParams
    kinds: ClassVar[frozenset[str]] = frozenset({"answer"})

    async def play(self, seat: Seat, params: ChatParams) -> None:
        said: list[Message] | Heard = seat.opening
        while not seat.over:
            answer = await seat.ask(said)
            said = await seat.act(spoken(answer.text))
