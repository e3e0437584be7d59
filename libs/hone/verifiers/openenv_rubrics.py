"""Rubrics of OpenEnv (`openenv-core`): trees of rubrics that score an action by the observation after it.

The action is the answer: `text`, `message` and `content` are its text, and so is `str(action)`. The observation is the
row: its fields, `metadata` with all of them, and `done`, because an answer ends its episode. Trajectories begin anew
with each answer.
"""

import asyncio
import inspect
import math
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

from hone.verifiers.contract import Scores, Submitted, Unscored, Unservable


class Answer(SimpleNamespace):
    """An action that is a text."""

    def __str__(self) -> str:
        return str(self.text)


class OpenEnvVerifier:
    """The rubric at `module:Name`: one that is there, or what a class or a function makes without arguments."""

    def __init__(self, place: str) -> None:
        """Import and make the rubric. Raises Unservable."""
        if find_spec("openenv") is None:
            raise Unservable("the package openenv-core is not installed here: pip install 'hone-rl[verifiers]'")
        package = import_module("openenv.core.rubrics")
        self._rubric, self._line = _made(place, package.Rubric), asyncio.Lock()
        self._all = {"": self._rubric, **dict(self._rubric.named_rubrics())}
        for one in self._all.values():
            if isinstance(one, package.LLMJudge):
                one.default_score = math.nan  # a verdict that cannot be read is no 0, which it would be in the package

    async def scores(self, submitted: Submitted) -> Scores:
        """Return the rubric's score, and those of the rubrics inside that were asked. Raises Unscored."""
        action = Answer(**dict.fromkeys(("text", "message", "content"), submitted.answer), metadata={})
        observation = SimpleNamespace(**{**_attributes(submitted.row), "done": True, "reward": None,
                                         "messages": submitted.messages, "metadata": dict(submitted.row)})
        async with self._line:  # a rubric keeps its last score in itself
            for one in self._all.values():
                one.reset()
                one.last_score = None
            try:
                found = self._rubric(action, observation)
                reward = float(await found if inspect.isawaitable(found) else found)
            except Exception as error:
                raise Unscored(f"{type(self._rubric).__name__}: {type(error).__name__}: {error}") from error
            return Scores(reward, {name: float(one.last_score) for name, one in self._all.items()
                                   if name and one.last_score is not None})


def _made(place: str, kind: type[Any]) -> Any:
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name) if name else None
        made = found if isinstance(found, kind) or not callable(found) else found()
    except Exception as error:
        raise Unservable(f"{place}: {type(error).__name__}: {error}") from error
    if not isinstance(made, kind):
        raise Unservable(f"{place}: found {type(made).__name__}, expected module:Name of an OpenEnv Rubric, or of what "
                         "makes one without arguments")
    return made


def _attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name.isidentifier()}
