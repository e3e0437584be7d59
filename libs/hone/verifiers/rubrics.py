"""Rubrics of the package `verifiers` in its classic interface (`load_environment`, `Rubric`), which 0.4 left.

Its Rubric turns an exception of a reward function into the score 0. Here each function is called by itself, so that an
exception is seen.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from hone.verifiers.contract import Scores, Submitted, Unscored, Unservable


class RubricVerifier:
    """The rubric of an environment, by its id. `settings` are the arguments of its `load_environment`."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        """Load the environment. Raises Unservable."""
        try:
            self._vf = import_module("verifiers.legacy")
            rubric = self._vf.load_environment(name.partition("@")[0], **settings).rubric
        except Exception as error:
            raise Unservable(f"{name} is no environment of verifiers' classic interface, which versions before 0.4 "
                             f"have: {type(error).__name__}: {error}") from error
        self._parts = list(self._weighted(rubric))
        if not self._parts:
            raise Unservable(f"the rubric of {name} has no reward function with a weight")

    async def scores(self, submitted: Submitted) -> Scores:
        """Return the weighted sum of the functions, and each of them. Raises Unscored where one raises."""
        state, reward, components = self._state(submitted), 0.0, dict[str, float]()
        for rubric, function, weight in self._parts:
            name = _name(function)
            try:
                score = float(await self._called(rubric, function, state))
            except Exception as error:
                raise Unscored(f"{name}: {type(error).__name__}: {error}") from error
            reward += weight * score
            components[name] = components.get(name, 0.0) + score
        return Scores(reward, components)

    def _weighted(self, rubric: Any) -> Iterator[tuple[Any, Callable[..., Any], float]]:
        """Yield the functions that have a weight, with their rubrics. Raises Unservable for other rubrics."""
        kind = type(rubric)
        if isinstance(rubric, self._vf.RubricGroup):
            for one in rubric.rubrics:
                yield from self._weighted(one)
            return
        if kind.score_rollout is not self._vf.Rubric.score_rollout:
            raise Unservable(f"{kind.__name__} scores rollouts in a way of its own, so its functions cannot be called "
                             "one by one")
        for function, weight in zip(rubric.funcs, rubric.weights, strict=True):
            if weight and rubric._is_group_func(function):
                raise Unservable(f"{_name(function)} compares the answers of a group, and a submission holds one")
            if weight:
                yield rubric, function, float(weight)

    @staticmethod
    async def _called(rubric: Any, function: Callable[..., Any], state: Any) -> Any:
        """Call a function with the arguments that it names, as the package does."""
        given, parameters = rubric.score_objects(state), inspect.signature(function).parameters
        if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
            given = {name: value for name, value in given.items() if name in parameters}
        result = function(**given)
        return await result if inspect.isawaitable(result) else result

    def _state(self, submitted: Submitted) -> Any:
        """Return a finished rollout with the row's fields."""
        normalized = import_module("verifiers.legacy.utils.message_utils").normalize_messages
        prompt = normalized(submitted.messages)
        completion = normalized([{"role": "assistant", "content": submitted.answer}])
        row = {"answer": "", "info": {}, "example_id": 0, **submitted.row, "prompt": prompt}
        return self._vf.State(
            input=row, completion=completion, trajectory=[], task=row.get("task", ""), is_completed=True,
            is_truncated=False, stop_condition="done", metrics=None, reward=None, advantage=None, error=None)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)
