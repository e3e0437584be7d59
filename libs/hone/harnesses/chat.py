"""Plain chat: each completion of the policy is its action."""

from hone.environments.contract import Message
from hone.harnesses.contract import HarnessParams, Tools
from hone.text.reasoning import spoken


class ChatParams(HarnessParams):
    """No parameters beside those of every harness."""


class Chat:
    """Shows the conversation unchanged. Each answer, without its reasoning, is one action."""

    summary = "Plain chat: each answer of the policy is one action."
    params = ChatParams

    def opening(self, params: ChatParams, messages: list[Message], tools: Tools) -> list[Message]:
        return messages

    def shown(self, params: ChatParams, tools: Tools) -> Tools:
        return tools

    def actions(self, params: ChatParams, text: str, tools: Tools) -> list[str]:
        return [spoken(text)]
