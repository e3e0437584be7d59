"""Rollouts of an environment of `verifiers`, in the one program that plays all of them (`verifiers_rollouts`)."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from hone.environments.contract import EpisodeFailed, EpisodeLost, WrongParams
from hone.environments.foreign.episode import LONGEST, Heard
from hone.environments.foreign.places import Place
from hone.environments.foreign.program import Gone, Late, Program
from hone.environments.foreign.scores import Rewards, ScoredParams
from hone.environments.tools import tool_call

_SERVING = "hone.environments.foreign.children.verifiers_rollouts.serving"
_CHILD = ["-c", "import runpy, sys; sys.path.append(sys.argv[1]); runpy.run_module(sys.argv[2])['main']()",
          str(Path(__file__).with_name("children")), _SERVING.partition(".children.")[2]]
_LOAD_S, _ALIVE_S, MOST_PROGRAMS = 300.0, 5.0, 16


class VerifiersWorld:
    """A rollout. It begins at the reset."""

    def __init__(self, name: str, find: Callable[[], Place], params: ScoredParams, row: int) -> None:
        self._name, self._find, self._row = name, find, row
        self._rewards, self._timeout_s = Rewards(params), 0.0
        self._program: Program | None = None
        self._tools, self._id = list[dict[str, Any]](), ""

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        return self._tools or None

    def reset(self) -> Heard:
        place = self._find()
        self._timeout_s, self._id = place.timeout_s, PROGRAMS.new_id()
        self._program = PROGRAMS.of(self._name, place)
        try:
            said = self._asked({"row": self._row}, late=EpisodeLost)
        except EpisodeFailed as failed:
            raise WrongParams("params.world", self._name, f"an environment that begins ({failed})") from None
        return self._heard(said)

    def step(self, action: str) -> Heard:
        call = tool_call(action)
        if call is None or call.tool is None:  # a call that could not be read is what the policy wrote
            return self._heard(self._asked({"text": call.arguments.get("text", action) if call else action}))
        return self._heard(self._asked({"tool": call.tool, "arguments": call.arguments}))

    def close(self) -> None:
        if self._program is not None:
            self._program.forget(self._id)

    def _asked(self, message: dict[str, Any], late: type[Exception] = EpisodeFailed) -> dict[str, Any]:
        """Return the answer to a message. Raises EpisodeLost, EpisodeFailed for an error, and `late` for none in time.
        """
        assert self._program is not None, "it was reset"
        try:
            said: dict[str, Any] = self._program.ask(self._id, message, self._timeout_s)
        except Late as error:
            self._program.forget(self._id)
            if self._program.hangs(_ALIVE_S):
                self._program.close()  # others hang with it: their episodes are made again
            raise late(f"the environment {self._name}: {error}") from error
        except Gone as gone:
            raise EpisodeLost(f"the program of {self._name} has ended: {gone}") from gone
        if "error" in said:
            raise EpisodeFailed(f"the environment {self._name} failed: {said['error']}")
        return said

    def _heard(self, said: dict[str, Any]) -> Heard:
        self._tools, done = said.get("tools", self._tools), bool(said.get("done"))
        self._rewards.add(said.get("reward"))
        messages = [{"role": one["role"], "content": one["content"][:LONGEST] + "\n"}
                    for one in said["messages" if done else "asked"]]
        return Heard(messages, done, score=self._rewards.score(done), facts={"metrics": said.get("metrics", {})})


@dataclass
class _Programs:
    """The programs of this process, one for each environment. They end with the process."""

    _kept: dict[str, "Future[Program]"] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _ids: "count[int]" = field(default_factory=count)

    def new_id(self) -> str:
        """Return an id for an episode."""
        return str(next(self._ids))

    def of(self, name: str, place: Place) -> Program:
        """Return the program of an environment, once it is loaded. Raises WrongParams and EpisodeLost."""
        started = self._started(place)
        try:
            return started.result(place.timeout_s)
        except TimeoutError as error:
            raise EpisodeLost(f"the environment {name} is still being loaded") from error
        except (OSError, Gone, Late) as error:
            self._drop(place, started)
            raise WrongParams("params.world", name, f"an interpreter with verifiers ({place.python}) that loads "
                              f"{place.package} ({error})") from error

    def _started(self, place: Place) -> "Future[Program]":
        key = _key(place)
        with self._lock:
            known = self._kept.get(key)
            if known is not None and not (known.done() and not known.exception() and not known.result().alive):
                return known
            self._kept.pop(key, None)
            if len(self._kept) >= MOST_PROGRAMS:
                raise EpisodeLost(f"{MOST_PROGRAMS} environments of verifiers are loaded already")
            made = self._kept[key] = Future()
        Thread(target=_load, args=(place, made), name="load", daemon=True).start()
        return made

    def _drop(self, place: Place, failed: "Future[Program]") -> None:
        with self._lock:
            if self._kept.get(_key(place)) is failed:
                del self._kept[_key(place)]

    def close(self) -> None:
        """End all programs."""
        with self._lock:
            started = list(self._kept.values())
            self._kept.clear()
        for one in started:
            if one.done() and not one.exception():
                one.result().close()


def _key(place: Place) -> str:
    """Return the session's own program. The time of its calls makes no tasks."""
    return place.model_dump_json(exclude={"timeout_s"})


def _load(place: Place, made: "Future[Program]") -> None:
    try:
        program = Program([place.python, *_CHILD], place.variables)
        said = program.ask("", {"package": place.package, "arguments": place.arguments, "memory_mb": place.memory_mb},
                           _LOAD_S)
        if "error" in said:
            program.close()
            raise Gone(said["error"])
        made.set_result(program)
    except Exception as error:
        made.set_exception(error)


PROGRAMS = _Programs()
