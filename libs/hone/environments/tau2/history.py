"""First messages of an agent: the policy, and the conversation before its first turn."""

import json
from collections.abc import Iterator, Sequence

from hone.environments.contract import Message
from hone.environments.tau2.task import DomainTask, HistoryMessage


def opening(task: DomainTask, policy: str) -> list[Message]:
    """Return the first messages of a task: the policy where it is shown, and its message history."""
    head: list[Message] = [{"role": "system", "content": policy.rstrip() + "\n"}] if policy.strip() else []
    return [*head, *_shown(task.state.message_history or [])]


def spoken(task: DomainTask) -> list[Message]:
    """Return the conversation of user and agent before the first turn, without calls."""
    return [{"role": one.role, "content": one.content} for one in task.state.message_history or []
            if one.role != "tool" and one.content and not one.tool_calls]


def _shown(history: Sequence[HistoryMessage]) -> Iterator[Message]:
    """Yield messages as the agent sees them: the user's own calls and their answers are not its to see."""
    for one in history:
        if one.role == "tool":
            if one.requestor == "assistant":
                yield {"role": "tool", "content": f"{one.content or ''}\n", "tool_call_id": one.id}
        elif one.role == "user":
            if not one.tool_calls:
                yield {"role": "user", "content": f"{one.content or ''}\n"}
        elif one.tool_calls:
            yield {"role": "assistant", "content": one.content or "", "tool_calls": [
                {"id": call.id, "type": "function", "function": {
                    "name": call.name, "arguments": json.dumps(call.arguments)}} for call in one.tool_calls]}
        else:
            yield {"role": "assistant", "content": one.content or ""}
