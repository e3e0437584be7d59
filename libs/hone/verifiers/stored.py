"""A grader that Hone stores, as a verify server without a key, a reward of `verifiers` and a rubric of OpenEnv."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from hone.client import Client
from hone.client.errors import HoneError, Refused
from hone.graders.responses import PARAMS, RESPONSE, response_of
from hone.spec.problems import Invalid
from hone.verifiers.contract import Scores, Submitted, Unscored


class StoredVerifier:
    """A grader under a name, asked at a gateway. Each method raises where it gave no reward."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name

    async def scores(self, submitted: Submitted) -> Scores:
        """Return the grader's reward. Raises Invalid and Unscored."""
        try:
            found = await asyncio.to_thread(self._client.verify, self._name, submitted.whole)
        except Refused as error:
            raise Invalid(error.problems) from error
        except HoneError as error:
            raise Unscored(str(error)) from error
        return Scores(found.reward, found.reward_components)

    def reward(self, row: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], answer: str) -> float:
        """Return the grader's reward for an answer to some messages. Raises HoneError."""
        sent = {**row, PARAMS: {"input": list(messages)}, RESPONSE: response_of(dict(row), answer)}
        return self._client.verify(self._name, sent).reward


def taskset_reward(client: Client, name: str) -> Callable[[Any, Any], Awaitable[float]]:
    """Return a reward `(task, trace)` for tasks of `verifiers` 0.4. An exception of it is a TaskError there."""
    verifier = StoredVerifier(client, name)

    async def stored_grader(task: Any, trace: Any) -> float:
        row = task.model_dump(mode="json", exclude_none=True)
        messages = [{"role": one.role, "content": one.content} for one in trace.messages[:-1]]
        return await asyncio.to_thread(verifier.reward, row, messages, trace.last_reply)

    return stored_grader


def openenv_rubric(client: Client, name: str, text: Callable[[Any], str] = str) -> Any:
    """Return an OpenEnv Rubric. The row is the observation's `metadata`; `text` reads the answer from an action."""
    verifier = StoredVerifier(client, name)
    base: Any = import_module("openenv.core.rubrics").Rubric

    class StoredGrader(base):  # type: ignore[misc]  # the package is installed where it is used
        """The reward of a stored grader."""

        async def forward(self, action: Any, observation: Any) -> float:
            return await asyncio.to_thread(verifier.reward, observation.metadata, [], text(action))

    return StoredGrader()
