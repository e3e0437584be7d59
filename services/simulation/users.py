"""Simulated users for agents elsewhere: sessions of the environment `dialogue`, with words of models where needed."""

import json
import math
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hone.api import simulation_pb2, trajectory_pb2
from hone.environments.contract import Ask, Observation, Transition
from hone.environments.dialogues.episode import DialogueEpisode
from hone.environments.hashing import canonical
from hone.environments.tasks import json_object
from hone.graders.questions import JudgeFailed, Question
from hone.judges.asking import AskedJudges
from hone.process.line import StillWaiting, Turn
from hone.rpc.errors import InvalidField, Refused, Unanswered
from hone.rpc.tenancy import Caller
from hone.spec.problems import unstorable
from services.simulation.sessions import Session

Step = Callable[[Session, int, str], Awaitable[Transition]]
"""Takes the step of a session with an index, or returns its stored result."""
_MOST_TOKENS, _TEMPERATURE, _HOTTEST = 512, 0.7, 2.0


def task(request: simulation_pb2.CreateUserRequest) -> trajectory_pb2.Task:
    """Return the task of a session with the user that is asked for. Raises WrongParams and InvalidField."""
    params = _object(request.params_json or "{}", "params_json")
    drawn = not request.user_json and "domain" in params
    if "domain" in params and (not drawn or params["domain"] == "talk"):
        raise InvalidField("params_json.domain", params["domain"], "none with a user_json, or orders or sales without")
    item = None if drawn else _object(request.user_json, "user_json")
    return trajectory_pb2.Task(
        environment="dialogue", params_json=json.dumps({"domain": "talk", **params}), seed=request.seed,
        item_json="" if item is None else json.dumps(item))


def _object(text: str, field: str) -> dict[str, Any]:
    """Return the object of a field. Raises WrongParams, and InvalidField for values that are not finite, and the like.
    """
    value = json_object(text, field)
    for wrong in unstorable(value):
        raise InvalidField(f"{field}.{wrong.field}", wrong.found, wrong.expected)
    return value


def words(seen: Observation) -> str:
    """Return the last words of a user; empty if it said nothing."""
    said = [message["content"] for message in seen.messages if message["role"] == "user"]
    return str(said[-1]).strip() if said else ""


class Users:
    """Says texts to users, and has judges find the words of those that a model speaks for."""

    def __init__(self, step: Step, judges: AskedJudges | None) -> None:
        """`judges`: None where no model can be asked."""
        self._step, self._judges = step, judges

    async def say(
        self, session: Session, request: simulation_pb2.SayRequest, who: Caller | None,
    ) -> simulation_pb2.SayResponse:
        """Return a user's answer, or its first words. Raises InvalidField, NotFound, Unanswered, NotReady, and
        Refused: also for unfaithful words.
        """
        index = request.index
        due = _due(session, request)
        text = request.text if due is None else await self._found(due, session, index, request.voice, who)
        taken = await self._step(session, index, text)
        rules = dict(taken.rules)
        while (asked := taken.observation.ask) is not None:
            index += 1
            found = "" if index < session.next_index else await self._found(asked, session, index, request.voice, who)
            taken = await self._step(session, index, found)
        return simulation_pb2.SayResponse(
            words=words(taken.observation), done=taken.done, next_index=index + 1,
            item_json=canonical(taken.observation.item), rules=rules)

    async def find(
        self, session: Session, request: simulation_pb2.FindWordsRequest, who: Caller | None,
    ) -> Transition:
        """Return the step of the words that a session asks for. Raises what `say` raises, also where nobody is asked.
        """
        if request.index != session.next_index:
            return await self._step(session, request.index, "")  # stored, or no index of the session's
        asked = session.seen.ask if session.seen else None
        if asked is None:
            raise Refused("the session asks nobody for words now")
        found = await self._found(asked, session, request.index, request.voice, who)
        return await self._step(session, request.index, found)

    async def _found(
        self, asked: Ask, session: Session, index: int, voice: simulation_pb2.Voice, who: Caller | None,
    ) -> str:
        """Return the words that a model finds."""
        _expect_a_voice(voice)
        if self._judges is None or who is None:
            raise Refused("no model can be asked here: the service has no database, or the caller no tenant")
        temperature = voice.temperature if voice.HasField("temperature") else _TEMPERATURE
        question = Question(voice.endpoint, _plain(asked), voice.max_tokens or _MOST_TOKENS, temperature,
                            seed=zlib.crc32(f"{session.task.seed}/{index}".encode()) % 2**31)
        try:
            reply = await self._judges.ask(question, Turn(tenant=who.tenant_id, key=who.key_id))
        except (JudgeFailed, StillWaiting) as failed:
            if isinstance(failed, JudgeFailed) and failed.missing:
                raise InvalidField("voice.endpoint", voice.endpoint, f"a judge or a model that is there: {failed}",
                                   ) from failed
            raise Unanswered(f"{voice.endpoint} gave no words for the user: {failed}") from failed
        return reply.text


def _expect_a_voice(voice: simulation_pb2.Voice) -> None:
    if not voice.endpoint or "\0" in voice.endpoint:
        raise InvalidField("voice.endpoint", voice.endpoint,
                           "the name of a judge or of a model, which finds the user's words")
    if voice.max_tokens < 0:
        raise InvalidField("voice.max_tokens", voice.max_tokens, f"at least 1, or 0 for {_MOST_TOKENS}")
    if not (math.isfinite(voice.temperature) and 0 <= voice.temperature <= _HOTTEST):
        raise InvalidField("voice.temperature", voice.temperature, f"a number from 0 to {_HOTTEST:g}")


def _due(session: Session, request: simulation_pb2.SayRequest) -> Ask | None:
    """Return the question to a model before the agent's next text, as for a user's first words. Raises InvalidField."""
    if request.index != session.next_index or not isinstance(session.episode, DialogueEpisode):
        return None
    due = session.episode.asked
    if due is not None and request.text:
        raise InvalidField("text", request.text[:100], "an empty text: the user speaks first, and its words are due")
    return due


def _plain(asked: Ask) -> list[Mapping[str, Any]]:
    return [dict(message) for message in asked.messages]
