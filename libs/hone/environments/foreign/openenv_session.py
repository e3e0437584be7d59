"""A WebSocket session with an OpenEnv server: each connection has an environment of its own.

Messages are `{"type": "reset" | "step", "data": …}`; answers `{"type": "observation", "data": {"observation", "reward",
"done"}}` or `{"type": "error", "data": {"message", "code"}}` (openenv/core/env_server of openenv-core 0.3).
"""

import json
import ssl
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.sync.client import ClientConnection, connect

from hone.environments.contract import EpisodeFailed, EpisodeLost, Message, WrongParams
from hone.environments.foreign.episode import LONGEST, Heard
from hone.environments.foreign.openenv_actions import Actions, NotRead
from hone.environments.foreign.openenv_params import OpenEnvParams
from hone.environments.foreign.openenv_schema import action_schema
from hone.environments.foreign.places import Place, may_pass
from hone.environments.foreign.scores import Rewards
from hone.spec.strict_json import number

_MOST_BYTES, _CONNECT_S, _LEAVE_S = 2**24, 10.0, 1.0
_FULL = frozenset({"CAPACITY_REACHED", "FACTORY_ERROR", "SESSION_ERROR"})
"""Errors of a server that has no session to give: another attempt may find one."""


class OpenEnvWorld:
    """One session. It is opened at the reset."""

    def __init__(self, place: Callable[[], Place], params: OpenEnvParams, seed: int) -> None:
        self._find, self._params, self._seed = place, params, seed
        self._socket: ClientConnection | None = None
        self._held = ExitStack()
        self._timeout_s, self._rewards = 0.0, Rewards(params)
        self._actions: Actions | None = None

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        return self._actions.tools if self._actions else None

    def reset(self) -> Heard:
        place, params = self._find(), self._params
        self._timeout_s = place.timeout_s
        self._actions = Actions(action_schema(params.world, place), params)
        self._socket = _opened(self._held, params.world, place)
        try:
            answer = self._asked("reset", {**params.reset, "seed": self._seed})
        except EpisodeFailed as failed:  # nothing was played yet
            raise EpisodeLost(str(failed)) from failed
        if "code" in answer:
            raise WrongParams("params.reset", params.reset, f"what the server's reset takes ({_reason(answer)})")
        observation = answer.get("observation")
        if params.show and isinstance(observation, dict) and params.show not in observation:
            raise WrongParams("params.show", params.show, f"a field of {list(observation)}")
        opening: list[Message] = [{"role": "system", "content": params.instruction}] if params.instruction else []
        return self._heard(answer, opening, "user")

    def step(self, action: str) -> Heard:
        assert self._actions is not None, "it was reset"
        try:
            data = self._actions.read(action)
        except NotRead as wrong:
            return self._refused(str(wrong))
        answer = self._asked("step", data)
        if answer.get("code") == "VALIDATION_ERROR" or ("code" in answer and self._params.errors == "show"):
            return self._refused(_reason(answer))
        if "code" in answer:
            raise EpisodeFailed(f"the server failed in a step: {_reason(answer)}")
        return self._heard(answer, [], "tool" if self._actions.tools else "user")

    def close(self) -> None:
        if self._socket is None:
            return
        socket, self._socket = self._socket, None
        with suppress(ConnectionClosed, OSError, TimeoutError):
            socket.send(json.dumps({"type": "close"}))
            socket.recv(timeout=_LEAVE_S)  # the server closes it
        self._held.close()

    def _asked(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of an answer; with `code`, it is an error. Raises EpisodeLost and EpisodeFailed."""
        if self._socket is None:
            raise EpisodeLost("the session is closed")
        try:
            self._socket.send(json.dumps({"type": kind, "data": data}))
            read = json.loads(self._socket.recv(timeout=self._timeout_s))
        except TimeoutError as error:
            self.close()
            raise EpisodeFailed(f"the server gave no answer to a {kind} within {self._timeout_s:g} s") from error
        except (ConnectionClosed, OSError) as error:
            raise EpisodeLost(f"the OpenEnv server has gone: {type(error).__name__}") from error
        except (ValueError, RecursionError) as error:
            raise EpisodeFailed("the server answered with no JSON") from error
        return _data(read)

    def _heard(self, answer: Mapping[str, Any], before: list[Message], role: str) -> Heard:
        done, reward = answer.get("done", False), answer.get("reward")
        given = float(reward) if isinstance(reward, bool) else number(reward)
        known = reward is None or given is not None
        if not isinstance(done, bool) or not known or not isinstance(answer.get("observation"), dict):
            raise EpisodeFailed(f"the server answered {str(answer)[:200]}, expected observation, reward and done")
        self._rewards.add(given)
        text = _shown(answer["observation"], self._params.show)
        return Heard([*before, {"role": role, "content": text[:LONGEST] + "\n"}], done, score=self._rewards.score(done))

    def _refused(self, why: str) -> Heard:
        """Return the policy's message about an answer that was no action, or that the server failed at."""
        role = "tool" if self.tools else "user"
        said: list[Message] = [{"role": role, "content": f"error: {why}\n"}]
        return Heard(said, valid=False, score=self._rewards.score(done=False))


def _opened(held: ExitStack, world: str, place: Place) -> ClientConnection:
    """Return a connection. Raises WrongParams for what is no WebSocket, and EpisodeLost where none answers."""
    address = "ws" + place.url.removeprefix("http").rstrip("/") + "/ws"
    headers = {"Authorization": place.authorization} if place.authorization else None
    try:
        return held.enter_context(connect(
            address, open_timeout=_CONNECT_S, close_timeout=_LEAVE_S, max_size=_MOST_BYTES, proxy=None,
            additional_headers=headers))
    except (InvalidHandshake, InvalidURI, ssl.SSLError) as error:
        if _is_away(error):
            raise EpisodeLost(f"the OpenEnv server {world} has no session now: {error}") from error
        raise WrongParams("params.world", world, f"an OpenEnv server with sessions at /ws ({error})") from error
    except OSError as error:
        raise EpisodeLost(f"the OpenEnv server {world} cannot be reached: {type(error).__name__}") from error


def _is_away(error: Exception) -> bool:
    """Return whether a connection failed as that of a server that starts or ends does, or one with no room."""
    if isinstance(error, InvalidStatus):
        return may_pass(error.response.status_code)
    return isinstance(error.__cause__, EOFError)  # it was closed before an answer


def _data(read: Any) -> dict[str, Any]:
    """Return the data of a message; with `code`, it is an error. Raises EpisodeLost and EpisodeFailed."""
    data = read.get("data") if isinstance(read, dict) else None
    if not isinstance(data, dict) or read.get("type") not in ("observation", "error"):
        raise EpisodeFailed(f"the server answered {str(read)[:200]}, expected an observation or an error")
    if read["type"] == "observation":
        return {name: data[name] for name in ("observation", "reward", "done") if name in data}
    if str(data.get("code")) in _FULL:
        raise EpisodeLost(f"the server has no session: {_reason(data)}")
    return {"code": "UNKNOWN", **data}


def _shown(observation: Mapping[str, Any], show: str) -> str:
    """Return the part of an observation that the policy reads. Raises EpisodeFailed."""
    if show and show not in observation:
        raise EpisodeFailed(f"the observation has no field {show} (params.show), but {', '.join(observation)}")
    if show:
        value = observation[show]
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    texts = [value for value in observation.values() if isinstance(value, str)]
    return texts[0] if len(texts) == len(observation) == 1 else json.dumps(observation, ensure_ascii=False)


def _reason(data: Mapping[str, Any]) -> str:
    """Return the text of a server's error, with the first wrong field where it names any."""
    errors = data.get("errors")
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
    at = first.get("loc")
    place = ".".join(map(str, at)) if isinstance(at, list) else "errors[0]"
    detail = f": {place}: {first.get('msg', '')}" if first else ""
    return f"{data.get('message', 'no reason')}{detail}"[:500]
