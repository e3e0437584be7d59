"""The part of the SDK's client that plays one task by hand, before any run."""

from collections.abc import Mapping
from typing import Any

from hone.client.play_resources import ClosedPlay, Play, PlayState, PlayStep, TaskSplit
from hone.client.requests import Requests
from hone.client.transport import rest_path

_ANSWER_S = 320.0
"""Seconds that a world elsewhere, or a model that speaks for a user, may take."""


class Plays(Requests):
    """Methods of sessions. A session is held by one process of the stack, and gone when that one ends."""

    def start_play(
        self, environment: str | None = None, params: Mapping[str, Any] | None = None, dataset: str | None = None,
        row: int | None = None, seed: int | None = None, split: TaskSplit = "train",
        noise: Mapping[str, Any] | None = None, voice: Mapping[str, Any] | None = None,
    ) -> Play:
        """Begin a task: a dataset's row, from 1, or the first one that an environment draws with a seed.

        `noise` is as in a spec, and the task has it whatever `share` says. `voice` is {"model": NAME} or {"endpoint":
        NAME}: who finds the words that the environment asks for. Raises Refused, with the field.
        """
        given = {"environment": environment, "params": params and dict(params), "dataset": dataset, "row": row,
                 "seed": seed, "split": split, "noise": noise and dict(noise), "voice": voice and dict(voice)}
        return self._send(Play, "POST", "/v1/sessions", timeout=_ANSWER_S,
                          json={name: value for name, value in given.items() if value is not None})

    def say(self, session_id: str, index: int, text: str, voice: Mapping[str, Any] | None = None) -> PlayStep:
        """Take step `index` with a text: it is said, or is the action. The same index returns the same answer.

        Raises NotFound where the session is gone, Conflict where its episode has ended.
        """
        return self._step(session_id, {"index": index, "text": text}, voice)

    def call_tool(
        self, session_id: str, index: int, tool: str, arguments: Mapping[str, Any],
        voice: Mapping[str, Any] | None = None,
    ) -> PlayStep:
        """Take step `index` with the call of a tool. The same index returns the same answer. Raises what `say` raises.
        """
        return self._step(session_id, {"index": index, "call": {"tool": tool, "arguments": dict(arguments)}}, voice)

    def play_state(self, session_id: str) -> PlayState:
        """Return the present state of a session, with its score. Raises NotFound where it is gone."""
        return self._send(PlayState, "GET", rest_path("sessions", session_id), timeout=_ANSWER_S)

    def end_play(self, session_id: str) -> ClosedPlay:
        """Forget a session. Raises NotFound for an id that is none of the tenant's."""
        return self._send(ClosedPlay, "DELETE", rest_path("sessions", session_id))

    def _step(self, session_id: str, taken: dict[str, Any], voice: Mapping[str, Any] | None) -> PlayStep:
        body = {**taken, **({"voice": dict(voice)} if voice else {})}
        return self._send(PlayStep, "POST", rest_path("sessions", session_id, "steps"), json=body, timeout=_ANSWER_S)
