"""Exploration at the edges of its budget and of the episode, on hidden shelves."""

from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from benchmarks.methods.local_play import Asked, LocalPlay
from hone.environments.hidden_shelf import HiddenShelf, HiddenShelfParams
from hone.harnesses.mapping.params import MapThenActParams


def played(turns: int, **params: Any) -> LocalPlay:
    """Play an episode with a policy that only looks, and never converges."""
    world = HiddenShelf().episode(HiddenShelfParams(turns=turns), 3, None)
    one = LocalPlay(world, "map_then_act", {"least_know": 0, "least_novelty": 0, **params})
    play = one.playing()
    asked: Asked = next(play)
    try:
        while True:
            asked = play.send("shelf 1 contains nothing" if asked.kind == "map" else "look")
    except StopIteration:
        return one


@pytest.mark.parametrize(("params", "calls", "stop"), [
    ({"budget": 0}, {"execute": 4}, []),
    ({"budget": 1}, {"explore": 1, "map": 1, "execute": 4}, ["budget"]),
    ({"budget": 500}, {"explore": 4, "map": 1, "execute": 4}, ["done"]),
    ({"budget": 2, "reset": False}, {"explore": 2, "map": 1, "execute": 2}, ["budget"]),
    ({"budget": 500, "reset": False}, {"explore": 3, "map": 1, "execute": 1}, ["turns"])])
def test_a_budget_beyond_the_episode_leaves_turns_to_the_task(
    params: dict[str, Any], calls: dict[str, int], stop: list[str],
) -> None:
    one = played(4, **params)
    assert (Counter(call.kind for call in one.calls), one.notes("stop")) == (calls, stop)
    assert [outcome["executed"] for outcome in one.notes("outcome")] == [calls["execute"]]


def test_an_episode_of_one_turn_is_not_explored_in_itself() -> None:
    assert Counter(call.kind for call in played(1, reset=False).calls) == {"execute": 1}


def test_harmless_actions_are_first_words_in_any_case() -> None:
    assert [step.valid for step in played(4, reset=False, harmless=["LOOK"], budget=1).steps] == [True] * 4
    for words in ([], ["go to"], [""]):
        with pytest.raises(ValidationError):
            MapThenActParams(harmless=words)
