"""A seat's actions go on behind words that a role says; a noiser without room is no end."""

from typing import Any

import pytest

from hone.environments.contract import Ask as Question
from hone.environments.contract import Message
from hone.harnesses.seat import Act, Answer, Ask, Effect, Finished, Heard, Over, Seat, Taken, advanced

RESULT: list[Message] = [{"role": "tool", "content": "3"}]


def seat() -> Seat:
    return Seat([], [], Heard([]), "key")


def asking(role: str) -> Taken:
    return Taken(Heard([]), ask=Question(role, [{"role": "user", "content": "words?"}]))


def acted(effect: Effect | Finished) -> str:
    assert isinstance(effect, Act)
    return effect.action


def test_each_action_is_taken_also_behind_one_whose_result_a_role_wrote() -> None:
    play: Any = seat().act("first", "second")
    assert acted(advanced(play)) == "first"
    assert isinstance(advanced(play, asking("noiser")), Ask)
    assert acted(advanced(play, Answer("0", "three"))) == "three"
    assert acted(advanced(play, Taken(Heard(RESULT)))) == "second"
    done = advanced(play, Taken(Heard(RESULT)))
    assert isinstance(done, Finished)
    assert done.result.messages == [*RESULT, *RESULT]


@pytest.mark.parametrize("role", ["noiser", "user"])
def test_a_noiser_without_room_says_nothing_and_any_other_role_ends_the_sample(role: str) -> None:
    here = seat()
    play: Any = here.act("look")
    advanced(play)
    advanced(play, asking(role))
    effect = advanced(play, over=Over("max_context"))
    if role == "user":
        assert (effect, here.ended) == (Finished(), "max_context")
        return
    assert (acted(effect), here.ended) == ("", "")
    assert isinstance(advanced(play, Taken(Heard(RESULT))), Finished)
