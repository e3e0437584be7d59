"""Plain chat: what the policy says is its action."""

from hone.environments.contract import Message
from hone.harnesses.contract import HarnessParams, Tools


class ChatParams(HarnessParams):
    """Nothing of its own."""


class Chat:
    """The conversation as it is; each answer is one action."""

    summary = "Plain chat: each answer of the policy is one action."
    params = ChatParams

    def opening(self, params: ChatParams, messages: list[Message], tools: Tools) -> list[Message]:
        return messages

    def actions(self, params: ChatParams, text: str, tools: Tools) -> list[str]:
        return [text]
