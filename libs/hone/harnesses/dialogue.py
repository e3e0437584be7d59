"""A dialogue: an answer's tool calls are carried out in order; an answer without a call is said to the user.

Calls are written and read as in the tool loop. Text beside calls is not said. The environment decides when it is over.
"""

from typing import ClassVar

from hone.environments.contract import Message
from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import Heard, Seat
from hone.harnesses.tool_loop import ToolLoopParams, actions, explained


class DialogueParams(ToolLoopParams):
    """How calls are written, and whether a system message explains them."""


class Dialogue:
    """Each call is one action, and so is an answer without a call: what is said to the user."""

    summary = "Tool calls in the policy's answers are carried out; an answer without a call is said to the user."
    params: ClassVar[type[HarnessParams]] = DialogueParams
    kinds: ClassVar[frozenset[str]] = frozenset({"answer"})

    async def play(self, seat: Seat, params: DialogueParams) -> None:
        shown = seat.tools if params.describe == "template" else []
        said: list[Message] | Heard = _opening(params, seat)
        while not seat.over:
            answer = await seat.ask(said, tools=shown)
            said = await seat.act(*actions(params, answer.text, seat.tools))


def _opening(params: DialogueParams, seat: Seat) -> list[Message]:
    """Return the first messages; the tools are explained in their system message, or in one before them."""
    if params.describe is not True or not seat.tools:
        return seat.opening
    text = explained(params, seat.tools, "is said to the user")
    head, *others = seat.opening
    if head["role"] != "system":
        return [{"role": "system", "content": text}, head, *others]
    return [{**head, "content": f"{head['content'].rstrip()}\n\n{text}"}, *others]
